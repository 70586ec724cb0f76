package plots

import (
	"image/color"

	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// Colors returns the colours of the rows of a figure that are named beside it: the same for all rows of a policy, and
// different ones for policies as long as there are any.
func Colors(o look.Options, recs []*records.Record) (colors []color.NRGBA) {
	all := make([]records.Record, len(recs))
	for i, r := range recs {
		all[i] = *r
	}
	styles := StylesOf(all, records.DimPolicy)
	styles.colorsApart(inRank(styles.names()))
	for _, r := range recs {
		colors = append(colors, emphasised(o, styles[r.Label], r.Label, r).Color)
	}
	return colors
}
