package layouts

import (
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// reads returns what lines of reads carry.
func (t table) reads() string {
	words := []string{"file reads: offset", "length"}
	if keys := names(t[0].columns, aKey); keys != "" {
		words = []string{"file reads: " + strings.ReplaceAll(keys, "+", ", "), "offset", "length"}
	}
	if t.holds(aTime) {
		words[0] = strings.Replace(words[0], ": ", ": time, ", 1)
	}
	return strings.Join(words, ", ")
}

// openReads reads lines that are reads of files. path is that of the only file, if no field names it.
func (t table) openReads(src *source.Source, opts params.Values, path []byte) (stream.Reader, stream.Fields, error) {
	p, err := t.newParser(src, opts)
	if err != nil {
		return nil, stream.Fields{}, err
	}
	clock := p.fields().Time
	writes := opts.Text("ops") == "accesses"
	src.Reading.Why = "reads and writes of no bytes"
	if !writes {
		src.Reading.Op, src.Reading.Why = "", "writes, and reads of nothing"
	}
	reader, fields, err := files.NewReader(src, files.Lines(src, func(line []byte, a *files.Access) error {
		row, err := p.parse(line)
		if err != nil {
			return err
		}
		a.Path, a.Job, a.Offset, a.Length, a.Time = row.Path, row.Job, row.Offset, row.Length, row.Record.Time
		a.Op = row.Record.Op
		if row.Path == nil {
			a.Path = path
		}
		return nil
	}), opts, clock)
	fields.Op = writes
	return reader, fields, err
}
