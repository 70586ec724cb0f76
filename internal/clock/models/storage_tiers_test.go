package models_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/tiers"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/sim/simtest"
)

// TestStorageReadsFromTiers: where everything arrives before the next request, tiers count with the model what they
// count without, and the bytes of hits below are read from there.
func TestStorageReadsFromTiers(t *testing.T) {
	tr := simtest.Reads(t, 2000, 40, time.Second)
	const atOnce = "model=storage(delay_ms=0,local_ms=0,bandwidth_mbs=1000000000,flash_us=0,flash_gbs=1000000)"
	for _, mode := range []string{"exclusive", "inclusive", "write-through", "write-back"} {
		for _, policy := range []string{"lru", "s3fifo", "tinylfu"} {
			kind := "cache=tiers(memory=16MiB,flash=60MiB,mode=" + mode + ")"
			size := capacity.Of(16<<20, true)
			plain := simtest.ByPolicy(t, tr, policy, size, 100, kind)[policy]
			timed := simtest.ByPolicy(t, tr, policy, size, 100, kind, atOnce)[policy]
			for _, name := range []string{metric.Hits.Name, metric.Evictions.Name, tiers.Hits.Of("memory"),
				tiers.Hits.Of("flash"), tiers.Written.Of("flash")} {
				got, _ := timed.Get(name)
				if want, ok := plain.Get(name); !ok || got != want {
					t.Errorf("%s, %s: %s is %v with the model, %v without", mode, policy, name, got, want)
				}
			}
			read, _ := plain.GetInt(tiers.ReadBytes.Of("flash"))
			if got, _ := timed.GetInt(models.LoadedBytes.Of("flash")); got != read || read == 0 {
				t.Errorf("%s, %s: %d bytes read from flash, want %d", mode, policy, got, read)
			}
		}
	}
	kind, size := "cache=tiers(memory=16MiB,flash=60MiB)", capacity.Of(16<<20, true)
	mean := func(us string) float64 {
		rec := simtest.ByPolicy(t, tr, "lru", size, 0, kind, "model=storage(flash_us="+us+")")["lru"]
		return rec.Float(models.LatencyMean)
	}
	if fast, slow := mean("1"), mean("50000"); slow <= fast {
		t.Errorf("reads take %v ms with slow flash, %v with fast", slow, fast)
	}
	_, err := simtest.TryRun(t.Context(), tr, simtest.Options{Policies: "lru", Capacities: simtest.Objects(10),
		Parts: []string{"model=storage(flash_us=3)"}})
	if err == nil || !strings.Contains(err.Error(), "flash_us=3 has no effect with a cache without tiers") {
		t.Errorf("error %v", err)
	}
}
