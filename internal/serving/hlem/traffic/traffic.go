// Package traffic generates the requests of users to serving nodes: at a rate that gives the GPUs a utilisation, which
// the fluid model computes, and with a share of hot users that is steady, rises or has spikes.
package traffic

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/serving/hlem/fluid"
	"github.com/cachesim/cachesim/internal/traces/gen"
	"github.com/cachesim/cachesim/internal/traces/recommender"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// hotShares are the shares of the requests that the most active 5% of the users make (HLEM, Table II).
var hotShares = map[string]float64{"taobao": 0.18, "video-games": 0.24, "books": 0.38}

var (
	defaultPopulation = recommender.DefaultPopulation()
	defaultCosts      = hlem.DefaultCosts()
)

var parameters = []params.Param{
	{Name: "dataset", Default: "books", Choices: []string{"taobao", "video-games", "books"}, Doc: "whose share of " +
		"requests of hot users, the 5% with the most requests: 0.18, 0.24 or 0.38"},
	{Name: "regime", Default: "steady", Choices: []string{"steady", "trend", "burst"}, Doc: "steady: the share of hot " +
		"users is constant; trend: it rises by 0.25 over the run; burst: hot users have spikes of 3 to 5 epochs"},
	{Name: "burst-rate", Default: recommender.BurstExtra, Min: 0.001, Max: 10, Doc: "in a burst, the most further " +
		"requests, as a share of the others; 0.55 makes 60% of requests those of hot users from the share of books on"},
	{Name: "hot", Default: 0.0, Min: 0, Max: 0.99, Doc: "share of requests of hot users at the start; 0: the data set's"},
	{Name: "epochs", Default: 200, Min: 1, Max: 1_000_000, Doc: "epochs of the load"},
	{Name: "epoch-s", Default: 5.0, Min: 0.001, Max: 86400, Doc: "seconds of an epoch"},
	{Name: "utilisation", Default: 0.85, Min: 0.01, Max: 10, Doc: "of the GPUs, from which the rate of requests follows"},
	{Name: "rate", Default: 0.0, Min: 0, Max: 1e9, Doc: "requests per second of a node, without spikes; 0: as many as " +
		"give the utilisation"},
	{Name: "ratio", Default: 0.4, Min: 0.01, Max: 0.99, Doc: "share of the memory of embeddings at which the GPUs have " +
		"that utilisation"},
	{Name: "nodes", Default: defaultPopulation.Nodes, Min: 1, Max: 1024, Doc: "nodes that serve the requests"},
	{Name: "gpus", Default: 8, Min: 1, Max: 1024, Doc: "GPUs of a node"},
	{Name: "memory-gb", Default: 80.0, Min: 0.001, Max: 1e6, Doc: "GB of memory of a GPU"},
	{Name: "layers", Default: defaultCosts.Layers, Min: 1, Max: 1000, Doc: "layers of the model that serves them: 6 for " +
		"retrieval, 3 for ranking"},
	{Name: "users", Default: defaultPopulation.Users, Min: 2, Max: 1 << 24, Doc: "active users of each node"},
	{Name: "user-alpha", Default: defaultPopulation.UserAlpha, Min: 0, Max: 10, Doc: "Zipf exponent of the requests of " +
		"users, among hot users and among the others"},
	{Name: "min-tokens", Default: defaultPopulation.MinTokens, Min: 1, Max: 1 << 24, Doc: "tokens of the shortest " +
		"sequence; lengths are spread evenly over the users"},
	{Name: "max-tokens", Default: defaultPopulation.MaxTokens, Min: 1, Max: 1 << 24, Doc: "tokens of the longest " +
		"sequence"},
	{Name: "tokens", Default: 0, Min: 0, Max: 1 << 24, Doc: "tokens of every sequence; 0: from min-tokens to max-tokens"},
	{Name: "tables", Default: defaultPopulation.Tables, Min: 1, Max: 1 << 16, Doc: "embedding tables, in each of which " +
		"every token is looked up"},
	{Name: "turn", Default: 0, Min: 0, Max: 1_000_000, Doc: "epochs of a turn: in every other one tokens are looked up " +
		"in turn-tables tables; 0: there is one turn"},
	{Name: "turn-tables", Default: 0, Min: 0, Max: 1 << 16, Doc: "tables of the other turn"},
	{Name: "shards", Default: defaultPopulation.Shards, Min: 1, Max: 1 << 27, Doc: "shards of 1024 rows, of all tables"},
	{Name: "shard-alpha", Default: defaultPopulation.ShardAlpha, Min: 0, Max: 10, Doc: "Zipf exponent of the shards"},
	{Name: "own-shards", Default: defaultPopulation.OwnShards, Min: 1, Max: 255, Doc: "shards that a user owns, drawn " +
		"once by the popularity of the shards"},
	{Name: "own", Default: defaultPopulation.OwnShare, Min: 0, Max: 1, Doc: "share of a user's lookups that are of its " +
		"own shards"},
	{Name: "shared", Default: 0.0, Min: 0, Max: 1, Doc: "share of a user's own shards that are drawn from those that " +
		"the user's group has in common"},
	{Name: "groups", Default: defaultPopulation.Groups, Min: 1, Max: 1 << 20, Doc: "groups of the users of all nodes, " +
		"with shared"},
	{Name: "requests", Default: 0, Min: 0, Doc: "length of the trace at most; 0: all epochs"},
	{Name: "seed", Default: 0, Min: 0, Doc: "seed of all random choices"},
}

