package experts

import (
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/policies/shadow"
)

// Metrics of best.
var (
	leaderChanges = metric.Metric{Name: "best_changes", Unit: metric.Count,
		Doc: "how often the policy best has followed another of its policies than before"}
	changesPaid = metric.Metric{Name: "best_paid", Unit: metric.Count,
		Doc: "by how many misses the policies that best turned to were ahead, and how many of their entries were not " +
			"resident: at most so many misses more than the last of them"}
	sampledOneIn = metric.Metric{Name: "best_one_in", Unit: metric.Count, Merge: metric.Apart,
		Doc: "one of how many objects the policy best simulates its policies on"}
)

var bestEntry = policies.Entry{
	Name:   "best",
	Look:   policies.Look{Color: policies.Indigo, Mark: policies.Plus},
	Memory: policies.Memory{PerObject: 90, PerSlot: 40},
	Summary: "holds what the best of several policies would hold; another one is followed once it is ahead by more " +
		"misses than the change costs",
	Source: "cachesim; the rule as in Borodin, Linial and Saks, An Optimal On-Line Algorithm for Metrical Task System, " +
		"JACM 1992; directories as in Subramanian, Smaragdakis and Loh, Adaptive Caches, MICRO 2006",
	Random: true,
	Params: []policies.Param{
		{Name: "among", Default: "lirs/arc/s3fifo/w-tinylfu/lru", Doc: "online policies, with slashes between them; the " +
			"first is followed at the start"},
		{Name: "one-in", Default: 0, Min: 0, Max: 1 << 20, Doc: "the policies are simulated on one of so many objects; 0: " +
			"on as few as leave 1,024 in a directory, and by bytes on all"},
	},
	Check: func(v policies.Values) error {
		_, err := duelists(v.Text("among"))
		return err
	},
	Metrics: []metric.Metric{leaderChanges, changesPaid, sampledOneIn},
	New:     func(c policies.Config) (policies.Policy, error) { return newBest(c) },
}

// best follows the policy that leads a race. It evicts what the directory of that policy does not have. Where the race
// is on a sample of the objects, the policy that leads it has a directory of all objects besides.
type best struct {
	config    policies.Config
	specs     []policies.Spec
	sample    sample
	race      shadow.Race[*shadow.Directory]
	raced     int // objects of a sample for which the race has room
	followed  *shadow.Directory
	residents shadow.Residents
	charges   dense.Charges
}

// fewestSampled is how many objects a directory of a sample has room for, at least.
const fewestSampled = 1024

func newBest(c policies.Config) (*best, error) {
	specs, err := duelists(c.Params.Text("among"))
	if err != nil {
		return nil, err
	}
	b := &best{config: c, specs: specs, residents: shadow.NewResidents(c.Objects),
		charges: dense.NewCharges(c.Objects, c.Unit), sample: newSample(c)}
	all := make([]*shadow.Directory, len(specs))
	in := b.sample.config(c)
	for i := range specs {
		if all[i], err = newDirectory(specs[i], in); err != nil {
			return nil, err
		}
	}
	b.race = shadow.NewRace(all, in.Objects)
	return b, b.follow()
}

// newDirectory returns an empty directory of a policy.
func newDirectory(spec policies.Spec, c policies.Config) (*shadow.Directory, error) {
	c.Params, c.Key, c.Grows = spec.Params, nil, true
	p, err := spec.Entry.New(c)
	if err != nil {
		return nil, err
	}
	return shadow.New(spec.Name(), p, c)
}

func (b *best) Hit(r policies.Request) { b.serve(r) }

func (b *best) Miss(r policies.Request)     { b.serve(r) }
func (b *best) Proposed(r policies.Request) { b.serve(r) }

// serve shows a request or a load to the directories.
func (b *best) serve(r policies.Request) {
	if id, ok := b.sample.of(r.Object); ok {
		if b.sample.oneIn > 1 && b.sample.count > b.raced {
			b.raced = max(fewestSampled, 2*b.sample.count)
			b.race.Grow(b.raced)
		}
		sampled := r
		sampled.Object = id
		if b.race.Serve(sampled, b.sample.capacity(b.config.Capacity)) {
			b.change(r)
		}
	}
	if b.sample.oneIn > 1 {
		b.followed.Serve(r, b.config.Capacity)
	}
	b.release()
	if b.residents.Has(r.Object) {
		b.residents.Use(r.Object, b.followed.Has(r.Object))
	}
}

