package sim_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
)

// onlyTransfers is a machine that spends time on nothing but the link from the host: a token's key and value in a head
// of 64 numbers take 256 ns.
const onlyTransfers = "decode(model=llama3-8b,layers=2,query_heads=9,kv_heads=3,head_dim=64,hbm_gbs=1e9," +
	"peak_tflops=1e9,kernel_us=0,launch_us=0,lookup_us=0,update_us=0,block_ns=0,pcie_gbs=1,ahead=off"

// TestDecodeTimesWhatTheCacheLoads: where nothing but transfers takes time, all steps together take as long as the rows
// that the cache counts, for any reuse rule and batch, and a model changes no count.
func TestDecodeTimesWhatTheCacheLoads(t *testing.T) {
	const steps = 12
	trace := simtest.Generated(t, fmt.Sprintf("attention(layers=2,context=400,steps=%d)", steps),
		traces.Needs{Attention: true})
	size := capacity.Of(int64(trace.NumObjects/10), false)
	r := sim.NewReplayer(trace, sim.ReplayerOptions{Jobs: 1})
	for _, rule := range []string{"exact", "threshold(tau=0.7)", "infinigen"} {
		for _, cache := range []string{"attention(dense=0)", "attention(dense=1)"} {
			plain := simtest.Cell(t, "one-set", size, "cache="+cache, "reuse="+rule)
			want := simtest.Replay(t, r, plain)
			loaded, _ := want.Get("rows_loaded")
			for _, batch := range []int{1, 3} {
				timed := simtest.With(t, plain, fmt.Sprintf("model=%s,batch=%d)", onlyTransfers, batch))
				got := simtest.Replay(t, r, timed)
				for name := range want.Names() {
					a, _ := want.Get(name)
					if b, _ := got.Get(name); a != b {
						t.Errorf("%s in %s: %s is %v with a model, %v without", rule, cache, name, b, a)
					}
				}
				expected := loaded / 2 * 256e-6 * float64(batch)
				if ms := steps * got.Float(models.LatencyMean); math.Abs(ms-expected) > 1e-3*expected+steps*1e-6 {
					t.Errorf("%s in %s, batch %d: all steps take %v ms, want %v", rule, cache, batch, ms, expected)
				}
			}
		}
	}
}

// TestDecodeMemory: as many tokens as in the trace need the memory that the cache counts, apart from labels.
func TestDecodeMemory(t *testing.T) {
	trace := simtest.Generated(t, "attention(layers=2,context=768,steps=10)", traces.Needs{Attention: true})
	size := capacity.Of(int64(trace.NumObjects/10), false)
	cell := simtest.Cell(t, "one-set", size, "cache=attention(dense=1)", "reuse=static", "model="+onlyTransfers+")")
	got := simtest.Replay(t, sim.NewReplayer(trace, sim.ReplayerOptions{Jobs: 1}), cell)
	sets, _ := got.Get("gpu_bytes_sets")
	whole, _ := got.Get("gpu_bytes_whole")
	visible, _ := got.Get("gpu_bytes_visible")
	if served := got.Float(models.ServedCacheBytes); math.Abs(served-sets-whole) > 0.01*served {
		t.Errorf("%v bytes as served, %v of sets and %v of whole heads in the cache", served, sets, whole)
	}
	rest := got.Float(models.ServedBytes) - got.Float(models.ServedCacheBytes)
	if rest < visible {
		t.Errorf("%v bytes beside the cache, %v of tokens that are always there", rest, visible)
	}
}
