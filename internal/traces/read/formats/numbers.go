package formats

import (
	"fmt"
	"math"
	"slices"
	"strconv"
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
		return source.Likely.If(head.EveryLine(func(_ int, line []byte) bool {
			var words [4][]byte
			return source.CutWords(line, words[:]) && source.AllDigits(words[:]) && (named || string(words[2]) == "0")
		}))
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
	if err := parseNumbers(line, numbers[:], arcColumns, 2, 3); err != nil {
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

// parseNumbers reads a line of whole numbers with these names. Those at unused places may be of any length.
func parseNumbers(line []byte, numbers []uint64, names []string, unused ...int) error {
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
		numbers[i], ok = source.ParseDigits(word)
		switch {
		case ok, slices.Contains(unused, i) && source.IsDigits(word):
		case names[i] == "size":
			size, err := source.ParseSize(word)
			if err != nil {
				return err
			}
			numbers[i] = uint64(size)
		default:
			return fmt.Errorf("%s %.60q: want a whole number from 0 to 2^64-1", names[i], word)
		}
	}
	return nil
}

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

var seqIDSizeFormat = source.Format{
	Name: "seq-id-size",
	Options: []params.Param{{
		Name: "key", Default: "id-size", Choices: []string{"id-size", "id"},
		Doc: "what identifies an object: the pair of id and size, as in AdaptSize, so that a changed size is a new " +
			"object; or the id alone",
	}},
	// Three numbers in every line, and a first column that goes up by one.
	Detect: func(head source.Head, _ string) source.Confidence {
		var first uint64
		return source.Likely.If(head.EveryLine(func(number int, line []byte) bool {
			var words [3][]byte
			if !source.CutWords(line, words[:]) || !source.AllDigits(words[:]) {
				return false
			}
			seq, ok := source.ParseDigits(words[0])
			if number == 0 {
				first = seq
			}
			return ok && first <= 1 && seq == first+uint64(number)
		}))
	},
	Open: func(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
		src.Reading.Key = "key " + strings.ReplaceAll(opts.Text("key"), "-", " and ")
		s := &seqIDSize{pair: opts.Text("key") == "id-size"}
		return source.ReadLines(src, s.parse), stream.Fields{Size: true}, nil
	},
}

// seqIDSize reads the traces of Berger, Sitaraman and Harchol-Balter, "AdaptSize: Orchestrating the Hot Object Memory
// Cache in a Content Delivery Network", NSDI 2017.
type seqIDSize struct {
	pair bool   // an object is an (id, size) pair
	key  []byte // of the last record, if pair: id/size
}

var seqIDSizeColumns = []string{"request number", "object id", "size"}

func (s *seqIDSize) parse(line []byte, rec *stream.Record) error {
	var numbers [3]uint64
	if err := parseNumbers(line, numbers[:], seqIDSizeColumns, 0); err != nil {
		return err
	}
	id, size := numbers[1], numbers[2]
	if size > source.MaxSize {
		return fmt.Errorf("size \"%d\": want a whole number of bytes from 0 to 2^50", size)
	}
	*rec = stream.Record{Num: id, Size: int64(size)}
	if s.pair {
		s.key = append(strconv.AppendUint(s.key[:0], id, 10), '/')
		s.key = strconv.AppendUint(s.key, size, 10)
		rec.Num, rec.Text = 0, s.key
	}
	return nil
}
