package tracestat

import (
	"fmt"
	"path"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/files"
)

// ReadSummary describes reads of files.
type ReadSummary struct {
	Reads       int64  `json:"reads"`
	Late        int64  `json:"late"`        // reads with an earlier time than the previous read
	Cut         int64  `json:"cut"`         // reads that were cut at the end of their file
	Jobs        *int64 `json:"jobs"`        // nil if they are not known
	Files       int64  `json:"files"`       // that are read
	Directories int64  `json:"directories"` // that hold these files
	Listed      *int64 `json:"listed"`      // files of the data set, read or not; nil without a listing
	Unlisted    int64  `json:"unlisted"`    // files that are read and not in the listing

	Lengths *Distribution `json:"bytes_per_read"`
	Sizes   *Distribution `json:"bytes_per_file"` // of files that are read, to the end of what is read if not known
}

func summarizeReads(t *traces.Trace, c *files.Columns) *ReadSummary {
	s := &ReadSummary{Reads: int64(len(c.Offsets)), Late: int64(c.Late), Cut: t.ReadsCut(), Jobs: known(len(c.JobNames)),
		Files: int64(c.Read), Unlisted: int64(c.Unlisted)}
	directories := map[string]bool{}
	lengths, sizes := &histogram{}, &histogram{}
	for file, name := range c.Paths[:c.Read] {
		directories[path.Dir(name)] = true
		sizes.add(c.Sizes[file], 1)
	}
	for _, length := range c.Lengths {
		lengths.add(length, 1)
	}
	s.Directories = int64(len(directories))
	if c.Listed {
		s.Listed = known(len(c.Paths) - c.Unlisted)
	}
	s.Lengths, s.Sizes = lengths.distribution(1), sizes.distribution(1)
	return s
}

func (s *ReadSummary) rows() []row {
	rows := []row{{"reads", show.Count(s.Reads)},
		{"files", show.Count(s.Files)},
		{"directories", show.Count(s.Directories)}}
	if s.Listed != nil {
		text := show.Count(*s.Listed) + " files listed"
		if s.Unlisted > 0 {
			text += fmt.Sprintf(", without %s that are read", show.Count(s.Unlisted))
		}
		rows = append(rows, row{"data set", text})
	}
	if s.Jobs != nil {
		rows = append(rows, row{"jobs", show.Count(*s.Jobs)})
	}
	for _, c := range []struct {
		name  string
		count int64
	}{{"reads cut at the end of a file", s.Cut}, {"reads earlier than the previous", s.Late}} {
		if c.count > 0 {
			rows = append(rows, row{c.name, show.Count(c.count)})
		}
	}
	return rows
}

func (s *ReadSummary) distributions() []namedDistribution {
	return []namedDistribution{{"bytes_per_read", "bytes per read", s.Lengths, writeBytes},
		{"bytes_per_file", "bytes per file", s.Sizes, writeBytes}}
}
