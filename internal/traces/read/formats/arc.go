package formats

import (
	"fmt"
	"math"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var arcFormat = source.Format{
	Name: "arc",
	// Other files have four numbers too, so the name or the unused column must agree.
	Detect: func(head source.Head, name string) source.Confidence {
		named := strings.HasSuffix(name, ".lis")
		if head.EveryLine(func(_ int, line []byte) bool {
			var words [4][]byte
			return source.CutWords(line, words[:]) && source.AllDigits(words[:]) && (named || string(words[2]) == "0")
		}) {
			return source.Likely
		}
		return source.No
	},
	Open: func(src *source.Source, _ params.Values) (stream.Reader, stream.Fields, error) {
		src.Reading.Key = "key block, of runs of blocks"
		a := &arcReader{}
		a.runs = source.ReadLines(src, a.parse)
		return a, stream.Fields{}, nil
	},
}

// arcReader reads runs of blocks and returns block after block. (Megiddo and Modha, "ARC: A Self-Tuning, Low Overhead
// Replacement Cache", FAST 2003; its authors published traces in this format.)
type arcReader struct {
	runs stream.Reader
	next uint64 // block to return next
	left uint64 // blocks left in the run
}

func (a *arcReader) Read(rec *stream.Record) error {
	if a.left == 0 {
		if err := a.runs.Read(rec); err != nil {
			return err
		}
	}
	*rec = stream.Record{Num: a.next}
	a.next++
	a.left--
	return nil
}

var arcColumns = []string{"start block", "number of blocks", "ignored", "request number"}

func (a *arcReader) parse(line []byte, _ *stream.Record) error {
	var numbers [4]uint64
	if err := parseNumbers(line, numbers[:], arcColumns); err != nil {
		return err
	}
	start, count := numbers[0], numbers[1]
	if count == 0 || count > source.MaxRun {
		return fmt.Errorf("number of blocks %d: want a whole number from 1 to %d", count, source.MaxRun)
	}
	if start > math.MaxUint64-(count-1) {
		return fmt.Errorf("a run of %d blocks from block %d exceeds the last possible block, 2^64-1", count, start)
	}
	a.next, a.left = start, count
	return nil
}

// parseNumbers reads a line of whole numbers with these names.
func parseNumbers(line []byte, numbers []uint64, names []string) error {
	if source.ParseNumbers(line, numbers) {
		return nil
	}
	// It is wrong, or has a number of more than 19 digits.
	words := make([][]byte, len(names))
	if !source.CutWords(line, words) {
		return fmt.Errorf("%.60q: want %d columns: %s", line, len(names), strings.Join(names, ", "))
	}
	for i, word := range words {
		var ok bool
		if numbers[i], ok = source.ParseDigits(word); !ok {
			return fmt.Errorf("%s %.60q: want a whole number from 0 to 2^64-1", names[i], word)
		}
	}
	return nil
}
