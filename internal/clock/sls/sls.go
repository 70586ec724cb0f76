// Package sls models the time of SparseLengthsSum, the lookup of embedding vectors that dominates recommendation
// models: cached vectors are read from the memory of a GPU, the others are fetched from the memory of its host.
//
// The latency of a batch that runs alone is
//
//	launch + predictions + distinct misses x vector bytes / host rate + access + lookups x vector bytes / HBM bandwidth
//
// where the host rate is the bandwidth of the host's memory or, if that is less, the rate that the outstanding random
// accesses achieve with their access time (Little's law). The host's terms are left out if nothing is missing.
// Concurrent batches share both memories fairly, or queue for them, and a batch that finds a vector which another batch
// is still fetching waits for it.
package sls

import (
	"context"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/clock/event"
)

// Config are the constants of the model.
type Config struct {
	Launch      time.Duration // of a batch: fixed cost
	VectorBytes int64
	HBM         float64       // bytes per second
	Host        float64       // bytes per second of random reads
	Access      time.Duration // of one random access to the host's memory
	Outstanding int           // random accesses at once
	PredictRow  time.Duration // of the prediction for one key
	TrainUnit   float64       // nanoseconds of training per row, feature and tree
	InFlight    int           // batches that run at the same time, at least 1
	// a memory serves one batch after another; otherwise those that read from it share it equally
	Queued bool
	// Rate is of Poisson arrivals, batches per second; 0 means a closed loop, in which the next batch arrives when one is
	// done.
	Rate float64
	Seed uint64 // of the arrivals
}

// hostRate returns the bytes per second of random reads from the host's memory.
func (c Config) hostRate() float64 {
	return min(c.Host, float64(c.Outstanding)*float64(c.VectorBytes)/c.Access.Seconds())
}

// Batch is the result of a batch's lookup in the cache.
type Batch struct {
	Keys      []uint32 // that are looked up, with duplicates
	Missing   []uint32 // without duplicates; they are resident from now on
	Predicted int64    // keys for which the policy waited for predictions
	Trained   int64    // rows times features times trees of the training that it waited for
	Uncounted int      // keys at the start that belong to a warm-up
}

// Cache is the cache in the memory of the GPU. It is an interface so that tests of the model need no cache.
type Cache interface {
	// Lookup serves batch i. It is called once for each batch, in their order. The slices are valid until the next call.
	Lookup(i int) Batch
	// Worker receives the worker that makes predictions in the background, before the first Lookup.
	Worker(w *Worker)
}

// Worker makes predictions in the background, one batch of them at a time. The results of a batch are known when it is
// done.
type Worker struct {
	loop       *event.Loop
	predictRow time.Duration
	trainUnit  float64
	until      time.Duration
}

// Busy reports whether the results of the last batch are still outstanding.
func (w *Worker) Busy() bool { return w.loop.Now() < w.until }

// Start makes the worker, which must not be busy, predict this many keys.
func (w *Worker) Start(keys int) { w.until = event.Sum(w.loop.Now(), many(int64(keys), w.predictRow)) }

// Train makes the worker train a model of this many rows times features times trees, after its current work.
func (w *Worker) Train(work int64) {
	w.until = event.Sum(max(w.until, w.loop.Now()), event.Span(w.trainUnit*float64(work)))
}

// many returns the time of n things that each take the given time.
func many(n int64, each time.Duration) time.Duration { return event.Span(float64(n) * float64(each)) }

// Served says when a batch arrived and when its sums were ready.
type Served struct {
	Arrived, Done time.Duration
	// Delayed are the counted misses that found their vector being fetched by another batch. Of the lookups of a key in a
	// batch only the first one can miss.
	Delayed int64
}

