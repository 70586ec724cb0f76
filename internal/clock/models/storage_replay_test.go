package models_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// blockSeconds is the time of a block of 4 MiB on the link.
const blockSeconds = float64(1<<22) / 125e6

func TestStorageClosedForms(t *testing.T) {
	const reads = 200
	tr := simtest.Reads(t, reads, 10, time.Second)
	all := simtest.ByPolicy(t, tr, "no-cache,infinite", capacity.Of(20, false), 0, "model=storage(arrivals=closed)")
	// Jobs that compute for two seconds hardly meet on the link: 0 begins 1 s before 1.
	none := all["no-cache"]
	want := reads/2*(0.15+blockSeconds) + (reads/2-1)*2
	for _, job := range []string{"a", "b"} {
		if got, _ := none.Get("job_completion_s[" + job + "]"); math.Abs(got-want) > 1e-6 {
			t.Errorf("without a cache job %s takes %v s, want %v", job, got, want)
		}
	}
	if got := none.Float(models.MeanCompletion); math.Abs(got-want) > 1e-6 || none.Int(metric.Hits) != 0 ||
		none.Int(models.RemoteBytes) != reads<<22 || none.Int(models.Jobs) != 2 {
		t.Errorf("mean JCT %v, want %v; %d hits, %d bytes", got, want, none.Int(metric.Hits), none.Int(models.RemoteBytes))
	}
	infinite := all["infinite"]
	misses := float64(infinite.Int(metric.Misses))
	want = (misses*(0.15+blockSeconds)+(reads-misses)*0.001)/2 + (reads/2-1)*2
	if got := infinite.Float(models.MeanCompletion); misses != 20 || math.Abs(got-want) > 1e-6 {
		t.Errorf("with room for all mean JCT %v, want %v; %v misses", got, want, misses)
	}
	if got, want := infinite.Float(metric.ByteHitRatio), infinite.Float(metric.HitRatio); got != want {
		t.Errorf("byte hit ratio %v of blocks of one size, hit ratio %v", got, want)
	}
	if infinite.Has(metric.OptMisses) {
		t.Error("a closed loop has an optimum")
	}
}

// TestStorageWithoutTimeIsUntimed: where everything arrives before the next request, a replay counts what it counts
// without a model, for every policy.
func TestStorageWithoutTimeIsUntimed(t *testing.T) {
	const atOnce = "model=storage(delay_ms=0,local_ms=0,bandwidth_mbs=1000000000)"
	tr := simtest.Reads(t, 3000, 40, time.Second)
	tr.Tenants = &traces.Tenants{Names: []string{"x", "y"}, Of: make([]uint32, tr.NumObjects)}
	for o := range tr.Tenants.Of {
		tr.Tenants.Of[o] = uint32(o & 1)
	}
	for _, lists := range [][]string{nil, {"allocator=equal"}, {"allocator=proportional(every=100)"}} {
		for _, bytes := range []bool{false, true} {
			size := capacity.Of(15, false)
			if bytes {
				size = capacity.Of(15<<22, true)
			}
			for _, e := range brief.Sample(4, policytest.Ready()...) {
				if e.Kind != policies.Online || policies.Can[policies.PredictorUser](e) || e.New == nil || sim.CheckUnits(e,
					bytes) != nil ||
					e.Unbounded && lists != nil {
					continue
				}
				policy := e.Name
				if policies.NeedsClock(simtest.Policy(t, policy)) {
					policy += "(ttl=20.5)" // seconds, of which 3000 pass
				}
				want := simtest.ByPolicy(t, tr, policy, size, 100, lists...)
				got := simtest.ByPolicy(t, tr, policy, size, 100, append([]string{atOnce}, lists...)...)
				for label, w := range want {
					for _, m := range []metric.Metric{metric.Requests, metric.Hits, metric.Misses, metric.Evictions,
						metric.Oversized} {
						if g := got[label]; g.Int(m) != w.Int(m) || g.Has(m) != w.Has(m) {
							t.Errorf("%s %v in %s: %s is %d with everything at once, %d without a model", label, lists, size, m.Name,
								g.Int(m), w.Int(m))
						}
					}
				}
			}
		}
	}
}

