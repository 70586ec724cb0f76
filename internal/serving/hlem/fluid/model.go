package fluid

import (
	"fmt"
	"math"
	"sync"

	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/traces/recommender"
)

// Steps of the tables of hit ratios: of the share of the memory that a cache has, and of the share of requests of hot
// users. Between them values are interpolated.
const (
	sizeSteps = 50
	hotSteps  = 20
)

// mostBins is the largest number of classes of sequence length.
const mostBins = 16

// bin is a class of sequences of similar length.
type bin struct {
	from, to  float64 // tokens
	draws     float64 // of shards, by a request of the mean length
	pages     float64 // of the KV of a user
	ownShards float64 // of a user
	// logTouched is the logarithm of the probability that a request draws a shard that its user owns.
	logTouched float64
	// hot and cold are the users, share the shares of the requests of hot users, and of others, that are of this bin.
	users [2]*users
	scale [2]float64 // of the users in `users`
	share [2]float64
}

// Model predicts the latency of a node. It is not changed once it is built, so that it may be used concurrently.
type Model struct {
	costs     hlem.Costs
	objective hlem.Objective
	servers   int
	memory    float64 // bytes of the node
	page      float64 // bytes of a shard, the unit of memory
	rowsDrawn float64 // rows that a draw looks up
	remote    float64 // share of the rows that come from other nodes' hosts
	own       float64 // share of the draws that are of own shards
	shared    float64 // share of the own shards that are drawn from those of a group,
	common    float64 // of which all groups together have so many; 0: users share none
	bins      []bin
	turned    bool   // this is the model of the other turn
	other     *Model // of the turn that this is not of; nil if there is one alone

	// Tables over the share of the memory. KV and EMB are not aware of each other.
	missed [sizeSteps + 1][hotSteps + 1]misses
	kv     [sizeSteps + 1][hotSteps + 1][mostBins]float64 // share of the requests that are of a bin and hit
	emb    [sizeSteps + 1][hotSteps + 1][mostBins]recent
}

// misses are the shares of the draws that miss unless the user itself has drawn the shard lately.
type misses struct{ own, other float64 }

// recent describes requests of a bin whose users EMB has seen within its characteristic time.
type recent struct {
	requests  float64 // share of all requests
	untouched float64 // of those, the share that times an own shard was not drawn since, of all requests
}

// cold and hot are positions in the arrays of a bin.
const (
	cold = iota
	hot
)

// NewModel returns the model of a node with some GPUs of some bytes of memory each. It panics if the population or the
// costs are invalid.
func NewModel(p recommender.Population, c hlem.Costs, gpus int, memory int64) *Model {
	m := newModel(p, c, gpus, memory)
	if p.TurnTables > 0 {
		m.join(newModel(p.Turned(), c, gpus, memory))
	}
	return m
}

// join makes two models those of the two turns.
func (m *Model) join(other *Model) {
	m.other, other.other, other.turned = other, m, true
}

// of returns the model of the turn that a load is of.
func (m *Model) of(l hlem.Load) *Model {
	if m.other != nil && l.Turned != m.turned {
		return m.other
	}
	return m
}

func newModel(p recommender.Population, c hlem.Costs, gpus int, memory int64) *Model {
	if err := checked(p, c, gpus, memory); err != nil {
		panic("fluid: " + err.Error())
	}
	page := c.PageBytes(p.ShardRows)
	m := &Model{costs: c, objective: hlem.DefaultObjective(), servers: gpus, memory: float64(gpus) * float64(memory),
		page: float64(page), rowsDrawn: float64(p.ShardRows), remote: 1 - 1/float64(p.Nodes), own: p.OwnShare}
	if p.SharedShare > 0 {
		m.shared, m.common = p.SharedShare, float64(p.Groups)*recommender.CommonShards*float64(p.OwnShards)
	}
	const userClasses, shardClasses = 200, 160
	classes := [2]*users{
		cold: usersOf(zipf(max(1, p.Users-p.Hot()), p.UserAlpha, userClasses)),
		hot:  usersOf(zipf(p.Hot(), p.UserAlpha, userClasses)),
	}
	n := min(mostBins, p.MaxTokens-p.MinTokens+1)
	for i := range n {
		width := float64(p.MaxTokens-p.MinTokens) / float64(n)
		b := bin{from: float64(p.MinTokens) + float64(float64(i)*width), users: classes}
		b.to = b.from + width
		b.scale = [2]float64{1 / float64(n), 1 / float64(n)}
		b.share = b.scale
		tokens := (b.from + b.to) / 2
		b.draws = max(1, tokens*float64(p.Tables)/float64(p.ShardRows))
		b.pages = meanPages(c, b.from, b.to, page)
		b.ownShards = float64(p.OwnShards)
		b.logTouched = math.Log(-math.Expm1(-p.OwnShare * b.draws / b.ownShards))
		m.bins = append(m.bins, b)
	}
	m.build(drawn(zipf(p.Shards, p.ShardAlpha, shardClasses)))
	return m
}

