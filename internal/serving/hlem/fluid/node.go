package fluid

import (
	"math"

	"github.com/cachesim/cachesim/internal/serving/hlem"
)

// kvAdapts is how much of the difference to its new hit ratio a KV cache gains per epoch after its users or its size
// have changed: a user is computed, and so loaded, only at the next request.
const kvAdapts = 0.5

// Node is a node over time. A smaller cache loses hits at once; a larger one gains them later: EMB at the speed at
// which shards are refilled and loaded by misses, KV by the next requests of its users. A queue goes on from one epoch
// to the next.
type Node struct {
	Refill    hlem.Refill
	Latencies *Latencies // sums up the latencies of the epochs from now on; may be nil
	Warm      float64    // the share of an epoch's requests that it leaves out

	model   *Model
	started bool
	emb     float64 // share of the memory that holds shards
	kvHit   float64
	queue   Queue
	lengths []float64 // a buffer
}

// NewNode returns a node that begins adapted to its first load.
func (m *Model) NewNode() *Node { return &Node{model: m} }

// Reset returns the node to its beginning.
func (n *Node) Reset() { *n = Node{model: n.model, Refill: n.Refill, Latencies: n.Latencies} }

// Epoch is what a node did in an epoch.
type Epoch struct {
	hlem.Window
	RefillBytes float64 // of the embeddings of the node that were refilled
	MissBytes   float64 // of the rows that requests missed
	Link        float64 // bytes per second of each GPU's link, both together, while embeddings are refilled
	Utilisation float64 // of the GPUs, at most 1
	Behind      float64 // seconds of work that wait at the end
	Rows        float64 // that a request reads
	Transfer    float64 // seconds of a request, on average,
	Compute     float64 // likewise,
	Waiting     float64 // and until it gets a GPU
	Unstable    bool    // more work came than the GPUs can do
}

// Step serves a load for an epoch of the objective at a ratio. It allocates nothing.
func (n *Node) Step(l hlem.Load, ratio float64) hlem.Window { return n.Run(l, ratio).Window }

// Run is Step with what else is known of the epoch.
func (n *Node) Run(l hlem.Load, ratio float64) Epoch {
	return n.RunFor(l, ratio, n.model.objective.Epoch.Seconds())
}

// RunFor is Run for an epoch that is cut off after some seconds.
func (n *Node) RunFor(l hlem.Load, ratio, seconds float64) (e Epoch) {
	n.model = n.model.of(l) // users and what they own are the same in both turns, and so is what is resident
	m := n.model
	target := m.kvHit(l, 1-ratio)
	fresh := !n.started
	if fresh {
		n.started, n.emb, n.kvHit = true, ratio, target
	}
	n.kvHit = min(target, n.kvHit+float64(kvAdapts*max(0, target-n.kvHit)))
	n.emb = min(n.emb, ratio)
	kv := min(1-ratio, invert(func(size float64) float64 { return m.kvHit(l, size) }, n.kvHit))

	var t tail
	filling, full := &t.mixtures[0], &t.mixtures[1]
	filled, refill := n.fill(l, ratio, kv, seconds, filling) // share of the epoch, bytes per second
	m.mix(l, sizes{n.emb, kv}, full)

	if filled > 0 {
		n.wait(&t, l.Rate, 0, filled*seconds, filled, fresh)
	}
	if filled < 1 {
		n.wait(&t, l.Rate, 1, (1-filled)*seconds, 1-filled, fresh && filled == 0)
	}
	t.build()

	mean := func(a, b float64) float64 { return float64(filled*a) + float64((1-filled)*b) }
	service := mean(filling.mean, full.mean)
	w := &e.Window
	w.Requests = int(math.Round(l.Rate * seconds))
	w.Rate, w.HotShare, w.Ratio, w.Objective = l.Rate, l.HotShare, ratio, m.objective
	w.KVHit, w.EMBHit = mean(filling.kvHit, full.kvHit), mean(filling.embHit, full.embHit)
	w.MeanTokens = m.meanTokens(l.HotShare) * m.lengths(l)
	w.P99 = t.quantile(0.01)
	e.Transfer = mean(sum(&filling.transfer), sum(&full.transfer))
	e.Compute = mean(sum(&filling.compute), sum(&full.compute))
	e.Waiting = t.waiting()
	w.Mean = service + e.Waiting
	w.Violations = t.above(m.objective.Latency.Seconds())
	if n.Latencies != nil {
		n.Latencies.add(&t, float64(l.Rate*seconds)*(1-n.Warm), w.Mean)
	}
	w.SlowEMB, w.SlowKV = t.slow(w.P99)
	w.SavedEMB, w.SavedKV = m.saved(l)
	w.Node = hlem.Node{Costs: m.costs, Servers: m.servers, Memory: int64(m.memory)}
	w.Lengths, w.Rows, w.Remote = n.lengthsOf(l), m.rows(l)/w.MeanTokens, m.remote
	e.RefillBytes = refill * float64(m.servers) * filled * seconds
	e.MissBytes = l.Rate * seconds * mean(filling.missed, full.missed) * float64(m.costs.RowBytes)
	e.Link = (refill + l.Rate*filling.missed*float64(m.costs.RowBytes)/float64(m.servers))
	if filled == 0 {
		e.Link = l.Rate * full.missed * float64(m.costs.RowBytes) / float64(m.servers)
	}
	utilisation := l.Rate * service / float64(m.servers)
	e.Behind = n.queue.Delay
	e.Rows = m.rows(l)
	e.Utilisation, e.Unstable = min(1, utilisation), utilisation >= 1
	return e
}