// TestStorageWithEveryPolicy: delays change what is in the cache when, but nothing is lost, and the same seed gives the
// same figures.
func TestStorageWithEveryPolicy(t *testing.T) {
	tr := simtest.Reads(t, 1500, 60, 20*time.Millisecond)
	tr.Tenants = &traces.Tenants{Names: []string{"x", "y"}, Of: make([]uint32, tr.NumObjects)}
	for o := range tr.Tenants.Of {
		tr.Tenants.Of[o] = uint32(o & 1)
	}
	for _, e := range brief.Sample(4, policytest.Ready()...) {
		if e.Kind != policies.Online || e.Family == policies.Servers || sim.CheckUnits(e, true) != nil {
			continue // servers load when they are asked, not when a model says that something has arrived
		}
		for _, lists := range [][]string{{}, {"prefetcher=next(n=4)"}, {"prefetcher=amp"}, {"allocator=equal"}} {
			if e.ShortFor != nil && len(lists) > 0 || e.Unbounded && len(lists) > 0 && lists[0] == "allocator=equal" {
				continue
			}
			for _, model := range []string{"model=storage", "model=storage(arrivals=closed,prefetches=3,queue=5)"} {
				c := simtest.Cell(t, e.Name, capacity.Of(100<<22, true), append([]string{"predictor=ewma", model}, lists...)...)
				c.Seed, c.Series = 3, series.Window{Span: time.Second}
				name := fmt.Sprintf("%s %v %s", e.Name, lists, model)
				r := sim.NewReplayer(tr, sim.ReplayerOptions{})
				first := simtest.Replay(t, r, c)
				checkStored(t, name, first.Record, first.Series)
				again := simtest.Replay(t, r, c)
				if !reflect.DeepEqual(first.Series, again.Series) {
					t.Errorf("%s: the series differs in the second run", name)
				}
				for metric := range first.Names() {
					a, _ := first.Get(metric)
					if b, _ := again.Get(metric); a != b {
						t.Errorf("%s: %s is %v, and %v in the second run", name, metric, a, b)
					}
				}
			}
		}
	}
}

// checkStored checks what holds for every replay of a whole trace with the model.
func checkStored(t *testing.T, name string, rec records.Record, rows []series.Row) {
	t.Helper()
	hits, requests := rec.Int(metric.Hits), rec.Int(metric.Requests)
	if requests != 1500 || hits+rec.Int(metric.Misses) != requests ||
		rec.Int(models.DelayedHits) > rec.Int(metric.Misses) {
		t.Errorf("%s: %d hits and %d delayed of %d requests", name, hits, rec.Int(models.DelayedHits), requests)
	}
	fetched := (rec.Int(metric.Misses) - rec.Int(models.DelayedHits) + rec.Int(prefetch.Prefetches)) << 22
	if got := rec.Int(models.RemoteBytes); got < fetched {
		t.Errorf("%s: %d bytes were fetched, the misses and prefetches have %d", name, got, fetched)
	}
	if use := rec.Float(models.LinkUtilisation); use <= 0 || use > 1 || rec.Float(models.PrefetchWaste) > 1 {
		t.Errorf("%s: the link is used for %v of the time, %v are wasted", name, use, rec.Float(models.PrefetchWaste))
	}
	served, jobs, windows := 0.0, 0.0, 0.0
	for _, r := range rows {
		switch {
		case r.Name == "link_utilisation" && r.Value > 1+1e-9, r.Name == "occupancy" && r.Value > 1:
			t.Errorf("%s: %s is %v at %v s", name, r.Name, r.Value, r.Time)
		case r.Name == "read_throughput_mbs" && r.Label == "":
			served += r.Value
		case r.Name == "read_throughput_mbs":
			jobs += r.Value
		case r.Name == "window_requests":
			windows += r.Value
		}
	}
	if math.Abs(served-jobs) > 1e-6*served || served == 0 || windows != float64(requests) {
		t.Errorf("%s: windows serve %v MB, the jobs %v; they have %v requests", name, served, jobs, windows)
	}
}

