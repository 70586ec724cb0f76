package streams

import (
	"fmt"
	"testing"
)

// flat returns a directory of n files of one block.
func flat(n int) *Layout {
	all := make([]File, n)
	for i := range all {
		all[i] = File{Path: fmt.Sprintf("/data/%06d", i), Bytes: 1 << 20}
	}
	return NewLayout(all, 4<<20, 20)
}

func TestReadsInTheOrderOfTheListingAreSequentialAfter101Files(t *testing.T) {
	l := flat(200)
	tree := New(l, Defaults())
	for i := range 200 {
		s := tree.Access(l.Address(l.Entry(l.Entry(l.Entry(Root, 0), 0), int64(i)), 0), int64(i))
		if open := i >= 100; (s != nil) != open || open && s.Pattern != Sequential {
			t.Fatalf("after %d files: %+v", i+1, s)
		}
	}
}
