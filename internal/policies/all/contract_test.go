package all_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// step is one event at a cache: a request of the trace, or something that no request caused.
type step struct {
	kind   stepKind
	object policies.Object
	size   int64
	reason policies.Reason // of a load
	write  bool            // of a request
	amount int64           // the new capacity
}

type stepKind int

const (
	request stepKind = iota
	load
	drop
	resize
)

// script is a sequence of steps over a number of objects, for a cache that starts with a capacity.
type script struct {
	steps    []step
	objects  int
	capacity int64
	unit     bool
}

// drawScript draws requests with loads, drops and resizes between them. Where sizes count, some requests write, and
// give their objects other sizes: any, 1, or one that may be larger than the cache.
func drawScript(t *rapid.T, unit bool) script {
	s := script{objects: rapid.IntRange(1, 40).Draw(t, "objects"), unit: unit}
	s.capacity = s.drawCapacity(t)
	sizes := slices.Repeat([]int64{1}, s.objects)
	if !unit {
		sizes = rapid.SliceOfN(rapid.Int64Range(1, 12), s.objects, s.objects).Draw(t, "sizes")
	}
	others := rapid.IntRange(0, 100).Draw(t, "others") // percent of the steps that are not requests
	writes := rapid.IntRange(0, 60).Draw(t, "writes")  // percent of the requests
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	for range rapid.IntRange(1, 300).Draw(t, "steps") {
		o := policies.Object(float64(s.objects) * rng.Float64() * rng.Float64())
		next := step{kind: request, object: o}
		if next.write = !unit && rng.IntN(100) < writes; next.write {
			sizes[o] = 1 + rng.Int64N([]int64{1, 12, 12, 40, 400}[rng.IntN(5)])
		}
		next.size = sizes[o]
		if rng.IntN(100) < others {
			next.kind = stepKind(rng.IntN(4))
			next.reason = policies.Prefetch + policies.Reason(rng.IntN(2))
			next.amount = s.randomCapacity(rng)
		}
		s.steps = append(s.steps, next)
	}
	return s
}

func (s *script) drawCapacity(t *rapid.T) int64 {
	if s.unit {
		return rapid.Int64Range(1, 50).Draw(t, "capacity")
	}
	return rapid.Int64Range(1, 300).Draw(t, "capacity")
}

func (s *script) randomCapacity(rng *rand.Rand) int64 {
	if s.unit {
		return 1 + rng.Int64N(50)
	}
	return 1 + rng.Int64N(300)
}

// trace returns the requests of the trace alone.
func (s *script) trace() (objects []policies.Object) {
	for _, st := range s.steps {
		if st.kind == request {
			objects = append(objects, st.object)
		}
	}
	return objects
}

// driver is a cache that makes exactly the calls that the contract of a policy describes, and checks the answers.
type driver struct {
	fatalf   func(format string, args ...any)
	policy   policies.Policy
	capacity int64
	used     int64
	stored   map[policies.Object]int64
	pos      int                    // of the next request
	log      []string               // what happened
	changed  []policies.Object      // what was loaded or left
	told     func(size int64) int64 // what the policy is told of a size; nil: the size
}

// build makes a policy for a script. It starts with so many objects, and can grow if grows is set.
func build(fatalf func(string, ...any), e policies.Entry, s *script, objects int, grows bool) policies.Policy {
	spec, err := policies.Registry.Parse(policytest.Spec(e))
	if err != nil {
		fatalf("%v", err)
	}
	trace := s.trace()
	next := oracle.NextUse(trace, s.objects)
	config := policies.Config{
		Capacity: s.capacity, Unit: s.unit, Objects: objects, Requests: len(trace), Seed: 7, Params: spec.Params,
		Grows: grows,
	}
	if e.Kind == policies.Offline {
		config.NextUse = next
		if !grows { // a pool numbers its own objects
			config.Sequence = trace
		}
	}
	if policies.Can[policies.PredictorUser](e) {
		config.Predictor = noisy(fatalf, trace, next, s.objects)
	}
	if e.Relates {
		config.Relations = &policies.Relations{HitFrom: 2}
	}
	if policies.NeedsKeys(spec) {
		config.Key = func(o policies.Object) uint64 { return uint64(o) * 7919 % 10007 }
	}
	p, err := e.New(config)
	if err != nil {
		fatalf("%v", err)
	}
	return p
}

