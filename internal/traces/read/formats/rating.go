package formats

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var ratingFormat = source.Format{
	Name: "rating",
	Options: []params.Param{
		{Name: "key", Default: "item", Choices: []string{"item", "user"}, Doc: "which column is requested"},
		{Name: "sort", Default: true,
			Doc: "sort by time in memory first, ratings of the same second in the order of the file"},
	},
	// Only the first line counts, which no other format has: a bad line after it must not change the format.
	Detect: source.CertainIf(func(head source.Head) bool {
		var cells [4][]byte
		return len(head.Lines) > 0 && cutRating(head.Lines[0], cells[:]) && source.IsNumber(cells[2]) &&
			source.IsNumber(cells[3])
	}),
	Open: func(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
		src.Reading.Key, src.Reading.Time = "key "+opts.Text("key"), "time in s"
		key := 1
		if opts.Text("key") == "user" {
			key = 0
		}
		parse := func(line []byte, rec *stream.Record) error { return parseRating(line, key, rec) }
		if !opts.Bool("sort") {
			return source.ReadLines(src, parse), stream.Fields{Time: true}, nil
		}
		src.Reading.Layout = "sorted by time"
		return &sortedReader{r: source.ReadLines(src, parse)}, stream.Fields{Time: true}, nil
	},
}

func parseRating(line []byte, key int, rec *stream.Record) error {
	var cells [4][]byte
	if !cutRating(line, cells[:]) {
		return fmt.Errorf("%.60q: want user::item::rating::time", line)
	}
	if _, err := strconv.ParseFloat(string(cells[2]), 64); err != nil {
		return fmt.Errorf("rating %.60q: want a number", cells[2])
	}
	seconds, err := source.ParseTime(cells[3], source.TimeUnits["s"])
	if err == nil && len(cells[key]) == 0 {
		err = fmt.Errorf("%.60q: the key is empty", line)
	}
	*rec = stream.Record{Time: seconds}
	rec.SetKey(cells[key])
	return err
}

var ratingSeparator = []byte("::")

func cutRating(line []byte, cells [][]byte) bool {
	found := true
	for i := range len(cells) - 1 {
		if cells[i], line, found = bytes.Cut(line, ratingSeparator); !found {
			return false
		}
	}
	cells[len(cells)-1] = line
	return !bytes.Contains(line, ratingSeparator)
}

// sortedReader reads all records of r and returns them by time; equal times stay in order. It needs 56 bytes per
// request and the texts of the keys. It implements Reader.
type sortedReader struct {
	r       stream.Reader
	records []stream.Record
	loaded  bool
}

func (s *sortedReader) Read(rec *stream.Record) error {
	if !s.loaded {
		if err := s.load(); err != nil {
			return err
		}
	}
	if len(s.records) == 0 {
		return io.EOF
	}
	*rec = s.records[0]
	s.records = s.records[1:]
	return nil
}

func (s *sortedReader) load() error {
	for {
		var rec stream.Record
		err := s.r.Read(&rec)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		rec.Text = bytes.Clone(rec.Text)
		s.records = append(s.records, rec)
	}
	slices.SortStableFunc(s.records, func(a, b stream.Record) int { return cmp.Compare(a.Time, b.Time) })
	s.loaded = true
	return nil
}
