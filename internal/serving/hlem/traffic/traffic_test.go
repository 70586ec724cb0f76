package traffic

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/serving/hlem/fluid"
	"github.com/cachesim/cachesim/internal/traces/gen"
	"github.com/cachesim/cachesim/internal/traces/recommender"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// smallRecommender has few users, at a low rate.
const smallRecommender = "nodes=2,users=2000,shards=10000,rate=200"

type recommenderRequest struct {
	time, tokens int64
	user         uint64
	hot          bool
	lookups      []recommender.Lookup
}

func generateRecommender(t *testing.T, args string) []recommenderRequest {
	t.Helper()
	spec := must.Get(gen.Parse("recommender("+args+")", ""))(t)
	g := must.Get(gen.New(t.Context(), spec, nil))(t)
	var requests []recommenderRequest
	var rec stream.Record
	for range g.Requests() {
		must.Do(t, g.Read(&rec))
		head := recommender.HeadOf(&rec)
		requests = append(requests, recommenderRequest{rec.Time, head.Tokens, rec.Num, head.Hot == 1, head.Lookups(nil)})
	}
	if err := g.Read(&rec); err == nil {
		t.Fatalf("more than the %d requests that are announced", g.Requests())
	}
	return requests
}

// TestGolden keeps the trace of a specification what it was, on any number of cores.
func TestGolden(t *testing.T) {
	const spec = "recommender(nodes=2,users=1000,shards=10000,regime=burst,rate=100,epochs=20,seed=2)"
	for _, cores := range brief.Sample(2, runtime.NumCPU(), 1) {
		previous := runtime.GOMAXPROCS(cores)
		s := must.Get(gen.Parse(spec, ""))(t)
		g := must.Get(gen.New(t.Context(), s, nil))(t)
		h := sha256.New()
		var rec stream.Record
		for g.Read(&rec) == nil {
			binary.Write(h, binary.LittleEndian, []uint64{rec.Num, uint64(rec.Size), uint64(rec.Time)})
			head := recommender.HeadOf(&rec)
			fmt.Fprint(h, head.Tokens, head.Hot, head.Lookups(nil))
		}
		runtime.GOMAXPROCS(previous)
		if got := fmt.Sprintf("%x", h.Sum(nil)[:8]); got != "43580f312b563672" {
			t.Errorf("on %d cores: checksum %s, want 43580f312b563672", cores, got)
		}
	}
}

// hotBetween returns the share of hot requests from one second to another.
func hotBetween(requests []recommenderRequest, from, to float64) (share float64, n int) {
	hot := 0
	for _, r := range requests {
		if at := float64(r.time) / 1e9; at >= from && at < to {
			n++
			if r.hot {
				hot++
			}
		}
	}
	return float64(hot) / float64(n), n
}

// shareIs fails if a measured share of n draws is more than five standard deviations off.
func shareIs(t *testing.T, what string, got, want float64, n int) {
	t.Helper()
	if limit := 5 * math.Sqrt(want*(1-want)/float64(n)); math.Abs(got-want) > limit {
		t.Errorf("%s: %.4f, want %.4f within %.4f", what, got, want, limit)
	}
}

func TestRecommenderHotShares(t *testing.T) {
	for dataset, want := range map[string]float64{"taobao": 0.18, "video-games": 0.24, "books": 0.38} {
		requests := generateRecommender(t, smallRecommender+",epochs=20,dataset="+dataset)
		share, n := hotBetween(requests, 0, 1e9)
		shareIs(t, dataset, share, want, n)
	}
	requests := generateRecommender(t, smallRecommender+",epochs=20,hot=0.6")
	users := map[uint64]bool{}
	for _, r := range requests {
		if r.hot {
			users[r.user] = true
		}
		if r.hot != (r.user < 200) {
			t.Fatalf("user %d of 4000 is hot: %v; want the first 5%%", r.user, r.hot)
		}
	}
	if len(users) < 150 {
		t.Errorf("only %d of the 200 hot users made requests", len(users))
	}
	share, n := hotBetween(requests, 0, 1e9)
	shareIs(t, "hot=0.6", share, 0.6, n)
}