// Purposes of streams of random bits of a seed: the numbers that the traces have always been drawn with.
const (
	userBits    = 1
	arrivalBits = 14
)

// Generators are the generators of this package.
var Generators = []gen.Entry{{Name: "recommender",
	Summary: "recommender requests of users with histories: steady, with a rising share of hot users, or with spikes; " +
		"the rate gives GPUs a utilisation",
	Params: parameters, Records: newTrace, Bytes: bytesOf}}

// trace is requests of users of some nodes, whose load changes from epoch to epoch. It implements gen.Measured.
type trace struct {
	population recommender.Population
	epoch      float64 // nanoseconds
	loads      []hlem.Load
	arrivals   arrivalTimes
	regime     recommender.Regime
	total      int
	cut        bool // at a number of requests, before the last epoch ends

	synthetic *recommender.Synthetic
	users     [2]random.Zipf // ranks of the hot users of a node, and of the others
	bits      *rand.PCG      // of users
	number    int            // of the next request
	hot       int            // requests of hot users so far
	lastTime  int64          // of the last request
	lastEpoch int            // likewise
	head      recommender.Head
}

func populationOf(v params.Values) recommender.Population {
	p := defaultPopulation
	p.Nodes, p.Users, p.UserAlpha = v.Int("nodes"), v.Int("users"), v.Float("user-alpha")
	p.MinTokens, p.MaxTokens, p.Tables = v.Int("min-tokens"), v.Int("max-tokens"), v.Int("tables")
	if all := v.Int("tokens"); all > 0 {
		p.MinTokens, p.MaxTokens = all, all
	}
	p.Shards, p.ShardAlpha = v.Int("shards"), v.Float("shard-alpha")
	p.OwnShards, p.OwnShare = v.Int("own-shards"), v.Float("own")
	p.SharedShare, p.Groups = v.Float("shared"), v.Int("groups")
	p.Layers, p.TurnTables = v.Int("layers"), v.Int("turn-tables")
	return p
}

func bytesOf(v params.Values) int64 { return recommender.SyntheticBytes(populationOf(v)) }

