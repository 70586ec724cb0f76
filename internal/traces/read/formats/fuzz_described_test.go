package formats_test

import (
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/read/layouts"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// FuzzDescribed reads any input in one of the formats that are data.
func FuzzDescribed(f *testing.F) {
	all := slices.DeleteFunc(must.Get(formats.Described())(f), func(f *layouts.File) bool { return len(f.Layouts) == 0 })
	for i, file := range all {
		for _, e := range file.Examples {
			f.Add(uint8(i), []byte(e.Text))
		}
	}
	f.Fuzz(func(t *testing.T, format uint8, data []byte) {
		tracetest.ReadAnything(t, data, all[int(format)%len(all)].Name)
	})
}