// TestRecommenderUsersFollowZipf fits a line to the logarithms of the requests of the most popular hot users.
func TestRecommenderUsersFollowZipf(t *testing.T) {
	requests := generateRecommender(t, "nodes=2,users=4000,shards=1000,own-shards=1,utilisation=0.5,epochs=100,hot=0.9,"+
		"requests=200000")
	const ranks, nodes = 200, 2
	count := make([]float64, ranks)
	for _, r := range requests {
		if r.user < ranks*nodes {
			count[r.user/nodes]++
		}
	}
	var n, x, y, xx, xy float64
	for rank := range 50 { // the ranks with enough requests
		a, b := math.Log(float64(rank+1)), math.Log(count[rank])
		n, x, y, xx, xy = n+1, x+a, y+b, xx+a*a, xy+a*b
	}
	if slope := (n*xy - x*y) / (n*xx - x*x); math.Abs(slope+0.6) > 0.03 {
		t.Errorf("the requests of users fall with a slope of %.3f, want -0.6", slope)
	}
}

func TestRecommenderLookups(t *testing.T) {
	for _, want := range brief.Sample(3, 0, 0.6, 0.96, 1) {
		requests := generateRecommender(t, fmt.Sprintf("nodes=1,users=20,shards=1000000,shard-alpha=0,requests=4000,"+
			"own=%v", want))
		own := map[uint64]map[uint32]int{} // per user: rows of each shard
		tokens := map[uint64]int64{}
		for _, r := range requests {
			if r.tokens < 5000 || r.tokens > 15000 {
				t.Fatalf("%d tokens", r.tokens)
			}
			if before, ok := tokens[r.user]; ok && before != r.tokens {
				t.Fatalf("user %d has %d tokens after %d", r.user, r.tokens, before)
			}
			tokens[r.user] = r.tokens
			rows, seen := int64(0), map[uint32]bool{}
			for _, l := range r.lookups {
				if seen[l.Shard] || l.Shard >= 1_000_000 {
					t.Fatalf("shard %d comes twice, or is none", l.Shard)
				}
				seen[l.Shard] = true
				rows += int64(l.Rows)
				if own[r.user] == nil {
					own[r.user] = map[uint32]int{}
				}
				own[r.user][l.Shard] += int(l.Rows) / 1024
			}
			if math.Abs(float64(rows)-float64(r.tokens*10)) > 512 {
				t.Fatalf("%d tokens read %d rows, want 10 each, rounded to shards", r.tokens, rows)
			}
		}
		// Popularity is even and there are many shards: those that a user reads often are its own.
		repeated, all := 0, 0
		for _, shards := range own {
			draws := 0
			for _, n := range shards {
				draws += n
			}
			if draws < 10_000 {
				continue // too few for own shards to come often
			}
			for _, n := range shards {
				if all += n; n > 3 {
					repeated += n
				}
			}
		}
		if got := float64(repeated) / float64(all); math.Abs(got-want) > 0.01 {
			t.Errorf("own=%v: %.4f of the draws are of own shards", want, got)
		}
	}
}

func TestRecommenderRateGivesTheUtilisation(t *testing.T) {
	p := recommender.DefaultPopulation()
	p.Nodes, p.Users, p.Shards = 2, 2000, 100_000
	for _, layers := range brief.Sample(2, 3, 6) {
		costs := hlem.DefaultCosts()
		costs.Layers = layers
		model := fluid.NewCached(p, costs, 4, 20e9)
		requests := generateRecommender(t, fmt.Sprintf("nodes=2,users=2000,shards=100000,gpus=4,memory-gb=20,layers=%d,"+
			"utilisation=0.5,ratio=0.3,epochs=10", layers))
		rate := float64(len(requests)) / 50 / 2
		got := model.Predict(hlem.Load{HotShare: 0.38, Rate: rate}, 0.3).Utilisation
		if limit := 5 * 0.5 / math.Sqrt(float64(len(requests))); math.Abs(got-0.5) > limit {
			t.Errorf("%d layers: utilisation %.3f, want 0.5 within %.3f", layers, got, limit)
		}
		// Poisson: the numbers of requests in tenths of seconds have a variance like their mean.
		counts := make([]float64, 500)
		for _, r := range requests {
			counts[r.time/1e8]++
		}
		mean, variance := rate*2/10, 0.0
		for _, n := range counts {
			variance += (n - mean) * (n - mean) / float64(len(counts))
		}
		if ratio := variance / mean; math.Abs(ratio-1) > 5*math.Sqrt(2.0/500) {
			t.Errorf("the variance of arrivals is %.2f times their mean, want 1", ratio)
		}
	}
}

