package judge

import (
	"context"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/sim/all"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

func judged(t *testing.T, suite string, candidate string, o Options) Verdict {
	t.Helper()
	s, ok := Named(suite)
	if !ok {
		t.Fatalf("no suite %s", suite)
	}
	if o.Against.Entry.Name == "" {
		o.Against = policies.Known("lru")
	}
	j := must.Get(New(t.Context(), s, o))(t)
	return must.Get(j.Judge(t.Context(), must.Get(Candidate(candidate))(t)))(t)
}

// The misses are those of a cache that is served directly, and the scores follow from them.
func TestScoresFollowFromReplays(t *testing.T) {
	v := judged(t, "kv", "fifo", Options{})
	s, _ := Named("kv")
	sum, worst := 0.0, math.Inf(1)
	for i, p := range v.Points {
		w := must.Get(workload.Generated(s.Search[i/len(shares)], 0))(t)
		tr := must.Get(w.Load(t.Context(), nil, read.Options{}))(t)
		misses := func(policy string) int64 { return missesOf(t, tr, policy, p.Capacity) }
		if p.Misses != misses("fifo") || p.Against != misses("lru") || int64(p.Optimum) != misses("opt") {
			t.Errorf("%s at %d: %d misses, lru %d, opt %v; replays have %d, %d, %d", p.Trace, p.Capacity, p.Misses,
				p.Against, p.Optimum, misses("fifo"), misses("lru"), misses("opt"))
		}
		reduction := 1 - float64(p.Misses)/float64(p.Against)
		sum += reduction
		worst = min(worst, reduction)
	}
	if math.Abs(v.Score-sum/float64(len(v.Points))) > 1e-12 || v.Worst != worst || len(v.Points) != 8 {
		t.Errorf("score %v, worst %v of %d points; want %v, %v of 8", v.Score, v.Worst, len(v.Points),
			sum/float64(len(v.Points)), worst)
	}
}

func missesOf(t *testing.T, tr *traces.Trace, policy string, capacity int64) int64 {
	t.Helper()
	spec := policies.Known(policy)
	c := policies.Config{Capacity: capacity, Unit: true, Objects: tr.NumObjects, Requests: len(tr.Objects),
		Params: spec.Params}
	if spec.Entry.Kind == policies.Offline {
		c.NextUse, c.Sequence = nextUses(tr), tr.Objects
	}
	served := cache.NewExact(must.Get(spec.Entry.New(c))(t), capacity, tr.NumObjects)
	var n cache.Counts
	served.Serve(cache.WindowOf(tr, 0, len(tr.Objects), false, nil), &n)
	return n.Requests - n.Hits
}

func nextUses(tr *traces.Trace) []uint32 {
	next, later := make([]uint32, len(tr.Objects)), map[uint32]uint32{}
	for i, o := range slices.Backward(tr.Objects) {
		next[i] = policies.Never
		if at, ok := later[o]; ok {
			next[i] = at
		}
		later[o] = uint32(i)
	}
	return next
}

// A candidate that is stopped could not have reached the score: judged to its end it does not.
func TestOnlyTheHopelessAreStopped(t *testing.T) {
	stopped := 0
	for _, candidate := range []string{"fifo", "mru", "random", "lfu", "s3fifo", "lirs", "requests / size"} {
		for _, suite := range Names() {
			whole := judged(t, suite, candidate, Options{})
			for _, beat := range []float64{whole.Score - 1e-9, whole.Score + 0.02, 0.3} {
				v := judged(t, suite, candidate, Options{Beat: &beat})
				switch {
				case v.Stopped == "" && v.Score != whole.Score:
					t.Errorf("%s, %s: score %v, without --beat %v", suite, candidate, v.Score, whole.Score)
				case v.Stopped != "" && whole.Score >= beat:
					t.Errorf("%s, %s: stopped below %v, but its score is %v", suite, candidate, beat, whole.Score)
				case v.Stopped != "":
					stopped++
				}
			}
		}
	}
	if stopped == 0 {
		t.Error("nothing was stopped")
	}
}

func TestSameOnAnyNumberOfCores(t *testing.T) {
	for _, suite := range Names() {
		one := judged(t, suite, "requests / (now - last)", Options{Jobs: 1, HeldOut: true, Seed: 5})
		more := judged(t, suite, "requests / (now - last)", Options{Jobs: 3, HeldOut: true, Seed: 5})
		one.NsPerRequest, more.NsPerRequest = 0, 0
		if !reflect.DeepEqual(one, more) {
			t.Errorf("%s: %+v and %+v", suite, one, more)
		}
	}
}

// The halves of a suite share no trace, and the built-in ones have the same number.
func TestHalvesDiffer(t *testing.T) {
	for _, name := range Names() {
		s, _ := Named(name)
		if len(s.Search) != len(s.HeldOut) {
			t.Errorf("%s has %d and %d traces", name, len(s.Search), len(s.HeldOut))
		}
		for _, text := range s.Search {
			if slices.Contains(s.HeldOut, text) {
				t.Errorf("%s: %s is in both halves", name, text)
			}
		}
	}
	s := OfFiles("logs", []string{"a", "b", "c"}, false)
	if !slices.Equal(s.Search, []string{"a", "c"}) || !slices.Equal(s.HeldOut, []string{"b"}) {
		t.Errorf("%v and %v", s.Search, s.HeldOut)
	}
}

// A candidate whose time is over does not end what others share.
func TestALateCandidateLeavesOthersAlone(t *testing.T) {
	s, _ := Named("kv")
	j := must.Get(New(t.Context(), s, Options{Against: policies.Known("lru")}))(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	admits := must.Get(Candidate(`rank(admit="total > 1")`))(t) // has an optimum of its own
	if v, err := j.Judge(over, admits); err == nil {
		t.Errorf("is judged: %v", v.Score)
	}
	must.Get(j.Judge(t.Context(), admits))(t)
}

// What could not be deployed is not judged.
func TestNoCandidates(t *testing.T) {
	s, _ := Named("kv")
	j := must.Get(New(t.Context(), s, Options{Against: policies.Known("lru")}))(t)
	for _, name := range []string{"opt", "pfoo-l", "infinite"} {
		if v, err := j.Judge(t.Context(), policies.Known(name)); err == nil {
			t.Errorf("%s is judged: %v", name, v.Score)
		}
	}
	oracle := must.Get(predict.Registry.Parse("oracle"))(t)
	if _, err := New(t.Context(), s, Options{Against: policies.Known("lru"), Predictor: &oracle}); err == nil {
		t.Error("candidates are judged by an oracle's predictions")
	}
}

func TestCandidates(t *testing.T) {
	for text, want := range map[string]string{
		"lru":                                    "lru",
		" s3fifo(small=0.2) ":                    "s3fifo(small=0.2)",
		"hits / size":                            "rank(evict=hits / size)",
		"max(hits, 1) > 2 ? 1, 2 : 3":            "",
		`rank(evict="max(hits, 1)",ties=loaded)`: "rank(evict=max(hits, 1),ties=loaded)",
		"max(hits, 1) / (now - last)":            "rank(evict=max(hits, 1) / (now - last))",
		filepath.Join("absent", "my.expr"):       "",
		filepath.Join("absent", "my.wasm"):       "",
		"../../../examples/wasm/lru.wasm":        "wasm(file=../../../examples/wasm/lru.wasm)",
		"let x = hits; x, 1":                     "",
		"rank(evict=hits":                        "",
	} {
		s, err := Candidate(text)
		if want == "" && err == nil || want != "" && (err != nil || s.String() != want) {
			t.Errorf("%s: %s, %v; want %q", text, s, err, want)
		}
	}
}
