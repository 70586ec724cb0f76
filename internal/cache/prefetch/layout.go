package prefetch

import (
	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/files"
)

// NewLayout returns the directory tree of a trace, whose blocks have the addresses of NewAddresses. The keys of a trace
// without files must be loaded and be numbers: they are the blocks of a single file of unknown size.
func NewLayout(t *traces.Trace) (*streams.Layout, error) {
	c := files.Of(t.Kind)
	if c == nil {
		if _, err := numericKeys(t); err != nil {
			return nil, err
		}
		return streams.NewKeys(meanSize(t)), nil
	}
	shift, err := c.FileBits()
	if err != nil {
		return nil, err
	}
	all := make([]streams.File, len(c.Paths))
	for file, path := range c.Paths {
		all[file] = streams.File{Path: path, Bytes: c.Sizes[file]}
		if c.Sizes[file] == 0 && c.BlocksOf(file) > 0 { // nobody reads it, and its size is not known
			all[file].Bytes = c.Block
		}
	}
	return streams.NewLayout(all, c.Block, shift), nil
}

// meanSize returns the mean size of the objects of a trace in bytes, at least 1.
func meanSize(t *traces.Trace) int64 {
	sum := int64(0)
	for _, size := range t.ObjectSizes {
		sum += size
	}
	return max(1, sum/int64(max(1, len(t.ObjectSizes))))
}