// noisy returns a predictor that gets every third answer wrong.
func noisy(fatalf func(string, ...any), trace []policies.Object, next []uint32, objects int) predict.Predictor {
	spec, err := predict.Registry.Parse("noisy(p=0.3)")
	if err != nil {
		fatalf("%v", err)
	}
	p, err := spec.Entry.New(predict.Config{
		Objects: trace, Count: objects, NextUse: next, Times: make([]int64, len(trace)), Seed: 7, Params: spec.Params,
		OptEvicts: func() []bool { return make([]bool, len(trace)) },
	})
	if err != nil {
		fatalf("%v", err)
	}
	return p
}

func newDriver(fatalf func(string, ...any), p policies.Policy, capacity int64) *driver {
	return &driver{fatalf: fatalf, policy: p, capacity: capacity, stored: map[policies.Object]int64{}}
}

func (d *driver) note(format string, args ...any) {
	d.log = append(d.log, fmt.Sprintf(format, args...))
}

func (d *driver) do(s step) {
	r := policies.Request{Object: s.object, Query: s.object, Pos: max(d.pos-1, 0), Size: s.size}
	switch s.kind {
	case request:
		r.Pos = d.pos
		d.pos++
		r.Time = int64(r.Pos) * 1e9
		d.expire(r.Time)
		if _, ok := d.stored[s.object]; ok {
			d.note("hit %d", s.object)
			if r.Write = s.write; r.Write {
				d.rewrite(r)
			} else {
				d.policy.Hit(d.tell(r))
			}
			break
		}
		d.note("miss %d", s.object)
		d.insert(r)
	case load:
		r.Reason = s.reason
		r.Time = int64(r.Pos) * 1e9
		if _, ok := d.stored[s.object]; !ok {
			d.insert(r)
		}
	case drop:
		if _, ok := d.stored[s.object]; ok {
			d.policy.Remove(s.object)
			d.remove(s.object)
		}
	case resize:
		d.resize(s.amount)
	}
	if d.used > d.capacity {
		d.fatalf("%d used of a capacity of %d", d.used, d.capacity)
	}
}

func (d *driver) tell(r policies.Request) policies.Request {
	if d.told != nil {
		r.Size = d.told(r.Size)
	}
	return r
}

func (d *driver) rewrite(r policies.Request) {
	if r.Size > d.capacity {
		d.policy.Remove(r.Object)
		d.remove(r.Object)
		return
	}
	d.policy.Hit(d.tell(r))
	was := d.stored[r.Object]
	d.stored[r.Object] = r.Size
	d.used += r.Size - was
	if p, ok := d.policy.(policies.SizeFollower); ok && was != r.Size {
		p.Resized(r.Object, r.Size)
	}
	d.makeRoom()
}

func (d *driver) expire(now int64) {
	e, ok := d.policy.(policies.Expirer)
	for ok {
		var o policies.Object
		if o, ok = e.Expired(now); ok {
			d.remove(o)
		}
	}
}

func (d *driver) insert(r policies.Request) {
	if r.Size > d.capacity {
		return
	}
	told := d.tell(r)
	d.policy.Miss(told)
	if a, ok := d.policy.(policies.Admitter); ok && !a.Admit(told) {
		return
	}
	for d.used+r.Size > d.capacity {
		v := d.policy.Victim(told)
		if v == r.Object {
			d.note("refused %d", v)
			return
		}
		d.remove(v)
	}
	d.policy.Insert(told)
	d.stored[r.Object] = r.Size
	d.used += r.Size
	d.changed = append(d.changed, r.Object)
}

func (d *driver) resize(capacity int64) {
	if p, ok := d.policy.(policies.Resizer); ok {
		p.Resize(capacity)
	}
	d.capacity = capacity
	d.makeRoom()
}

func (d *driver) makeRoom() {
	for d.used > d.capacity {
		d.remove(d.policy.Victim(policies.Request{
			Object: policies.NoObject, Query: policies.NoObject, Pos: max(d.pos-1, 0), Reason: policies.Shrink,
		}))
	}
}

func (d *driver) remove(o policies.Object) {
	size, ok := d.stored[o]
	if !ok {
		d.fatalf("object %d leaves, which is not resident", o)
	}
	d.note("out %d", o)
	d.changed = append(d.changed, o)
	d.used -= size
	delete(d.stored, o)
}

// forEach checks a property of every policy, with every unit of capacity that it works in.
func forEach(t *testing.T, property func(t *rapid.T, e policies.Entry, s script)) {
	for _, unit := range []bool{true, false} {
		t.Run(fmt.Sprintf("bytes=%t", !unit), func(t *testing.T) {
			policytest.ForEach(t, !unit, func(t *testing.T, e policies.Entry) {
				rapid.Check(t, func(t *rapid.T) { property(t, e, drawScript(t, unit)) })
			})
		})
	}
}

