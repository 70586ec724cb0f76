package fluid

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

// Trace are requests from which Measure learns a population.
type Trace struct {
	Users     []uint32               // of each request
	Tokens    []int32                // of each request
	Hot       func(request int) bool // whether its user is hot
	Shards    int                    // their numbers are below this
	ShardRows int
	Nodes     int // over which the users are spread
	Hosts     int // over which the tables are spread
	// Read calls yield with each shard that a request reads and the number of rows of it, each shard once.
	Read func(request int, yield func(shard, rows uint32))
}

// mostRead bounds the lookups that Measure looks at: it then takes some of the users only.
const mostRead = 20_000_000

// Measure returns the model of a node that serves the users of a trace, all of them equally likely on each node, from
// their requests: how many each makes and with which lengths, how many users read each shard, and which shards a user
// reads again. It takes requests to be independent, as NewModel does, without bursts of a user or users who stop. The
// first request of a user misses KV. It panics if there are no requests or the costs are invalid.
func Measure(t Trace, c hlem.Costs, gpus int, memory int64) *Model {
	if err := c.Check(); err != nil {
		panic("fluid: " + err.Error())
	}
	if len(t.Users) == 0 || gpus < 1 || memory < 1 || t.Nodes < 1 || t.Hosts < 1 || t.ShardRows < 1 {
		panic("fluid: want requests, GPUs, memory, nodes and rows of a shard")
	}
	page := c.PageBytes(t.ShardRows)
	m := &Model{costs: c, objective: hlem.DefaultObjective(), servers: gpus, memory: float64(gpus) * float64(memory),
		page: float64(page), remote: 1 - 1/float64(t.Hosts)}
	u := t.users()
	m.bins = t.bins(u, c, page)
	l := t.locality(u)
	m.own, m.rowsDrawn = l.own, l.rows
	mean := m.meanTokens(u.hotShare)
	for i := range m.bins {
		b := &m.bins[i]
		longer := (b.from + b.to) / 2 / mean
		b.draws = l.shards * longer
		b.ownShards = max(1e-9, l.owned*longer)
		b.logTouched = math.Log(l.touched)
	}
	m.build(l.all)
	return m
}

// counted are the users of a trace.
type counted struct {
	requests []uint32  // per user
	tokens   []float64 // per user: mean of the requests
	class    []uint8   // per user: hot if at least half of the requests are
	total    [2]float64
	hotShare float64 // of the requests
}

func (t Trace) users() *counted {
	n := int(slices.Max(t.Users)) + 1
	u := &counted{requests: make([]uint32, n), tokens: make([]float64, n), class: make([]uint8, n)}
	asHot := make([]uint32, n) // requests
	for i, user := range t.Users {
		if u.requests[user]++; t.Hot(i) {
			asHot[user]++
		}
		u.tokens[user] += float64(t.Tokens[i])
	}
	for user, requests := range u.requests {
		if requests == 0 {
			continue
		}
		u.tokens[user] /= float64(requests)
		if 2*asHot[user] >= requests {
			u.class[user] = hot
		}
		u.total[u.class[user]] += float64(requests)
	}
	u.hotShare = u.total[hot] / float64(len(t.Users))
	return u
}