// change turns to another policy.
func (b *best) change(r policies.Request) {
	if err := b.follow(); err != nil {
		panic(err) // it has been made before
	}
	if b.sample.oneIn > 1 {
		load := r
		load.Reason, load.Write = policies.Restore, false
		b.residents.Each(func(o policies.Object) {
			load.Object, load.Size = o, b.charges.Of(o)
			b.followed.Serve(load, b.config.Capacity)
		})
	}
	b.residents.Follow(b.followed.Has)
}

// follow takes the directory of the policy that leads.
func (b *best) follow() (err error) {
	b.followed = b.race.Ahead()
	if b.sample.oneIn > 1 {
		b.followed, err = newDirectory(b.specs[b.race.Leader], b.config)
	}
	return err
}

// release notes what the policy that is followed holds no more.
func (b *best) release() {
	for _, o := range b.followed.Evicted() {
		b.residents.Release(o)
	}
}

func (b *best) Victim(policies.Request) policies.Object {
	v := b.residents.Victim() // the policy may hold it, where objects have different sizes
	b.forget(v)
	return v
}

func (b *best) Insert(r policies.Request) {
	b.charges.Set(r.Object, r.Size)
	b.residents.Use(r.Object, b.followed.Has(r.Object))
	if id, ok := b.sample.of(r.Object); ok {
		b.race.Enter(id)
	}
}

func (b *best) Remove(o policies.Object) {
	b.forget(o)
	if id, ok := b.sample.of(o); ok {
		b.race.Drop(id)
	}
	if b.sample.oneIn > 1 {
		b.followed.Drop(o)
	}
}

func (b *best) forget(o policies.Object) {
	b.residents.Take(o)
	if id, ok := b.sample.of(o); ok {
		b.race.Leave(id)
	}
}

// Resized implements policies.SizeFollower. The directories have followed the write itself, which they have seen
// whether the object was resident or not.
func (b *best) Resized(o policies.Object, size int64) { b.charges.Set(o, size) }

func (b *best) Resize(capacity int64) {
	b.config.Capacity = capacity
	b.race.Resize(b.sample.capacity(capacity))
	if b.sample.oneIn > 1 {
		b.followed.Resize(capacity)
	}
	b.release()
}

func (b *best) Grow(objects int) {
	b.config.Objects = max(b.config.Objects, objects)
	b.residents.Grow(objects)
	b.charges.Grow(objects)
	if b.sample.oneIn > 1 {
		b.followed.Grow(objects)
		b.sample.grow(objects)
	} else {
		b.race.Grow(objects)
	}
}

func (b *best) Counters() []policies.Counter {
	return []policies.Counter{policies.Count(leaderChanges, float64(b.race.Changes)),
		policies.Count(changesPaid, float64(b.race.Paid)*float64(b.sample.oneIn)),
		policies.Count(sampledOneIn, float64(b.sample.oneIn))}
}

// sample is the objects on which policies are simulated: one in a number of them, in caches that are smaller by that
// factor. They have numbers of their own, in the order in which they are met.
type sample struct {
	oneIn   int64
	seed    uint64
	numbers []uint32 // per object: its number, unmet or left out; nil if all are in the sample
	count   int
}

const (
	unmet   = ^uint32(0)
	leftOut = unmet - 1
)

// newSample returns the sample of a cache.
func newSample(c policies.Config) sample {
	s := sample{oneIn: int64(c.Params.Int("one-in")), seed: random.Scramble(c.Seed)}
	if s.oneIn == 0 {
		s.oneIn = 1
		if c.Unit {
			s.oneIn = max(1, c.Capacity/fewestSampled)
		}
	}
	if s.oneIn > 1 {
		s.grow(c.Objects)
	}
	return s
}

func (s *sample) grow(objects int) { s.numbers = dense.GrownWith(s.numbers, objects, unmet) }

// config returns the configuration of a cache that holds the sample.
func (s *sample) config(c policies.Config) policies.Config {
	if s.oneIn > 1 {
		c.Objects, c.Requests = 0, c.Requests/int(s.oneIn)
	}
	c.Capacity = s.capacity(c.Capacity)
	return c
}

// capacity returns the capacity of such a cache.
func (s *sample) capacity(of int64) int64 { return max(1, of/s.oneIn) }

// of returns the number of an object in the sample; ok is false if it is not in it.
func (s *sample) of(o policies.Object) (number policies.Object, ok bool) {
	if s.oneIn == 1 {
		return o, true
	}
	if s.numbers[o] == unmet {
		s.numbers[o] = leftOut
		if random.Scramble(s.seed^uint64(o))%uint64(s.oneIn) == 0 {
			s.numbers[o] = uint32(s.count)
			s.count++
		}
	}
	return s.numbers[o], s.numbers[o] != leftOut
}