// newTrace draws the shards that users own, and counts the requests. Both take minutes for many nodes.
func newTrace(ctx context.Context, v params.Values, progress func(done, total int64)) (gen.RecordSource, error) {
	t := &trace{population: populationOf(v), epoch: v.Float("epoch-s") * 1e9}
	seed := uint64(v.Int("seed"))
	if groups := v.Int("groups"); t.population.SharedShare == 0 && groups != defaultPopulation.Groups {
		return nil, fmt.Errorf("groups=%d has no effect with shared=0: give shared, or remove it", groups)
	}
	if turn, tables := v.Int("turn"), v.Int("turn-tables"); (turn > 0) != (tables > 0) {
		return nil, fmt.Errorf("turn=%d, turn-tables=%d: want both, or neither", turn, tables)
	}
	err := recommender.CheckSynthetic(t.population)
	if err != nil {
		return nil, err
	}
	if t.regime, err = recommender.ParseRegime(v.Text("regime")); err != nil {
		return nil, err
	}
	if t.loads, err = loadsOf(v, t.regime, t.population, seed); err != nil {
		return nil, err
	}
	t.arrivals = arrivalTimes{loads: t.loads, nodes: float64(t.population.Nodes), epoch: t.epoch,
		bits: random.Stream(seed, arrivalBits)}
	expected, err := t.expected(v.Int("requests"))
	if err != nil {
		return nil, err
	}
	draws := int64(recommender.OwnDraws(t.population))
	step := func(done int64) {
		if progress != nil {
			progress(done, draws+expected)
		}
	}
	if t.synthetic, err = recommender.NewSynthetic(ctx, t.population, seed, step); err != nil {
		return nil, err
	}
	counted := func(n int64) { step(draws + min(n, expected)) }
	if t.total, err = t.count(ctx, v.Int("requests"), counted); err != nil {
		return nil, err
	}
	t.cut = t.total == v.Int("requests")
	hot := t.population.Hot()
	t.users = [2]random.Zipf{random.NewZipf(hot, t.population.UserAlpha),
		random.NewZipf(t.population.Users-hot, t.population.UserAlpha)}
	t.bits = random.Stream(seed, userBits)
	return t, nil
}

// loadsOf returns the load of a node in each epoch: rates that give the wanted utilisation.
func loadsOf(v params.Values, regime recommender.Regime, p recommender.Population, seed uint64) ([]hlem.Load,
	error) {
	hot := v.Float("hot")
	if hot == 0 {
		hot = hotShares[v.Text("dataset")]
	}
	if err := canChange(regime, hot); err != nil {
		return nil, err
	}
	extra := v.Float("burst-rate")
	if regime != recommender.Burst && extra != recommender.BurstExtra {
		return nil, fmt.Errorf("burst-rate=%v has no effect with regime=%s: use regime=burst, or remove it", extra, regime)
	}
	steps := regime.HotShares(hot, v.Int("epochs"), seed, extra)
	if turn := v.Int("turn"); turn > 0 {
		recommender.TakeTurns(steps, turn)
	}
	if rate := v.Float("rate"); rate > 0 {
		loads := make([]hlem.Load, 0, len(steps))
		for _, s := range steps {
			loads = append(loads, hlem.Load{Rate: float64(rate * (1 + s.Extra)), HotShare: s.HotShare, Turned: s.Turned})
		}
		return loads, nil
	}
	costs := defaultCosts
	costs.Layers, p.Layers = p.Layers, 0 // models of equal populations are shared
	model := fluid.NewCached(p, costs, v.Int("gpus"), int64(v.Float("memory-gb")*1e9))
	return model.Loads(steps, v.Float("utilisation"), v.Float("ratio")), nil
}

// canChange refuses a share of hot users from which a regime does not rise: the load would be steady.
func canChange(regime recommender.Regime, hot float64) error {
	switch {
	case regime == recommender.Burst && hot >= recommender.BurstHotShare:
		return fmt.Errorf("hot=%v,regime=burst: spikes raise the share of hot users to %v; want a smaller one, or "+
			"regime=steady", hot, recommender.BurstHotShare)
	case regime == recommender.Trend && hot >= recommender.MostHot:
		return fmt.Errorf("hot=%v,regime=trend: the share of hot users rises to at most %v; want a smaller one, or "+
			"regime=steady", hot, recommender.MostHot)
	}
	return nil
}

// expected returns about how many requests the epochs have, at most limit unless it is 0.
func (t *trace) expected(limit int) (int64, error) {
	expected := 0.0
	for _, l := range t.loads {
		expected += l.Rate * t.arrivals.nodes * t.epoch / 1e9
	}
	switch span := t.epoch * float64(len(t.loads)); {
	case limit == 0 && expected > stream.MaxCount/2:
		return 0, fmt.Errorf("about %.2g requests: want at most 2^31; use fewer epochs or nodes, or requests=", expected)
	case span > math.MaxInt64/2:
		return 0, fmt.Errorf("the epochs last %.0f years: want at most 146; use fewer or shorter ones",
			span/1e9/(365.25*24*3600))
	case limit > 0:
		expected = min(expected, float64(limit))
	}
	return int64(expected), nil
}