// Run looks up the batches 0 to n-1 and returns when each was served. It stops early with ctx's error.
func Run(ctx context.Context, n int, cache Cache, c Config) ([]Served, error) {
	loop := &event.Loop{}
	m := &model{
		Config: c, loop: loop, cache: cache, served: make([]Served, n), fetchedBy: map[uint32]int{},
		slots: event.NewStation(loop, c.InFlight),
	}
	link := event.NewSharedLink
	if c.Queued {
		link = event.NewQueuedLink
	}
	m.hbm, m.host = link(loop, 0, c.HBM), link(loop, c.Access, c.hostRate())
	cache.Worker(&Worker{loop: loop, predictRow: c.PredictRow, trainUnit: c.TrainUnit})
	if c.Rate > 0 {
		event.Poisson(loop, n, c.Rate, c.Seed, m.request)
	} else {
		for range min(n, c.InFlight) {
			m.requestNext()
		}
	}
	err := loop.Run(ctx)
	return m.served, err
}

// model is one run.
type model struct {
	Config
	loop      *event.Loop
	cache     Cache
	served    []Served
	next      int // batch to request, in the closed loop
	slots     *event.Station
	hbm, host event.Link
	fetches   event.Fetches[int] // by batch
	fetchedBy map[uint32]int     // per key: the batch that fetches it or did; only with several batches in flight
	onTheWay  []uint32           // of the missing keys of a batch, those that another batch is fetching
}

// requestNext continues what waits for a batch when it is done.
func (m *model) requestNext() {
	if m.next < len(m.served) {
		m.next++
		m.request(m.next - 1)
	}
}

func (m *model) request(i int) {
	m.served[i].Arrived = m.loop.Now()
	m.slots.Acquire(func() { m.lookup(i) })
}

// lookup serves batch i, which has a slot.
func (m *model) lookup(i int) {
	b := m.cache.Lookup(i)
	keys := int64(len(b.Keys))
	// Its own misses, or the preparation if there are none; other batches are added below.
	waiting := 1
	arrived := func() {
		if waiting--; waiting == 0 {
			m.hbm.Transfer(keys*m.VectorBytes, func() { m.done(i) })
		}
	}
	// Before fetch, which records this batch: it must not wait for itself.
	fetching := m.fetching(b.Keys)
	for _, other := range fetching {
		waiting++
		m.fetches.Wait(other, arrived)
	}
	prepare := event.Sum(m.Launch, many(b.Predicted, m.PredictRow), event.Span(m.TrainUnit*float64(b.Trained)))
	missing := m.fetch(i, b.Missing)
	m.served[i].Delayed = m.delayed(b)
	if missing == 0 {
		m.loop.After(prepare, arrived)
		return
	}
	m.fetches.Begin(i, func(all func()) {
		m.loop.After(prepare, func() { m.host.Transfer(missing*m.VectorBytes, all) })
	}, arrived)
}

// fetching returns the batches that fetch some of the keys, without duplicates.
func (m *model) fetching(keys []uint32) (batches []int) {
	if m.InFlight == 1 {
		return nil
	}
	for _, key := range keys {
		if by, ok := m.fetchedBy[key]; ok && m.fetches.Fetching(by) && !slices.Contains(batches, by) {
			batches = append(batches, by)
		}
	}
	return batches
}

// fetch records that batch i fetches the keys, except those that another batch is fetching, and returns their number.
// The exceptions are in onTheWay then.
func (m *model) fetch(i int, keys []uint32) (n int64) {
	if m.InFlight == 1 {
		return int64(len(keys))
	}
	m.onTheWay = m.onTheWay[:0]
	for _, key := range keys {
		if by, ok := m.fetchedBy[key]; ok && m.fetches.Fetching(by) {
			m.onTheWay = append(m.onTheWay, key)
			continue
		}
		m.fetchedBy[key] = i
		n++
	}
	return n
}

// delayed returns how many of the keys in onTheWay are missed at a lookup that counts: the first one of the key.
func (m *model) delayed(b Batch) (n int64) {
	if b.Uncounted == len(b.Keys) {
		return 0
	}
	for _, key := range m.onTheWay {
		if !slices.Contains(b.Keys[:b.Uncounted], key) {
			n++
		}
	}
	return n
}

func (m *model) done(i int) {
	m.served[i].Done = m.loop.Now()
	m.slots.Release()
	if m.Rate == 0 {
		m.requestNext()
	}
}
