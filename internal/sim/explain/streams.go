package explain

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
)

// stream is a row of the output of PrintStreams.
type stream struct {
	Path       string  `json:"stream"`
	Pattern    string  `json:"pattern"`
	Because    string  `json:"because"`
	Statistic  float64 `json:"statistic"`
	Threshold  float64 `json:"threshold"`
	Window     int     `json:"window"`
	Entries    float64 `json:"entries"`
	Requests   int64   `json:"requests"`
	HitRatio   float64 `json:"hit_ratio"`
	Quota      int64   `json:"quota"`
	QuotaShare float64 `json:"quota_share"`
	Used       int64   `json:"used"`
	Data       int64   `json:"data"`
	Benefit    float64 `json:"benefit"`
	Lifetime   float64 `json:"ttl_s"`
	Expired    bool    `json:"expired"`
}

// PrintStreams replays the requests of a cell before o.To, and prints what its cache knows of each stream then.
func PrintStreams(ctx context.Context, w io.Writer, t *traces.Trace, cell sim.Cell, replayer sim.ReplayerOptions,
	o Options) error {
	all, err := sim.NewReplayer(t, replayer).Streams(ctx, cell, o.To)
	if err != nil {
		return err
	}
	var rows []stream
	for _, s := range all {
		rows = append(rows, rowOf(s, cell.Capacity.Simulated))
	}
	return tabular.Printed{
		Table: func(w io.Writer, format string) error {
			width := terminal.Width(w)
			_, err := fmt.Fprintln(w, gridOf(rows, cell.Capacity.Bytes, width > 0).In(format, width))
			return err
		},
		CSV:  tabular.EachCSV(rows),
		JSON: tabular.EachJSON(rows),
	}.Print(w, o.Format)
}

func rowOf(s cache.StreamState, capacity int64) stream {
	row := stream{Path: s.Path, Requests: s.Requests, HitRatio: float64(s.Hits) / float64(max(1, s.Requests)),
		Quota: s.Quota, QuotaShare: float64(s.Quota) / float64(max(1, capacity)), Used: s.Used, Data: s.Data,
		Benefit: s.Benefit, Lifetime: s.Lifetime, Expired: s.Expired}
	if s.Stream == nil {
		row.Pattern, row.Because = "none", "too few entries of a directory or file were read"
		return row
	}
	row.Pattern, row.Because = s.Stream.Pattern.String(), because(s.Stream, s.Share)
	row.Statistic, row.Threshold = s.Stream.Statistic, s.Stream.Threshold
	row.Window, row.Entries = s.Stream.Transitions, s.Stream.Items
	return row
}

// because says how the last test came to its verdict, and which pattern is in force if that is another one.
func because(s *streams.Stream, share float64) (text string) {
	switch {
	case s.Verdict == streams.Sequential:
		text = fmt.Sprintf("%.0f%% of the steps go to the next entry, at least %.0f%%", 100*s.Share, 100*share)
	case s.Threshold == 0:
		text = fmt.Sprintf("%.0f entries are too few for the test of gaps", s.Items)
	case s.Statistic >= s.Threshold:
		text = fmt.Sprintf("the gaps do not fit a random order: D = %.3f, at least %.3f", s.Statistic, s.Threshold)
	case s.Weighted:
		text = fmt.Sprintf("the gaps could be random (D = %.3f), but hits are more than a random order can have", s.Statistic)
	case s.Verdict == streams.Skewed:
		text = fmt.Sprintf("the gaps could be random (D = %.3f), but %d entries repeat within %d", s.Statistic, s.Repeats,
			s.Transitions)
	default:
		text = fmt.Sprintf("the gaps fit a random order: D = %.3f, below %.3f", s.Statistic, s.Threshold)
	}
	if s.Verdict != s.Pattern {
		text += fmt.Sprintf("; %s until the next test agrees", s.Pattern)
	}
	return text
}

// gridOf returns the table. Paths are broken in a terminal, where the table has to fit.
func gridOf(rows []stream, bytes, fits bool) tabular.Grid {
	unit := "objects"
	if bytes {
		unit = "bytes"
	}
	number := func(x float64, digits int) string {
		if x == 0 {
			return "-"
		}
		return strconv.FormatFloat(x, 'f', digits, 64)
	}
	narrowest := 0
	if fits {
		narrowest = 20
	}
	g := tabular.Grid{Heads: []tabular.Head{
		{Name: "stream", IsText: true, Weight: tabular.Key, Wrap: narrowest},
		{Name: "pattern", IsText: true, Weight: tabular.Key},
		{Name: "D", Weight: 20}, {Name: "threshold", Weight: 20}, {Name: "window", Weight: 10},
		{Name: "entries", Weight: 50},
		{Name: "requests", Weight: 80},
		{Name: "hit ratio", Weight: 80},
		{Name: "quota", Weight: 70},
		{Name: "quota in " + unit, Weight: 40},
		{Name: "used", Weight: 60},
		{Name: "benefit", Weight: 50},
		{Name: "ttl s", Weight: 30},
		{Name: "because", IsText: true, Below: true},
	}}
	for _, s := range rows {
		lifetime := number(s.Lifetime, 1)
		if s.Expired {
			lifetime = "expired"
		}
		g.Rows = append(g.Rows, []string{s.Path, s.Pattern, number(s.Statistic, 3), number(s.Threshold, 3),
			number(float64(s.Window), 0), number(s.Entries, 0), strconv.FormatInt(s.Requests, 10),
			fmt.Sprintf("%.2f%%", 100*s.HitRatio), fmt.Sprintf("%.2f%%", 100*s.QuotaShare),
			strconv.FormatInt(s.Quota, 10), strconv.FormatInt(s.Used, 10), strconv.FormatFloat(s.Benefit, 'g', 3, 64),
			lifetime, s.Because})
	}
	return g
}
