package formats

import (
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var lirsFormat = source.Format{
	Name:   "lirs",
	Detect: detectLIRS,
	Open: func(src *source.Source, _ params.Values) (stream.Reader, stream.Fields, error) {
		src.Reading.Key, src.Reading.Why = "key block", "marks"
		return source.ReadAllLines(src, parseLIRS), stream.Fields{}, nil
	},
}

// detectLIRS tells marked lists of numbers from plain ones.
func detectLIRS(head source.Head, name string) source.Confidence {
	numbers, marks := 0, 0
	for _, line := range source.WithoutBlankEnd(head.Lines) {
		switch text := source.TrimBlanks(line); {
		case source.IsDigits(text):
			numbers++
		case isMark(text):
			marks++
		default:
			return source.No
		}
	}
	named := strings.HasSuffix(name, ".trace") || strings.HasSuffix(name, ".trc")
	return source.Likely.If(numbers > 0 && (marks > 0 || named))
}

// isMark reports whether a line is blank or marks a point in the trace.
func isMark(text []byte) bool { return len(text) == 0 || (len(text) == 1 && text[0] == '*') }

// parseLIRS reads a line of the traces that Jiang and Zhang published with "LIRS: An Efficient Low Inter-reference
// Recency Set Replacement Policy", SIGMETRICS 2002.
func parseLIRS(line []byte, rec *stream.Record) error {
	text := source.TrimBlanks(line)
	block, ok := source.ParseDigits(text)
	switch {
	case ok:
		*rec = stream.Record{Num: block}
		return nil
	case isMark(text):
		return source.ErrLeftOut
	}
	return fmt.Errorf("block %.60q: want a whole number from 0 to 2^64-1, or a mark *", text)
}