// countedAtOnce is the number of requests that are counted between two looks at the context: some milliseconds.
const countedAtOnce = 1 << 18

// count returns how many requests the epochs have, at most limit unless it is 0. It ends with ctx.
func (t *trace) count(ctx context.Context, limit int, counted func(n int64)) (int, error) {
	again := t.arrivals // with a copy of the bits, so that Read draws the same times
	bits := *again.bits
	again.bits = &bits
	n := 0
	for limit == 0 || n < limit {
		if n%countedAtOnce == 0 {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			counted(int64(n))
		}
		if _, _, ok := again.next(); !ok {
			break
		}
		n++
	}
	if n == 0 {
		return 0, fmt.Errorf("no request in %d epochs of %v s at %.3g requests per second: use more or longer epochs",
			len(t.loads), t.epoch/1e9, t.loads[0].Rate*t.arrivals.nodes)
	}
	return n, nil
}

// arrivalTimes is a Poisson process whose rate changes with each epoch.
type arrivalTimes struct {
	loads   []hlem.Load // of a node
	nodes   float64
	epoch   float64 // nanoseconds
	current int     // epoch
	since   float64 // nanoseconds from its start
	bits    *rand.PCG
}

// next returns the time of the next request in nanoseconds and its epoch; false after the last.
func (a *arrivalTimes) next() (time int64, epoch int, ok bool) {
	for ; a.current < len(a.loads); a.current++ {
		rate := a.loads[a.current].Rate * a.nodes
		a.since -= float64(1e9 / rate * random.Log(1-random.Unit(a.bits)))
		if a.since < a.epoch {
			return int64(float64(float64(a.current)*a.epoch) + a.since), a.current, true
		}
		a.since = 0 // the next epoch begins again, since the process has no memory
	}
	return 0, 0, false
}

func (t *trace) Fields() stream.Fields {
	return stream.Fields{Time: true, Kind: t.synthetic.Kind()}
}

func (t *trace) Requests() int { return t.total }

func (t *trace) Read(rec *stream.Record) error {
	if t.number == t.total {
		return io.EOF
	}
	time, epoch, _ := t.arrivals.next()
	user, hot := t.user(t.loads[epoch].HotShare)
	number := uint32(t.number)
	if t.loads[epoch].Turned {
		number = recommender.Turn(number)
	}
	t.synthetic.Request(&t.head, number, user, hot)
	*rec = stream.Record{Time: time, Num: uint64(user), Extra: &t.head}
	t.number++
	t.lastTime, t.lastEpoch = time, epoch
	if hot {
		t.hot++
	}
	return nil
}

// user draws who makes a request. Each node has one user of each rank; users of one rank have consecutive numbers, and
// hot users come first.
func (t *trace) user(hotShare float64) (user uint32, hot bool) {
	hot = random.Unit(t.bits) < hotShare
	rank := 0
	if hot {
		rank = t.users[0].Draw(t.bits)
	} else {
		rank = len(t.users[0]) + t.users[1].Draw(t.bits)
	}
	node, _ := random.Below(t.bits, t.population.Nodes)
	return uint32(rank*t.population.Nodes + node), hot
}

func (t *trace) Measured() string {
	if t.number == 0 {
		return ""
	}
	loads, seconds := t.loads, t.epoch/1e9*float64(len(t.loads))
	if t.cut {
		loads, seconds = t.loads[:t.lastEpoch+1], float64(max(1, t.lastTime))/1e9
	}
	text := fmt.Sprintf("%d requests in %.6g s, %.1f per second and node; hot users make %.1f%% of them", t.number,
		seconds, float64(t.number)/seconds/float64(t.population.Nodes), 100*float64(t.hot)/float64(t.number))
	switch t.regime {
	case recommender.Trend:
		text += fmt.Sprintf(", from %.1f%% to %.1f%%", 100*loads[0].HotShare, 100*loads[len(loads)-1].HotShare)
	case recommender.Burst:
		spikes, spiking := 0, false
		for _, l := range loads {
			spike := l.HotShare > t.loads[0].HotShare
			if spike && !spiking {
				spikes++
			}
			spiking = spike
		}
		text += fmt.Sprintf(", with %d spikes", spikes)
	}
	return text
}
