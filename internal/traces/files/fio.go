package files

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var fioFormat = source.Format{
	Name:    "fio",
	Options: []params.Param{blockOption(4096), filesOption(), jobOption("none")},
	Detect: source.CertainIf(func(head source.Head) bool {
		return len(head.Lines) > 0 && fioVersion(head.Lines[0]) != 0
	}),
	Open: openFio,
}

// fioVersion returns the version that the first line of a log states, or 0 if it is not a log.
func fioVersion(line []byte) int {
	switch string(bytes.TrimSpace(line)) {
	case "fio version 2 iolog":
		return 2
	case "fio version 3 iolog":
		return 3
	}
	return 0
}

type fioReader struct {
	version int
	clock   bool
}

func openFio(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	line, err := src.Line()
	if err != nil {
		return nil, stream.Fields{}, err
	}
	version := fioVersion(line)
	if version == 0 {
		return nil, stream.Fields{}, src.LineErrorf("want fio version 2 iolog, or 3, got %.40q", line)
	}
	f := &fioReader{version, version == 3}
	src.Reading.Layout = fmt.Sprintf("version %d", version)
	src.Reading.Why = "other actions, and reads of nothing"
	if f.clock {
		src.Reading.Time = "time in us"
	}
	return NewReader(src, Lines(src, f.parse), opts, f.clock)
}

// parse reads a line. fio appends to a log that exists, so the header may recur.
func (f *fioReader) parse(line []byte, a *Access) (err error) {
	if fioVersion(line) == f.version {
		return source.ErrLeftOut
	}
	words := bytes.Fields(line)
	if f.clock && len(words) > 0 {
		if a.Time, err = source.ParseTime(words[0], 1e3); err != nil {
			return err
		}
		words = words[1:]
	}
	if len(words) != 2 && len(words) != 4 {
		return errors.New("want a file and an action, and offset and length of a read")
	}
	if string(words[1]) != "read" {
		return source.ErrLeftOut
	}
	if len(words) != 4 {
		return errors.New("want offset and length of a read")
	}
	a.Path = words[0]
	return a.extent(words[2], words[3])
}
