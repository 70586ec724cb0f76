package formats

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var seqIDSizeFormat = source.Format{
	Name: "seq-id-size",
	Options: []params.Param{{
		Name: "key", Default: "id-size", Choices: []string{"id-size", "id"},
		Doc: "what identifies an object: the pair of id and size, as in AdaptSize, so that a changed size is a new " +
			"object; or the id alone",
	}},
	Detect: detectSeqIDSize,
	Open: func(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
		src.Reading.Key = "key " + strings.ReplaceAll(opts.Text("key"), "-", " and ")
		s := &seqIDSize{pair: opts.Text("key") == "id-size"}
		return source.ReadLines(src, s.parse), stream.Fields{Size: true}, nil
	},
}

// detectSeqIDSize wants three numbers in every line and a first column that goes up by one.
func detectSeqIDSize(head source.Head, _ string) source.Confidence {
	var first uint64
	if head.EveryLine(func(number int, line []byte) bool {
		var words [3][]byte
		if !source.CutWords(line, words[:]) || !source.AllDigits(words[:]) {
			return false
		}
		seq, ok := source.ParseDigits(words[0])
		if number == 0 {
			first = seq
		}
		return ok && first <= 1 && seq == first+uint64(number)
	}) {
		return source.Likely
	}
	return source.No
}

// seqIDSize reads the traces of Berger, Sitaraman and Harchol-Balter, "AdaptSize: Orchestrating the Hot Object Memory
// Cache in a Content Delivery Network", NSDI 2017.
type seqIDSize struct {
	pair bool   // an object is an (id, size) pair
	key  []byte // of the last record, if pair
}

func (s *seqIDSize) parse(line []byte, rec *stream.Record) error {
	var numbers [3]uint64
	if !source.ParseNumbers(line, numbers[:]) || numbers[2] > source.MaxSize {
		return s.parseOdd(line, rec)
	}
	s.set(rec, numbers[1], int64(numbers[2]))
	return nil
}

// parseOdd reads a line that ParseNumbers refuses: it is wrong, or has a number of more than 19 digits.
func (s *seqIDSize) parseOdd(line []byte, rec *stream.Record) error {
	var words [3][]byte
	if !source.CutWords(line, words[:]) {
		return fmt.Errorf("%.60q: want 3 columns: request number, object id, size", line)
	}
	if !source.IsDigits(words[0]) {
		return fmt.Errorf("request number %.60q: want a whole number", words[0])
	}
	id, ok := source.ParseDigits(words[1])
	if !ok {
		return fmt.Errorf("object id %.60q: want a whole number from 0 to 2^64-1", words[1])
	}
	size, err := source.ParseSize(words[2])
	if err != nil {
		return err
	}
	s.set(rec, id, size)
	return nil
}

func (s *seqIDSize) set(rec *stream.Record, id uint64, size int64) {
	*rec = stream.Record{Num: id, Size: size}
	if s.pair {
		rec.Num, rec.Text = 0, s.pairKey(id, size)
	}
}

// pairKey writes the pair as text, id/size, which is unique.
func (s *seqIDSize) pairKey(id uint64, size int64) []byte {
	s.key = strconv.AppendUint(s.key[:0], id, 10)
	s.key = append(s.key, '/')
	s.key = strconv.AppendInt(s.key, size, 10)
	return s.key
}