// bins divides the lengths into classes with equally many requests.
func (t Trace) bins(u *counted, c hlem.Costs, page int64) []bin {
	sorted := slices.Clone(t.Tokens)
	slices.Sort(sorted)
	var edges []int32 // the first length above each bin
	for i := 1; i <= mostBins; i++ {
		edge := sorted[(len(sorted)-1)*i/mostBins] + 1
		if len(edges) == 0 || edge > edges[len(edges)-1] {
			edges = append(edges, edge)
		}
	}
	of := func(tokens int32) int {
		i, found := slices.BinarySearch(edges, tokens)
		if found {
			i++
		}
		return min(i, len(edges)-1)
	}
	bins := make([]bin, len(edges))
	from := sorted[0]
	for i, edge := range edges {
		bins[i].from, bins[i].to = float64(from), float64(edge-1)
		from = edge
	}
	var active, hits [2][mostBins]tallied
	var pages, users [mostBins]float64
	for user, requests := range u.requests {
		if requests > 0 {
			i := of(int32(u.tokens[user]))
			active[u.class[user]][i].add(requests, 1)
			pages[i] += float64(c.UserPages(int(math.Ceil(u.tokens[user])), page))
			users[i]++
		}
	}
	for i, user := range t.Users {
		class, requests := u.class[user], u.requests[user]
		b := of(t.Tokens[i])
		hits[class][b].add(requests, float64(requests-1)/float64(requests))
		bins[b].share[class] += 1 / u.total[class]
	}
	for i := range bins {
		b := &bins[i]
		b.scale = [2]float64{1, 1}
		if users[i] > 0 {
			b.pages = pages[i] / users[i]
		}
		for class := range b.users {
			b.users[class] = tabulate(active[class][i].classes(u.total[class], t.Nodes, false),
				hits[class][i].classes(u.total[class], t.Nodes, true))
		}
	}
	return bins
}

// tallied has the weights of numbers of requests, and the sums of these numbers, each times its weight. Numbers that
// are nearly the same are one.
type tallied map[uint32]struct{ weight, requests float64 }

func (t *tallied) add(requests uint32, weight float64) {
	if *t == nil {
		*t = tallied{}
	}
	sum := (*t)[rounded(requests)]
	sum.weight += weight
	sum.requests += float64(weight * float64(requests))
	(*t)[rounded(requests)] = sum
}

// rounded keeps the first bits of a number.
func rounded(n uint32) uint32 {
	const kept = 5
	shift := max(0, bits.Len32(n)-kept)
	return n >> shift << shift
}

// classes returns users of a node by their share of the requests of their class. Their weights are users, or requests.
func (t tallied) classes(total float64, nodes int, ofRequests bool) []class {
	classes := make([]class, 0, len(t))
	for _, sum := range t {
		if sum.weight == 0 {
			continue
		}
		c := class{count: sum.weight / float64(nodes), share: sum.requests / sum.weight / total * float64(nodes)}
		if ofRequests {
			c.count = sum.weight / total / c.share
		}
		classes = append(classes, c)
	}
	slices.SortFunc(classes, func(a, b class) int { return cmp.Compare(a.share, b.share) })
	return classes
}

// locality is which shards requests read.
type locality struct {
	shards  float64 // that a request reads
	rows    float64 // of each
	own     float64 // share of the rows that are of own shards
	owned   float64 // shards that a user of the mean length owns
	touched float64 // share of them that a request reads
	all     []shard
}

// window is how many successive requests of a user are looked at: the user owns the shards that more than half of them
// read. Over more of them, a history that is cut at a length moves on.
const window = 4

// locality looks at some requests of each user, or of some users.
func (t Trace) locality(u *counted) (l locality) {
	r := reading{owners: make([]uint32, t.Shards), others: make([]uint32, t.Shards), seen: make([]uint32, t.Shards),
		times: make([]tally, t.Shards)}
	for i, requests := range t.sample(u) {
		if len(requests) > 1 {
			r.user(t, uint32(i)+1, requests)
		}
	}
	if r.requests == 0 { // no user makes a second request: nothing is own
		for i := range min(len(t.Users), 10_000) {
			r.user(t, uint32(i)+1, []uint32{uint32(i)})
		}
	}
	l = locality{shards: r.shards / r.requests, rows: r.rows / r.shards, own: r.ownRows / r.rows, touched: 1,
		all: popularityOf(r.owners, r.others)}
	if r.owned > 0 {
		l.owned, l.touched = r.owned/r.requests, r.touched/r.owned
	}
	return l
}

