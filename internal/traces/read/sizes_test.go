package read_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// A read that missed in a store has no size in its log. It gets the size that the object had before, or else after.
func TestSizesThatALogLacks(t *testing.T) {
	const log = "0,a,1,0,1,get,0\n1,a,1,9,1,set,0\n2,a,1,0,1,get,0\n3,a,1,4,1,set,0\n4,a,1,4,1,get,0\n5,b,1,0,1,get,0\n"
	for format, want := range map[string][]int64{
		"twitter": {10, 10, 10, 5, 5, 7}, // b has the mean of a
		"csv:key=2,size=4,op=6,time=1,header=false": {0, 9, 0, 4, 4, 0}, // whose sizes are what they say
	} {
		loaded := tracetest.MustLoadText(t, log, read.Options{Selection: read.Selection{Format: format},
			Needs: traces.Needs{Sizes: true, Ops: true}})
		var got []int64
		for pos := range loaded.Objects {
			got = append(got, loaded.Size(pos))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: sizes %v, want %v", format, got, want)
		}
		said := strings.Contains(strings.Join(loaded.Warnings, "\n"), "2 of 6 rows state no size")
		if said != (format == "twitter") {
			t.Errorf("%s: notes %q", format, loaded.Warnings)
		}
	}
}
