package prefetch

import (
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/streams"
)

func TestNextFile(t *testing.T) {
	layout := streams.NewLayout([]streams.File{{Path: "/a/1", Bytes: 30}, {Path: "/a/2", Bytes: 25},
		{Path: "/b/1", Bytes: 5}, {Path: "/b/2", Bytes: 10}}, 10, 2)
	for text, want := range map[string][][]uint64{
		// after a read of the first block of each file, of another of its blocks, and of the last file
		"next-file(n=1)":          {{4, 5, 6}, nil, {8}, {12}, nil},
		"next-file(n=3)":          {{4, 5, 6, 8, 12}, nil, {8, 12}, {12}, nil},
		"next-file(n=2,blocks=2)": {{4, 5, 8}, nil, {8, 12}, {12}, nil},
	} {
		spec := must.Get(Registry.Parse(text))(t)
		p := New(spec, Config{Layout: layout})
		for i, key := range []uint64{0, 1, 4, 8, 12} {
			var got []uint64
			for _, proposed := range p.Request(Access{Key: key}, nil) {
				got = append(got, proposed.Key)
				if size := layout.Bytes(proposed.Key); proposed.Size != size {
					t.Errorf("%s: block %d has %d bytes, want %d", text, proposed.Key, proposed.Size, size)
				}
			}
			if !slices.Equal(got, want[i]) {
				t.Errorf("%s after %d: %d, want %d", text, key, got, want[i])
			}
		}
	}
}