// reading is what some users read.
type reading struct {
	owners, others []uint32 // per shard: users that own it, and requests of others that read it
	seen           []uint32 // per shard: the last user that read it
	times          []tally  // per shard: how often this user did
	read           []uint32 // the shards of this user

	requests, shards, rows, ownRows float64
	owned, touched                  float64 // per request: own shards of its user, and how many of them it reads
}

// tally counts requests of one user that read a shard, and the rows.
type tally struct{ requests, rows uint32 }

// user adds some requests of a user, with a number above 0.
func (r *reading) user(t Trace, user uint32, requests []uint32) {
	r.read = r.read[:0]
	for _, request := range requests {
		t.Read(int(request), func(shard, rows uint32) {
			if r.seen[shard] != user {
				r.seen[shard], r.times[shard] = user, tally{}
				r.read = append(r.read, shard)
			}
			r.times[shard].requests++
			r.times[shard].rows += rows
		})
	}
	n := float64(len(requests))
	r.requests += n
	for _, shard := range r.read {
		seen := r.times[shard]
		r.shards += float64(seen.requests)
		r.rows += float64(seen.rows)
		if len(requests) > 1 && 2*int(seen.requests) > len(requests) {
			r.owners[shard]++
			r.ownRows += float64(seen.rows)
			r.owned += n
			r.touched += float64(seen.requests)
		} else {
			r.others[shard] += seen.requests
		}
	}
}

// sample returns some successive requests of each user that is looked at.
func (t Trace) sample(u *counted) [][]uint32 {
	read := 0
	const probes = 1000
	for i := range probes {
		t.Read(i*len(t.Users)/probes, func(_, _ uint32) { read++ })
	}
	share := min(1, float64(mostRead)*probes/float64(max(1, read))/float64(window*len(u.requests)))
	limit := uint64(share * (1 << 32))
	var chosen [][]uint32
	type progress struct {
		number int32 // of the chosen user, from 1; -1 if it is not chosen
		skip   uint32
	}
	users := make([]progress, len(u.requests))
	for i, user := range t.Users {
		p := &users[user]
		if p.number == 0 {
			p.number = -1
			if bits := random.Mix(uint64(user) + random.Golden); bits>>32 < limit || len(chosen) == 0 {
				chosen = append(chosen, nil)
				p.number = int32(len(chosen))
				if n := u.requests[user]; n > window { // a random place among its requests
					p.skip = uint32(bits) % (n - window + 1)
				}
			}
		}
		if p.number < 0 {
			continue
		}
		if p.skip > 0 {
			p.skip--
		} else if of := &chosen[p.number-1]; len(*of) < window {
			*of = append(*of, uint32(i))
		}
	}
	return chosen
}

// popularityOf returns the shards by their numbers of owners and of other requests that read them.
func popularityOf(owners, others []uint32) []shard {
	type key struct{ owners, others uint32 }
	type sums struct{ count, owners, others float64 }
	classes := map[key]sums{}
	var owned, read float64
	for i := range owners {
		if owners[i]+others[i] == 0 {
			continue
		}
		k := key{rounded(owners[i]), rounded(others[i])}
		c := classes[k]
		c.count++
		c.owners += float64(owners[i])
		c.others += float64(others[i])
		classes[k] = c
		owned += float64(owners[i])
		read += float64(others[i])
	}
	shards := make([]shard, 0, len(classes))
	for _, c := range classes {
		s := shard{count: c.count}
		s.own, s.rivals = without(c.owners/c.count, owned)
		s.other, s.others = without(c.others/c.count, read)
		shards = append(shards, s)
	}
	slices.SortFunc(shards, func(a, b shard) int {
		return cmp.Or(cmp.Compare(a.own, b.own), cmp.Compare(a.other, b.other))
	})
	return shards
}

// without returns number/sum and (number-1)/sum, which is at least 0. Both are 0 if the sum is.
func without(number, sum float64) (share, less float64) {
	if sum == 0 {
		return 0, 0
	}
	return number / sum, max(0, number-1) / sum
}
