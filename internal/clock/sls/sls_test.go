package sls

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/clock/event"
)

// scripted is a cache whose answers are written down.
type scripted struct {
	batches []Batch
	order   []int
	rows    int // of the predictions that each batch starts where the worker is idle; 0: none
	worker  *Worker
	busy    []bool // per batch, when it came
}

func (s *scripted) Worker(w *Worker) { s.worker = w }

func (s *scripted) Lookup(i int) Batch {
	s.order = append(s.order, i)
	s.busy = append(s.busy, s.worker.Busy())
	if s.rows > 0 && !s.worker.Busy() {
		s.worker.Start(s.rows)
	}
	return s.batches[i]
}

// batch returns a batch of so many keys from first on, of which the first few are missing.
func batch(first, keys, missing int) Batch {
	all := make([]uint32, keys)
	for i := range all {
		all[i] = uint32(first + i)
	}
	return Batch{Keys: all, Missing: all[:missing]}
}

// config are the constants of LCR: HBM reads 600 GB/s, the host 60 GB/s at random.
func config() Config {
	return Config{
		Launch:      50 * time.Microsecond,
		VectorBytes: 512,
		HBM:         600e9,
		Host:        60e9,
		Access:      100 * time.Nanosecond,
		Outstanding: 1000,
		PredictRow:  80,
		InFlight:    1,
	}
}

func mustRun(t testing.TB, cache *scripted, c Config) []Served {
	t.Helper()
	return must.Get(Run(t.Context(), len(cache.batches), cache, c))(t)
}

// within fails unless got is want to the rounding of each of its parts to the nanosecond.
func within(t testing.TB, what string, got time.Duration, want float64) {
	t.Helper()
	if math.Abs(float64(got)-want) > 3 {
		t.Errorf("%s takes %v, want %.1f ns", what, got, want)
	}
}

func TestLatencyOfABatchAlone(t *testing.T) {
	c := config()
	limited := c
	limited.Access, limited.Outstanding = time.Microsecond, 4
	waits := batch(0, 25600, 5000)
	waits.Predicted = 25000
	trains := batch(0, 25600, 0)
	trains.Trained = 1e6
	c.TrainUnit = 5
	for _, test := range []struct {
		name  string
		batch Batch
		c     Config
		want  float64
	}{
		{"nothing missing", batch(0, 25600, 0), c, 50e3 + 25600*512/600.0},
		{"a fifth missing", batch(0, 25600, 5000), c, 50e3 + 5000*512/60.0 + 100 + 25600*512/600.0},
		// Four accesses of a microsecond at a time are 4e6 vectors per second, far below the 117e6 of 60 GB/s.
		{"few accesses at a time", batch(0, 25600, 5000), limited, 50e3 + 5000/4*1e3 + 1000 + 25600*512/600.0},
		{"waiting for 25,000 predictions", waits, c, 50e3 + 2e6 + 5000*512/60.0 + 100 + 25600*512/600.0},
		{"waiting for training", trains, c, 50e3 + 5e6 + 25600*512/600.0},
	} {
		served := mustRun(t, &scripted{batches: []Batch{test.batch}}, test.c)
		within(t, test.name, served[0].Done-served[0].Arrived, test.want)
	}
}

func TestClosedLoop(t *testing.T) {
	cache := &scripted{batches: slices.Repeat([]Batch{batch(0, 1000, 0)}, 5)}
	served := mustRun(t, cache, config())
	if want := []int{0, 1, 2, 3, 4}; !slices.Equal(cache.order, want) {
		t.Errorf("batches were looked up in the order %v", cache.order)
	}
	for i := range served {
		if i > 0 && served[i].Arrived != served[i-1].Done {
			t.Errorf("batch %d came at %v, the one before it was done at %v", i, served[i].Arrived, served[i-1].Done)
		}
	}
}

// TestBatchesShareTheMemories: two equal batches at once take twice as long as one in the memories, and the fixed cost
// once.
func TestBatchesShareTheMemories(t *testing.T) {
	c := config()
	c.InFlight = 2
	served := mustRun(t, &scripted{batches: []Batch{batch(0, 6000, 3000), batch(6000, 6000, 3000)}}, c)
	for _, s := range served {
		within(t, "each of two batches", s.Done, 50e3+2*3000*512/60.0+100+2*6000*512/600.0)
	}
}

// TestBatchesQueueForTheMemories: of two equal batches the second has each memory when the first has done with it.
func TestBatchesQueueForTheMemories(t *testing.T) {
	c := config()
	c.InFlight, c.Queued = 2, true
	served := mustRun(t, &scripted{batches: []Batch{batch(0, 6000, 3000), batch(6000, 6000, 3000)}}, c)
	const fetch, read = 3000 * 512 / 60.0, 6000 * 512 / 600.0
	within(t, "the first of two batches", served[0].Done, 50e3+fetch+100+read)
	within(t, "the second of two batches", served[1].Done, 50e3+2*fetch+100+read)
}

