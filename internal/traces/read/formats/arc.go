package formats

import (
	"math"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var arcFormat = source.Format{
	Name:   "arc",
	Detect: detectARC,
	Open: func(src *source.Source, _ params.Values) (stream.Reader, stream.Fields, error) {
		src.Reading.Key = "key block, of runs of blocks"
		return &arcReader{src: src}, stream.Fields{}, nil
	},
}

// detectARC wants four numbers in every line. Other files have four numbers too, so the name or the unused column must
// agree.
func detectARC(head source.Head, name string) source.Confidence {
	named := strings.HasSuffix(name, ".lis")
	if head.EveryLine(func(_ int, line []byte) bool {
		var words [4][]byte
		return source.CutWords(line, words[:]) && source.AllDigits(words[:]) && (named || string(words[2]) == "0")
	}) {
		return source.Likely
	}
	return source.No
}

// arcReader reads runs of blocks and returns block after block. (Megiddo and Modha, "ARC: A Self-Tuning, Low Overhead
// Replacement Cache", FAST 2003; its authors published traces in this format.)
type arcReader struct {
	src  *source.Source
	next uint64 // block to return next
	left uint64 // blocks left in the run
}

func (a *arcReader) Read(rec *stream.Record) error {
	if a.left == 0 {
		if err := a.readRun(); err != nil {
			return err
		}
	}
	*rec = stream.Record{Num: a.next}
	a.next++
	a.left--
	return nil
}

func (a *arcReader) readRun() error {
	line, err := a.src.Line()
	if err != nil {
		return err
	}
	var numbers [4]uint64
	if !source.ParseNumbers(line, numbers[:]) {
		return a.readOddRun(line)
	}
	return a.begin(numbers[0], numbers[1])
}

// readOddRun reads a line that ParseNumbers refuses: it is wrong, or has a number of more than 19 digits.
func (a *arcReader) readOddRun(line []byte) error {
	var words [4][]byte
	if !source.CutWords(line, words[:]) {
		if len(source.TrimBlanks(line)) == 0 {
			return a.src.OnlyBlankLines()
		}
		return a.src.LineErrorf("%.60q: want 4 columns: start block, number of blocks, ignored, request number", line)
	}
	start, ok := source.ParseDigits(words[0])
	if !ok {
		return a.src.LineErrorf("start block %.60q: want a whole number from 0 to 2^64-1", words[0])
	}
	count, ok := source.ParseDigits(words[1])
	if !ok {
		return a.src.LineErrorf("number of blocks %.60q: want a whole number from 1 to %d", words[1], source.MaxRun)
	}
	if !source.AllDigits(words[2:]) {
		return a.src.LineErrorf("%.60q: want whole numbers in columns 3 and 4", line)
	}
	return a.begin(start, count)
}

// begin starts a run of count blocks.
func (a *arcReader) begin(start, count uint64) error {
	if count == 0 || count > source.MaxRun {
		return a.src.LineErrorf("number of blocks %d: want a whole number from 1 to %d", count, source.MaxRun)
	}
	if start > math.MaxUint64-(count-1) {
		return a.src.LineErrorf("a run of %d blocks from block %d exceeds the last possible block, 2^64-1", count,
			start)
	}
	a.next, a.left = start, count
	return nil
}