// lengthsOf returns the middles of the classes of length, if requests are equally many in each.
func (n *Node) lengthsOf(l hlem.Load) []float64 {
	m := n.model
	n.lengths = n.lengths[:0]
	longer := m.lengths(l)
	for i := range m.bins {
		b := &m.bins[i]
		n.lengths = append(n.lengths, (b.from+b.to)/2*longer)
	}
	return n.lengths
}

func sum(values *[steps]float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// Idle lets some seconds pass without requests: the queue drains, and EMB grows to a ratio. It returns the bytes that
// are refilled.
func (n *Node) Idle(ratio, seconds float64) (refilled float64) {
	q := &n.queue
	waited := min(q.Delay, seconds)
	q.Delay -= waited
	q.Wait = max(0, q.Wait-(seconds-waited))
	bytes := n.Refill.Rate(n.model.costs, 0) * float64(n.model.servers) * seconds
	gained := max(0, min(ratio-n.emb, bytes/n.model.memory))
	n.emb += gained
	return gained * n.model.memory
}

// fill lets EMB grow to a ratio within some seconds. It returns the share of them that this takes, the bytes per second
// that are refilled meanwhile, and the service times.
func (n *Node) fill(l hlem.Load, ratio, kv, seconds float64, x *mixture) (share, refill float64) {
	m := n.model
	grown := ratio - n.emb
	if grown <= 0 {
		return 0, 0
	}
	m.mix(l, sizes{n.emb, kv}, x)
	gpus := float64(m.servers)
	misses := l.Rate * x.missed * float64(m.costs.RowBytes) / gpus
	refill = n.Refill.Rate(m.costs, misses)
	loads := l.Rate * x.loads * m.page / gpus
	if refill+loads == 0 {
		share = 1
	} else {
		share = min(1, grown*m.memory/gpus/(refill+loads)/seconds)
	}
	gained := min(grown, (refill+loads)*share*seconds*gpus/m.memory)
	l.Refill += refill
	*x = mixture{}
	m.mix(l, sizes{n.emb + float64(gained/2), kv}, x) // half of the gain is there on average
	n.emb += gained
	return share, refill
}

// parts is into how many parts of equal length each of the two phases of an epoch is divided.
const parts = mostParts / 2

// wait lets the queue follow a load for some seconds, which are a share of an epoch, and adds that to the distribution
// of the latency.
func (n *Node) wait(t *tail, rate float64, mixture int, seconds, share float64, fresh bool) {
	m, x, q := n.model, &t.mixtures[mixture], &n.queue
	inflow := NewInflow(m.servers, rate*x.mean/float64(m.servers), x.drift(m.servers))
	if fresh {
		q.Begin(inflow)
	}
	for range parts {
		before := q.Delay
		q.Follow(inflow, seconds/parts)
		t.add(mixture, Queue{q.Busy, (before + q.Delay) / 2, q.Wait}, share/parts)
	}
}

func (t *tail) waiting() (mean float64) {
	for i := range t.n {
		q := t.queues[i]
		mean += float64(t.share[i] * (q.Delay + float64(q.Busy*q.Wait)))
	}
	return mean
}

// saved returns how many seconds a request of mean length saves by hits of each cache.
func (m *Model) saved(l hlem.Load) (emb, kv float64) {
	rows, tokens := m.rows(l), m.meanTokens(l.HotShare)*m.lengths(l)
	emb = m.costs.Transfer(rows, m.remote*rows, m.costs.PCIe)
	return emb, m.costs.Compute(tokens, false) - m.costs.Compute(tokens, true)
}

// rows returns the rows that a request reads on average.
func (m *Model) rows(l hlem.Load) (rows float64) {
	for i := range m.bins {
		b := &m.bins[i]
		rows += float64(m.share(b, l.HotShare) * b.draws)
	}
	return rows * m.rowsDrawn * m.lengths(l)
}
