package read_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

func TestSampleAfterLoadEqualsSampleAtLoad(t *testing.T) {
	var records []stream.Record
	for i := range uint64(3000) {
		rec := stream.Record{Num: random.Scramble(i % 700), Size: int64(i % 3), Time: int64(i) * 1e9}
		if i%700%5 == 0 {
			rec.Num, rec.Text = 0, fmt.Appendf(nil, "key%d", i%700)
		}
		records = append(records, rec)
	}
	path := filepath.Join(t.TempDir(), "x.csv")
	tracetest.Write(t, path, stream.Fields{Size: true, Time: true}, records)
	needs := traces.Needs{Keys: true, Sizes: true, Times: true}
	whole := must.Get(read.Load(t.Context(), []string{path}, read.Options{Needs: needs}))(t)
	for seed := range uint64(3) {
		want := must.Get(read.Load(t.Context(), []string{path}, read.Options{Needs: needs,
			Selection: read.Selection{SampleRate: 0.3, SampleSeed: seed}}))(t)
		if got := whole.Sample(0.3, seed); !reflect.DeepEqual(got, want) {
			t.Errorf("seed %d: after loading %d requests of %d objects, at loading %d of %d",
				seed, len(got.Objects), got.NumObjects, len(want.Objects), want.NumObjects)
		}
	}
	if got := whole.Sample(1e-18, 0); len(got.Objects) != 0 || !got.HasSizes() {
		t.Errorf("an empty sample has %d requests, sizes: %v", len(got.Objects), got.HasSizes())
	}
}
