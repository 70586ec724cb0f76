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
	// Three numbers in every line, and a first column that goes up by one.
	Detect: func(head source.Head, _ string) source.Confidence {
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
	if err := parseNumbers(line, numbers[:], seqIDSizeColumns); err != nil {
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