func TestRecommenderTrend(t *testing.T) {
	requests := generateRecommender(t, smallRecommender+",regime=trend,dataset=taobao,epochs=100")
	first, n := hotBetween(requests, 0, 50)
	shareIs(t, "first tenth", first, 0.18+0.25*4.5/99, n)
	last, n := hotBetween(requests, 450, 500)
	shareIs(t, "last tenth", last, 0.18+0.25*94.5/99, n)
}

func TestRecommenderBurst(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 200 epochs; TestGolden has fewer")
	}
	for _, extra := range []float64{0.15, 0.55} {
		checkBurst(t, extra)
	}
}

func checkBurst(t *testing.T, extra float64) {
	t.Helper()
	args := fmt.Sprintf("%s,regime=burst,dataset=books,epochs=200,seed=3,burst-rate=%v", smallRecommender, extra)
	requests := generateRecommender(t, args)
	steps := recommender.Burst.HotShares(0.38, 200, 3, extra)
	var calm, spike [2]float64 // hot requests, all
	epochs := [2]float64{}
	for _, s := range steps {
		epochs[boolIndex(s.Extra > 0)]++
	}
	for _, r := range requests {
		of := &calm
		if steps[r.time/5e9].Extra > 0 {
			of = &spike
		}
		of[1]++
		if r.hot {
			of[0]++
		}
	}
	if epochs[1] < 10 {
		t.Fatalf("%v epochs with spikes among 200", epochs[1])
	}
	shareIs(t, "calm", calm[0]/calm[1], 0.38, int(calm[1]))
	shareIs(t, "spike", spike[0]/spike[1], (0.38+extra)/(1+extra), int(spike[1]))
	if got := spike[1] / epochs[1] / (calm[1] / epochs[0]); math.Abs(got-1-extra) > 0.02 {
		t.Errorf("spikes have %.3f times the requests, want %v", got, 1+extra)
	}
}