// A prefetcher that knows the next block hides the store from a job that reads a file in order.
func TestStoragePrefetching(t *testing.T) {
	var text strings.Builder
	text.WriteString("time,job,path,offset,length,file_size\n")
	for i := range 100 {
		fmt.Fprintf(&text, "%d,a,/data/a,%d,%d,%d\n", i, i<<22, 1<<22, 100<<22)
	}
	tr := must.Get(tracetest.LoadText(t, text.String(), read.Options{Selection: read.Selection{Format: "reads"},
		Needs: traces.Needs{Sizes: true, Times: true, Keys: true}}))(t)
	const model = "model=storage(arrivals=closed)"
	got := simtest.ByPolicy(t, tr, "lru", capacity.Of(20, false), 0, model, "prefetcher=next")["lru"]
	if want := 0.15 + blockSeconds + 99*(1+0.001); math.Abs(got.Float(models.MeanCompletion)-want) > 1e-6 {
		t.Errorf("JCT %v, want %v", got.Float(models.MeanCompletion), want)
	}
	if got.Int(metric.Hits) != 99 || got.Float(prefetch.Accuracy) != 1 || got.Float(prefetch.Coverage) != 0.99 ||
		got.Float(models.PrefetchWaste) != 0 {
		t.Errorf("%d hits, accuracy %v, coverage %v, waste %v", got.Int(metric.Hits), got.Float(prefetch.Accuracy),
			got.Float(prefetch.Coverage), got.Float(models.PrefetchWaste))
	}
	// If the job does not compute, each block is on its way when it is requested: prefetched at the same time as its
	// predecessor is fetched, it is sent next.
	for i := range tr.Times {
		tr.Times[i] = 0
	}
	late := simtest.ByPolicy(t, tr, "lru", capacity.Of(20, false), 0, model, "prefetcher=next")["lru"]
	if late.Int(models.LatePrefetches) != 99 || late.Int(metric.Hits) != 0 || late.Int(models.DelayedHits) != 99 {
		t.Errorf("%d late prefetches, %d delayed hits, %d hits", late.Int(models.LatePrefetches),
			late.Int(models.DelayedHits), late.Int(metric.Hits))
	}
	if a, b := got.Float(metric.HitsInFlight), late.Float(metric.HitsInFlight); a != 0.99 || b != 0.99 {
		t.Errorf("hits in flight %v if blocks are in time, %v if they are on their way, want 0.99", a, b)
	}
}

// Job b asks for the block that a is fetching, then a hits it, and b misses another block.
func TestStorageHitsInFlight(t *testing.T) {
	tr := simtest.LoadReads(t, "0,a,/d,0,4194304,8388608\n0.1,b,/d,0,4194304,8388608\n10,a,/d,0,4194304,8388608\n"+
		"20,b,/d,4194304,4194304,8388608\n")
	for warmup, want := range map[int][2]float64{0: {1. / 4, 2. / 4}, 2: {1. / 2, 1. / 2}} {
		rec := simtest.ByPolicy(t, tr, "lru", capacity.Of(8, false), warmup, "model=storage")["lru"]
		if got := [2]float64{rec.Float(metric.HitRatio), rec.Float(metric.HitsInFlight)}; got != want {
			t.Errorf("after %d: hit ratio and hits in flight %v, want %v", warmup, got, want)
		}
	}
}

func TestStorageStops(t *testing.T) {
	tr := simtest.Reads(t, 200, 10, time.Second)
	for _, arrivals := range []string{"trace", "closed"} {
		rec := simtest.ByPolicy(t, tr, "lru", capacity.Of(8, false), 0,
			"model=storage(arrivals="+arrivals+",stop=a:60)")["lru"]
		if _, has := rec.Get("job_completion_s[a]"); has || !rec.Has(models.MeanCompletion) {
			t.Errorf("%s: job a is stopped, and has a completion time", arrivals)
		}
		if rec.Has(metric.OptMisses) {
			t.Errorf("%s: %d requests are compared with the optimum for all", arrivals, rec.Int(metric.Requests))
		}
		b, _ := rec.Get("job_completion_s[b]")
		if b != rec.Float(models.MeanCompletion) || b < 190 || rec.Int(metric.Requests) > 131 {
			t.Errorf("%s: job b takes %v s, the mean is %v; %d requests", arrivals, b, rec.Float(models.MeanCompletion),
				rec.Int(metric.Requests))
		}
	}
}