// usersOf returns users whose hits are their requests.
func usersOf(classes []class) *users { return tabulate(classes, classes) }

func checked(p recommender.Population, c hlem.Costs, gpus int, memory int64) error {
	if err := p.Check(); err != nil {
		return err
	}
	if err := c.Check(); err != nil {
		return err
	}
	if gpus < 1 || memory < 1 {
		return fmt.Errorf("a node of %d GPUs with %d bytes of memory; want at least 1 of each", gpus, memory)
	}
	return nil
}

// meanPages returns the mean of the pages that sequences from one length to another need.
func meanPages(c hlem.Costs, from, to float64, page int64) float64 {
	const points = 64
	sum := int64(0)
	for i := range points {
		sum += c.UserPages(int(math.Round(from+float64((to-from)*(float64(i)+0.5)/points))), page)
	}
	return float64(sum) / points
}

// With returns the model with another objective, which shares its tables.
func (m *Model) With(o hlem.Objective) *Model {
	copied := *m
	copied.objective = o
	if m.other != nil {
		other := *m.other
		other.objective = o
		copied.join(&other)
	}
	return &copied
}

// Kept keeps models, so that equal ones are built once. Each takes a megabyte.
type Kept[Key comparable] struct {
	Most  int // models; beyond them, all are forgotten
	mutex sync.Mutex
	built map[Key]*Model
}

// Model returns the model of a key, which build builds unless it is kept.
func (k *Kept[Key]) Model(key Key, build func() *Model) *Model {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if m, ok := k.built[key]; ok {
		return m
	}
	m := build()
	if k.built == nil || len(k.built) >= k.Most {
		k.built = map[Key]*Model{}
	}
	k.built[key] = m
	return m
}

// models has what NewCached has built.
var models = Kept[modelKey]{Most: 256}

type modelKey struct {
	recommender.Population
	hlem.Costs
	gpus   int
	memory int64
}

// NewCached is NewModel, except that equal models are shared.
func NewCached(p recommender.Population, c hlem.Costs, gpus int, memory int64) *Model {
	return models.Model(modelKey{p, c, gpus, memory}, func() *Model { return NewModel(p, c, gpus, memory) })
}

// build fills in the tables.
func (m *Model) build(shards []shard) {
	pages := math.Floor(m.memory / m.page)
	all := 0.0
	for _, s := range shards {
		all += s.count
	}
	for step := range hotSteps + 1 {
		at := m.when(float64(step) / hotSteps)
		m.missed[0][step] = misses{own: 1, other: 1}
		kvTime, embTime := 0.0, 0.0 // of the previous size
		for size := 1; size <= sizeSteps; size++ {
			room := pages * float64(size) / sizeSteps
			kvTime = solve(func(logTime float64) float64 { return at.users(logTime) - room }, kvTime)
			at.writeKV(&m.kv[size][step], kvTime)
			if room < all {
				embTime = solve(func(logTime float64) float64 {
					return occupied(shards, at.touches(logTime), at.others(logTime)) - room
				}, embTime)
				seen := min(embTime, lastTime) // a cache that is never full has shards that nobody ever draws: 0 times infinity
				missed := missedBy(shards, at.touches(seen), at.others(seen))
				missed.own *= at.untouched(seen)
				m.missed[size][step] = missed
			} else {
				embTime = math.Inf(1)
			}
			at.writeEMB(&m.emb[size][step], embTime)
		}
	}
}

