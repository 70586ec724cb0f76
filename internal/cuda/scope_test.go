package cuda_test

import (
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
)

// Columns have the requested content, even without bytes, and a closed scope holds none of them.
func TestAllocAll(t *testing.T) {
	d := ptxrun.New(ptxrun.Options{})
	free, _ := must.Get2(d.Memory())(t)
	scope := cuda.NewScope(d)
	var undefined, zeros, ones, none cuda.Pointer
	must.Do(t, scope.AllocAll(cuda.Undefined(&undefined, 100), cuda.Zeros(&zeros, 300), cuda.Ones(&ones, 8),
		cuda.Ones(&none, 0)))
	for _, c := range []struct {
		at      cuda.Pointer
		content []byte
	}{{zeros, make([]byte, 300)}, {ones, slices.Repeat([]byte{0xff}, 8)}} {
		got := make([]byte, len(c.content))
		if err := cuda.Download(scope, got, c.at); err != nil || !slices.Equal(got, c.content) {
			t.Errorf("content %v, want %v (%v)", got, c.content, err)
		}
	}
	if undefined == 0 || none == 0 || undefined == none {
		t.Errorf("columns at %d and %d", undefined, none)
	}
	must.Do(t, scope.Close())
	if after, _, err := d.Memory(); after != free || err != nil {
		t.Errorf("%d bytes are free, before %d (%v)", after, free, err)
	}
}