// What a stop cuts off is not read: within 0.1 s the store has not even answered.
func TestStorageThroughputOfStoppedJobs(t *testing.T) {
	tr := simtest.Reads(t, 200, 10, time.Microsecond)
	for _, arrivals := range []string{"trace", "closed"} {
		rec := simtest.ByPolicy(t, tr, "lru", capacity.Of(8, false), 0,
			"model=storage(arrivals="+arrivals+",stop=a:0.1;b:0.1)")["lru"]
		if got := rec.Float(models.ReadThroughput); got != 0 || rec.Int(models.RemoteBytes) != 0 {
			t.Errorf("%s: jobs without a byte read %v MB/s", arrivals, got)
		}
		if rec.Has(models.LatencyMean) || rec.Has(models.LatencyP99) {
			t.Errorf("%s: no read is served, and they take %v ms", arrivals, rec.Float(models.LatencyMean))
		}
	}
}

// The number of cores changes nothing.
func TestStorageOnSeveralCores(t *testing.T) {
	tr := simtest.Reads(t, 1000, 40, 30*time.Millisecond)
	options := simtest.Options{Policies: "lru,random,s3fifo", Capacities: simtest.Objects(10, 30), Jobs: 1, Seed: 5,
		Parts: []string{"model=storage,storage(arrivals=closed)", "prefetcher=none,next(n=3)"}}
	one := simtest.Run(t, tr, options)
	options.Jobs = 4
	several := simtest.Run(t, tr, options)
	if len(one) != 24 {
		t.Fatalf("%d records", len(one))
	}
	for i := range one {
		if !reflect.DeepEqual(one[i].Values, several[i].Values) {
			t.Errorf("%s with %s: %v on one core, %v on several", one[i].Label, one[i].Model, one[i].Values,
				several[i].Values)
		}
	}
}

func TestStorageRefuses(t *testing.T) {
	files := simtest.Reads(t, 50, 10, time.Second)
	timeless, sizeless, sampled := *files, *files, *files
	timeless.Times, sizeless.ObjectSizes, sampled.SampleRate = nil, nil, 0.5
	perFile := *files
	perFile.Starts = []int{0, 10}
	for want, c := range map[string]struct {
		tr     *traces.Trace
		policy string
		lists  []string
	}{
		"has no times; write storage(arrivals=closed)": {&timeless, "lru", nil},
		"has no sizes":                 {&sizeless, "lru", []string{"model=storage(arrivals=closed)"}},
		"--limit instead of --sample":  {&sampled, "lru", nil},
		"remove --per-file":            {&perFile, "lru", nil},
		"with opt":                     {files, "opt", nil},
		"with pfoo-l":                  {files, "pfoo-l", nil},
		"with oracle":                  {files, "laru", []string{"predictor=oracle"}},
		"with optimal":                 {files, "lru", []string{"allocator=optimal"}},
		"stop=\"x\": want JOB:SECONDS": {files, "lru", []string{"model=storage(stop=x)"}},
		"unknown job \"x\"":            {files, "lru", []string{"model=storage(stop=x:3)"}},
		"number of seconds above 0":    {files, "lru", []string{"model=storage(stop=a:0)"}},
		"the job a twice":              {files, "lru", []string{"model=storage(stop=a:1;a:2)"}},
	} {
		cell := simtest.Cell(t, c.policy, capacity.Of(8<<22, true), append([]string{"model=storage"}, c.lists...)...)
		if c.tr.ObjectSizes == nil || c.policy == "laru" {
			cell.Capacity = capacity.Of(8, false)
		}
		c.tr.Tenants = &traces.Tenants{Names: []string{"x"}, Of: make([]uint32, c.tr.NumObjects)}
		err := sim.NewReplayer(c.tr, sim.ReplayerOptions{}).Check(cell)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
	// How many windows there are is known only when the clock has passed them.
	c := simtest.Cell(t, "lru", capacity.Of(8, false), "model=storage(arrivals=closed)")
	c.Series = series.Window{Span: 100 * time.Microsecond}
	if _, err := sim.NewReplayer(files, sim.ReplayerOptions{}).Replay(t.Context(), c); err == nil ||
		!strings.Contains(err.Error(), "give longer ones") {
		t.Errorf("too many windows: %v", err)
	}
}