// play takes the steps of a script and returns what happened.
func play(t *rapid.T, e policies.Entry, s script, steps []step) []string {
	d := newDriver(t.Fatalf, build(t.Fatalf, e, &s, s.objects, false), s.capacity)
	for _, st := range steps {
		d.do(st)
	}
	return d.log
}

// TestSuiteAnySteps checks that every policy keeps its contract under requests, loads, drops and resizes in any order,
// and does the same every time.
func TestSuiteAnySteps(t *testing.T) {
	forEach(t, func(t *rapid.T, e policies.Entry, s script) {
		if first, second := play(t, e, s, s.steps), play(t, e, s, s.steps); !slices.Equal(first, second) {
			t.Fatalf("two replays differ:\n%q\n%q", first, second)
		}
	})
}

// TestSuiteGrown compares a policy that learns of its objects gradually with one that has room for all from the start.
func TestSuiteGrown(t *testing.T) {
	forEach(t, func(t *rapid.T, e policies.Entry, s script) {
		if e.Kind == policies.Offline && e.Relates {
			return // needs the sequence of requests, which names all objects
		}
		all := newDriver(t.Fatalf, build(t.Fatalf, e, &s, s.objects, true), s.capacity)
		objects := rapid.IntRange(1, 2).Draw(t, "objects at first")
		policy := build(t.Fatalf, e, &s, objects, true)
		grown := newDriver(t.Fatalf, policy, s.capacity)
		for _, st := range s.steps {
			for int(st.object) >= objects {
				objects *= 2
				policy.(policies.Grower).Grow(objects)
			}
			all.do(st)
			grown.do(st)
		}
		if !slices.Equal(all.log, grown.log) {
			t.Fatalf("grown:\n%q\nwith room for all:\n%q", grown.log, all.log)
		}
	})
}

// TestSuiteSameCapacity resizes to the same capacity, which must change nothing.
func TestSuiteSameCapacity(t *testing.T) {
	forEach(t, func(t *rapid.T, e policies.Entry, s script) {
		capacity := s.capacity
		var resized []step
		for i, st := range s.steps {
			if st.kind == resize {
				capacity = st.amount
			}
			resized = append(resized, st)
			if i%3 == 0 {
				resized = append(resized, step{kind: resize, amount: capacity})
			}
		}
		if plain, got := play(t, e, s, s.steps), play(t, e, s, resized); !slices.Equal(plain, got) {
			t.Fatalf("resized to the same capacity:\n%q\nnot resized:\n%q", got, plain)
		}
	})
}

// TestSuiteShrinkToOne shrinks a cache to one object, or one byte, and then lets it grow until all objects fit. From
// then on it must keep what it loads.
func TestSuiteShrinkToOne(t *testing.T) {
	forEach(t, func(t *rapid.T, e policies.Entry, s script) {
		d := newDriver(t.Fatalf, build(t.Fatalf, e, &s, s.objects, false), s.capacity)
		half := len(s.steps) / 2
		for _, st := range s.steps[:half] {
			d.do(st)
		}
		d.do(step{kind: resize, amount: 1})
		if len(d.stored) > 1 {
			t.Fatalf("%d objects in a cache of 1", len(d.stored))
		}
		d.do(step{kind: resize, amount: 100_000}) // a part of it is room for all, too: some policies refuse what is larger
		for _, st := range s.steps[half:] {
			if st.kind == resize || st.kind == drop {
				continue
			}
			d.do(st)
			if loaded := d.stored[st.object] != 0; loaded == e.Idle {
				t.Fatalf("object %d is not loaded into a cache with room for all", st.object)
			}
		}
	})
}

// TestSuiteFollowsSizes tells policies that are no followers of sizes random ones, which must change nothing.
func TestSuiteFollowsSizes(t *testing.T) {
	policytest.ForEach(t, true, func(t *testing.T, e policies.Entry) {
		rapid.Check(t, func(t *rapid.T) {
			s := drawScript(t, false)
			plain := newDriver(t.Fatalf, build(t.Fatalf, e, &s, s.objects, false), s.capacity)
			if _, ok := plain.policy.(policies.SizeFollower); ok {
				return
			}
			wrong := newDriver(t.Fatalf, build(t.Fatalf, e, &s, s.objects, false), s.capacity)
			rng := rand.New(rand.NewPCG(1, 2))
			wrong.told = func(int64) int64 { return 1 + rng.Int64N(300) }
			for _, st := range s.steps {
				plain.do(st)
				wrong.do(st)
			}
			if !slices.Equal(plain.log, wrong.log) {
				t.Fatalf("%T is no SizeFollower, but follows sizes: with those of the trace\n%q\nwith others\n%q", plain.policy,
					plain.log, wrong.log)
			}
		})
	})
}