func boolIndex(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestRecommenderIsDeterministic(t *testing.T) {
	const args = smallRecommender + ",requests=2000"
	first, again := generateRecommender(t, args), generateRecommender(t, args)
	other := generateRecommender(t, args+",seed=1")
	if len(first) != 2000 {
		t.Fatalf("%d requests, want 2000", len(first))
	}
	same := func(a, b recommenderRequest) bool {
		return a.time == b.time && a.user == b.user && slices.Equal(a.lookups, b.lookups)
	}
	if !slices.EqualFunc(first, again, same) {
		t.Error("the same seed gives other requests")
	}
	if slices.EqualFunc(first, other, same) {
		t.Error("another seed gives the same requests")
	}
	if !slices.IsSortedFunc(first, func(a, b recommenderRequest) int { return int(a.time - b.time) }) {
		t.Error("the requests are not in order of time")
	}
}

func TestRecommenderOfOneLength(t *testing.T) {
	for _, r := range generateRecommender(t, "tokens=7000,nodes=1,users=100,shards=1000,rate=50,epochs=1") {
		if r.tokens != 7000 {
			t.Fatalf("a sequence of %d tokens, want 7000", r.tokens)
		}
	}
}

func TestRecommenderRefusesWhatCannotBe(t *testing.T) {
	for args, want := range map[string]string{
		"min-tokens=10,max-tokens=9":               "sequences of 10 to 9 tokens",
		"epochs=1000000,nodes=1024":                "requests: want at most 2^31",
		"rate=0.01,epochs=1,epoch-s=0.001,nodes=1": "no request in 1 epochs",
		"max-tokens=16777216":                      "draw",
		"users=16777216,nodes=1024":                "want at most 67108864 users",
		"hot=0.6,regime=burst":                     "spikes raise the share of hot users to 0.6",
		"hot=0.95,regime=trend":                    "rises to at most 0.95",
		"epochs=1000000,epoch-s=86400":             "requests: want at most 2^31",
		"requests=9,epochs=1000000,epoch-s=86400":  "years",
	} {
		spec, err := gen.Parse("recommender("+args+",shards=1000)", "")
		if !strings.Contains(args, "users") {
			spec, err = gen.Parse("recommender("+args+",shards=1000,users=100)", "")
		}
		if err == nil {
			_, err = gen.New(t.Context(), spec, nil)
		}
		must.Fail(t, err, want, args)
	}
}

// TestRecommenderSaysWhatItMade counts what was generated, and nothing of the epochs behind the last request.
func TestRecommenderSaysWhatItMade(t *testing.T) {
	for args, want := range map[string][]string{
		"rate=100,epochs=40":                                    {" in 200 s, ", "per second and node"},
		"rate=100,epochs=40,requests=1000":                      {"1000 requests in ", " in 4.", "per second and node"},
		"rate=100,epochs=40,regime=trend":                       {", from 38.0% to 63.0%"},
		"rate=100,epochs=41,requests=2000,hot=0.4,regime=trend": {", from 40.0% to 40.6"},
		"rate=100,epochs=200,regime=burst":                      {"spikes"},
		"rate=100,epochs=200,requests=400,regime=burst":         {", with 0 spikes"},
	} {
		spec := must.Get(gen.Parse("recommender(nodes=2,users=100,shards=1000,"+args+")", ""))(t)
		g := must.Get(gen.New(t.Context(), spec, nil))(t)
		var rec stream.Record
		for range g.Requests() {
			must.Do(t, g.Read(&rec))
		}
		for _, part := range want {
			if !strings.Contains(g.Measured(), part) {
				t.Errorf("%s: %q; want %q in it", args, g.Measured(), part)
			}
		}
	}
}

// TestRecommenderSaysHowFarItsPreparationIs has 4 draws of 2^16 own shards each, then counts the requests.
func TestRecommenderSaysHowFarItsPreparationIs(t *testing.T) {
	spec := must.Get(gen.Parse("recommender(nodes=1,users=4096,own-shards=64,shards=1000,requests=100)", ""))(t)
	var all []int64
	said := func(done, total int64) {
		if total != 4<<16+100 {
			t.Fatalf("a total of %d, want one step for each draw and request", total)
		}
		all = append(all, done)
	}
	must.Get(gen.New(t.Context(), spec, said))(t)
	if want := []int64{0, 1 << 16, 2 << 16, 3 << 16, 4 << 16}; !slices.Equal(all, want) {
		t.Errorf("%d steps are done, want %d", all, want)
	}
}

// TestRecommenderPreparationEndsWithItsContext: 31 million users own two billion shards, which take minutes to draw
// (a sixteenth of them under -short), and a trace of a billion requests takes long to count.
func TestRecommenderPreparationEndsWithItsContext(t *testing.T) {
	brief.Long(t, "prepares large traces")
	for args, after := range map[string]int64{
		fmt.Sprintf("nodes=%d,shards=1000", brief.Of(1024, 64)): 1 << 20,
		"nodes=1,users=100,shards=1000,rate=1e6,epochs=200":     1 << 20,
	} {
		spec, err := gen.Parse("recommender("+args+")", "")
		must.Do(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		last := int64(0)
		_, err = gen.New(ctx, spec, func(done, _ int64) {
			if last = done; done >= after {
				cancel()
			}
		})
		if cancel(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want that the context was cancelled", args, err)
		}
		if last > 2*after {
			t.Errorf("%s: it went on until step %d after it was cancelled at %d", args, last, after)
		}
	}
}

// In every other turn a token is looked up in the other number of tables, by the same users.
func TestRecommenderTurns(t *testing.T) {
	const args = smallRecommender + ",epochs=6,tables=5,tokens=10240"
	users := map[bool]map[uint64]bool{false: {}, true: {}}
	for _, r := range generateRecommender(t, args+",turn=2,turn-tables=20") {
		rows, turned := 0, r.time/10e9%2 == 1
		for _, l := range r.lookups {
			rows += int(l.Rows)
		}
		want := 5 * 10240
		if turned {
			want = 20 * 10240
		}
		if rows != want {
			t.Fatalf("a request at %d ns looks up %d rows, want %d", r.time, rows, want)
		}
		users[turned][r.user] = true
	}
	both := 0
	for user := range users[true] {
		if users[false][user] {
			both++
		}
	}
	if both < len(users[true])/2 {
		t.Errorf("%d of %d users come in both turns, want most", both, len(users[true]))
	}
	for _, half := range []string{"turn=2", "turn-tables=20"} {
		spec := must.Get(gen.Parse("recommender("+half+")", ""))(t)
		if _, err := gen.New(t.Context(), spec, nil); err == nil || !strings.Contains(err.Error(), "want both") {
			t.Errorf("%s alone: %v, want an error", half, err)
		}
	}
}