// solve returns the logarithm of the time at which a rising function is 0, searched from a guess; +Inf if it stays
// below. It is the method of false position, in the version of Illinois.
func solve(f func(logTime float64) float64, guess float64) float64 {
	if guess > lastTime {
		return guess // +Inf: a larger cache
	}
	low, high := guess-1, guess+1
	below, above := f(low), f(high)
	for ; below >= 0 && low > 2*firstTime; below = f(low) {
		low, high, above = low-2, low, below
	}
	for ; above < 0; above = f(high) {
		if low, high, below = high, high+2, above; low > lastTime {
			return math.Inf(1)
		}
	}
	for range 60 {
		at := high - above*(high-low)/(above-below)
		if !(at > low && at < high) || high-low < 1e-9 {
			break
		}
		value := f(at)
		switch {
		case value == 0:
			return at
		case value < 0:
			low, below, above = at, value, above/2
		default:
			high, above, below = at, value, below/2
		}
	}
	return (low + high) / 2
}

// moment is the model at a share of requests of hot users.
type moment struct {
	*Model
	share [2]float64 // of the requests
	rate  [2]float64 // their logarithms
}

func (m *Model) when(hotShare float64) moment {
	shares := [2]float64{cold: 1 - hotShare, hot: hotShare}
	return moment{m, shares, [2]float64{math.Log(shares[0]), math.Log(shares[1])}}
}

// sum adds up a function of the users of each bin that requests come from.
func (m moment) sum(f func(b *bin, class int) float64) (sum float64) {
	for i := range m.bins {
		for class, share := range m.share {
			if share > 0 {
				sum += float64(f(&m.bins[i], class))
			}
		}
	}
	return sum
}

// users returns the pages of the users that make a request within a time.
func (m moment) users(logTime float64) float64 {
	return m.sum(func(b *bin, class int) float64 {
		return b.pages * b.scale[class] * b.users[class].active.at(logTime+m.rate[class])
	})
}

// touches returns the shards that owners draw within a time, each once per owner. A shard that a group has in common
// counts once for the group.
func (m moment) touches(logTime float64) float64 {
	all := m.owned(logTime)
	if m.common == 0 {
		return all
	}
	return float64((1-m.shared)*all) + float64(m.common*-math.Expm1(-m.shared*all/m.common))
}

func (m moment) owned(logTime float64) float64 {
	return m.sum(func(b *bin, class int) float64 {
		return b.ownShards * b.scale[class] * b.users[class].active.at(logTime+m.rate[class]+b.logTouched)
	})
}

// untouched returns the probability that nobody else in a user's group has drawn an own shard within a time.
func (m moment) untouched(logTime float64) float64 {
	if m.common == 0 {
		return 1
	}
	return 1 - m.shared + float64(m.shared*math.Exp(-m.shared*m.owned(logTime)/m.common))
}

// others returns the draws of other shards within a time.
func (m moment) others(logTime float64) float64 {
	each := m.sum(func(b *bin, class int) float64 {
		return m.share[class] * b.share[class] * (1 - m.own) * b.draws
	})
	if each == 0 {
		return 0
	}
	return each * math.Exp(logTime)
}

// writeKV writes the hits of each bin in a cache that holds the users of some time.
func (m moment) writeKV(hits *[mostBins]float64, logTime float64) {
	for i := range m.bins {
		b := &m.bins[i]
		for class, share := range m.share {
			if share > 0 {
				hits[i] += float64(share * b.scale[class] * b.users[class].hits.at(logTime+m.rate[class]))
			}
		}
	}
}

// writeEMB writes the requests of each bin whose users a cache has seen within some time.
func (m moment) writeEMB(to *[mostBins]recent, logTime float64) {
	for i := range m.bins {
		b := &m.bins[i]
		for class, share := range m.share {
			if share == 0 {
				continue
			}
			known := b.users[class].hits.at(logTime + m.rate[class])
			to[i].requests += float64(share * b.scale[class] * known)
			if !math.IsInf(logTime, 1) {
				touched := b.users[class].hits.at(logTime + m.rate[class] + b.logTouched)
				to[i].untouched += float64(share * b.scale[class] * max(0, known-touched))
			}
		}
	}
}