// TestSuiteResizedAsLoaded loads objects into a cache with room for all and then writes each with another size, or
// loads them with that size and writes it again: when the cache shrinks, and from then on, both must do the same.
func TestSuiteResizedAsLoaded(t *testing.T) {
	policytest.ForEach(t, true, func(t *testing.T, e policies.Entry) {
		if e.Kind == policies.Offline {
			t.Skip("ties go to the size class that came first; TestOfflineVictims checks the victims")
		}
		rapid.Check(t, func(t *rapid.T) {
			s := drawScript(t, false)
			const room = 1 << 20
			capacity := s.capacity
			s.capacity = room
			first, last := map[policies.Object]int64{}, map[policies.Object]int64{}
			var begin, other []step
			for _, st := range s.steps {
				first[st.object] = 1 + int64(st.object)%9
				last[st.object] = st.size
			}
			for o := range policies.Object(s.objects) {
				if last[o] == 0 {
					continue
				}
				load := step{kind: request, object: o, size: first[o]}
				write := step{kind: request, object: o, size: last[o], write: true}
				begin = append(begin, load, write)
				load.size = last[o]
				other = append(other, load, write)
			}
			shrink := step{kind: resize, amount: capacity}
			steps := s.steps
			s.steps = slices.Concat(begin, []step{shrink}, steps)
			resized := newDriver(t.Fatalf, build(t.Fatalf, e, &s, s.objects, false), room)
			loaded := newDriver(t.Fatalf, build(t.Fatalf, e, &s, s.objects, false), room)
			for i := range s.steps {
				resized.do(s.steps[i])
				if i < len(other) {
					loaded.do(other[i])
				} else {
					loaded.do(s.steps[i])
				}
			}
			if !slices.Equal(resized.log, loaded.log) {
				t.Fatalf("resized:\n%q\nloaded with that size:\n%q", resized.log, loaded.log)
			}
		})
	})
}

// TestSuiteServesUnits compares the batch path of pools with the calls one by one. Loads, drops and resizes are between
// the batches.
func TestSuiteServesUnits(t *testing.T) {
	policytest.ForEach(t, false, func(t *testing.T, e policies.Entry) {
		rapid.Check(t, func(t *rapid.T) {
			s := drawScript(t, true)
			server, ok := build(t.Fatalf, e, &s, s.objects, false).(policies.UnitServer)
			if !ok {
				return
			}
			single := newDriver(t.Fatalf, build(t.Fatalf, e, &s, s.objects, false), s.capacity)
			batches := newDriver(t.Fatalf, server, s.capacity)
			var batch []policies.Object
			for _, st := range s.steps {
				single.do(st)
				if st.kind == request {
					batch = append(batch, st.object)
					continue
				}
				batches.serveUnit(server, batch)
				batch = batch[:0]
				batches.do(st)
			}
			batches.serveUnit(server, batch)
			if !maps.Equal(single.stored, batches.stored) || !slices.Equal(single.changed, batches.changed) {
				t.Fatalf("one by one %v are resident after the changes %v, with batches %v after %v", single.stored,
					single.changed, batches.stored, batches.changed)
			}
		})
	})
}

// serveUnit serves requests in a batch.
func (d *driver) serveUnit(p policies.UnitServer, objects []policies.Object) {
	resident := make([]bool, 50)
	for o := range d.stored {
		resident[o] = true
	}
	room, changed := p.ServeUnit(objects, resident, d.capacity-d.used, nil)
	d.changed = append(d.changed, changed...)
	for _, o := range changed {
		if d.stored[o] == 0 {
			d.stored[o] = 1
		} else {
			delete(d.stored, o)
		}
	}
	for o, is := range resident {
		if is != (d.stored[policies.Object(o)] == 1) {
			d.fatalf("object %d is resident: %t, after the changes %v", o, is, d.changed)
		}
	}
	d.used = int64(len(d.stored))
	if d.used != d.capacity-room {
		d.fatalf("%d objects are resident, but room for %d of %d is left", d.used, room, d.capacity)
	}
	d.pos += len(objects)
}