// TestDelayedHit: what another batch is fetching is waited for, whether the index has it already or has lost it again,
// and is not fetched twice.
func TestDelayedHit(t *testing.T) {
	c := config()
	c.InFlight, c.Launch = 2, 0
	for name, second := range map[string]Batch{"hit": batch(0, 600, 0), "miss": batch(0, 600, 600)} {
		served := mustRun(t, &scripted{batches: []Batch{batch(0, 6000, 6000), second}}, c)
		fetch := 6000*512/60.0 + 100
		within(t, "delayed "+name, served[1].Done, fetch+2*600*512/600.0)
		within(t, "the batch that fetches", served[0].Done, fetch+6600*512/600.0)
	}
	c.InFlight = 1
	served := mustRun(t, &scripted{batches: []Batch{batch(0, 6000, 6000), batch(0, 600, 0)}}, c)
	within(t, "one after the other", served[1].Done-served[1].Arrived, 600*512/600.0)
}

// TestWorker: predictions of 25,000 rows take 2 ms, during which batches come without starting others.
func TestWorker(t *testing.T) {
	c := config()
	c.Launch = 900 * time.Microsecond
	cache := &scripted{batches: slices.Repeat([]Batch{{}}, 7), rows: 25000}
	mustRun(t, cache, c)
	// They come every 0.9 ms: the worker is busy from 0 to 2 ms, from 2.7 to 4.7 ms and so on.
	if want := []bool{false, true, true, false, true, true, false}; !slices.Equal(cache.busy, want) {
		t.Errorf("busy %v, want %v", cache.busy, want)
	}
}

func TestWorkerTrainsAfterWhatItIsAt(t *testing.T) {
	w := &Worker{loop: &event.Loop{}, predictRow: 80, trainUnit: 5}
	w.Start(100)
	w.Train(1000)
	if want := 13 * time.Microsecond; w.until != want || !w.Busy() {
		t.Errorf("busy until %v, want %v", w.until, want)
	}
}

// TestPoissonArrivals: equal batches that come at random wait as in M/D/1, rho/(2(1-rho)) services.
func TestPoissonArrivals(t *testing.T) {
	const n, rho = 60_000, 0.6
	c := config()
	c.Launch = time.Millisecond
	c.Rate, c.Seed = rho/c.Launch.Seconds(), 5
	served := mustRun(t, &scripted{batches: make([]Batch, n)}, c)
	var sum float64
	for _, s := range served {
		sum += (s.Done - s.Arrived).Seconds()
	}
	got, want := sum/n/c.Launch.Seconds(), 1+rho/(1-rho)/2
	if math.Abs(got/want-1) > 0.05 {
		t.Errorf("mean latency %.3f services, want %.3f", got, want)
	}
	c.Seed++
	if other := mustRun(t, &scripted{batches: make([]Batch, n)}, c); other[0] == served[0] {
		t.Error("another seed gives the same arrivals")
	}
}

// TestMoreIsNeverSlower: fewer misses, more bandwidth, more accesses at a time and shorter ones never make a batch
// slower, alone.
func TestMoreIsNeverSlower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := config()
		c.HBM = rapid.Float64Range(1e9, 1e12).Draw(t, "hbm")
		c.Host = rapid.Float64Range(1e9, 1e11).Draw(t, "host")
		c.Access = time.Duration(rapid.IntRange(0, 5000).Draw(t, "access"))
		c.Outstanding = rapid.IntRange(1, 300).Draw(t, "outstanding")
		keys := rapid.IntRange(1, 3000).Draw(t, "keys")
		missing := rapid.IntRange(0, keys-1).Draw(t, "missing")
		latency := func(missing int, c Config) time.Duration {
			served := must.Get(Run(t.Context(), 1, &scripted{batches: []Batch{batch(0, keys, missing)}}, c))(t)
			return served[0].Done
		}
		base := latency(missing, c)
		if more := latency(missing+1, c); more <= base {
			t.Fatalf("%d misses take %v, one more %v", missing, base, more)
		}
		for name, change := range map[string]func(*Config){
			"hbm": func(c *Config) { c.HBM *= 1.5 }, "host": func(c *Config) { c.Host *= 1.5 },
			"access": func(c *Config) { c.Access /= 2 }, "outstanding": func(c *Config) { c.Outstanding++ },
		} {
			better := c
			change(&better)
			if got := latency(missing, better); got > base {
				t.Fatalf("better %s: %v instead of %v", name, got, base)
			}
		}
	})
}

// TestDelayedLookups: of the keys 5, 3 and 9, which a second batch misses while the first fetches them, 5 is first
// looked up in the warm-up. What only the second batch lacks is no delayed hit.
func TestDelayedLookups(t *testing.T) {
	c := config()
	c.InFlight = 2
	second := Batch{Keys: []uint32{5, 3, 5, 5, 9, 3, 1, 2, 5000}, Missing: []uint32{5000, 5, 3, 9}, Uncounted: 1}
	served := mustRun(t, &scripted{batches: []Batch{batch(0, 100, 100), second}}, c)
	if served[0].Delayed != 0 || served[1].Delayed != 2 {
		t.Errorf("%d and %d delayed lookups, want 0 and 2", served[0].Delayed, served[1].Delayed)
	}
}
