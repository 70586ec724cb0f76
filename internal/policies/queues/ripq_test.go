package queues

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestRIPQExamples(t *testing.T) {
	for _, test := range []struct {
		name  string
		trace []uint32
		want  []uint32 // victims in order
	}{
		// Of four blocks of 1, one is open and one virtual.
		{"unrequested objects leave in order", []uint32{0, 1, 2, 3, 4, 5}, []uint32{0, 1}},
		// 0 is written again when its block is evicted.
		{"a requested object moves up", []uint32{0, 1, 0, 2, 3, 4, 5}, []uint32{1, 2}},
	} {
		policytest.CheckExample(t, test.name, "ripq(segments=1,blocks=4)", 4, test.trace, test.want)
	}
}

// Object 0 is requested every third time, the others once.
func TestRIPQKeepsWhatIsRequestedOften(t *testing.T) {
	c := policies.Config{Capacity: 32, Objects: 400, Requests: 570}
	d := drained{policytest.Drive(t, "ripq(segments=2,blocks=8,algorithm=gdsf)", c)}
	for i := range 570 {
		o, size := policies.Object(i*2/3+1), int64(2)
		if i%3 == 0 {
			o, size = 0, 1
		}
		if hit, _ := d.Serve(o%400, size, i); hit != (o == 0 && i > 0) {
			t.Fatalf("request %d to object %d: hit %v", i, o, hit)
		}
	}
}

// naiveRIPQ adds up what counts in a block whenever it needs that.
type naiveRIPQ struct {
	capacity, share, size int64
	sizes                 []int64 // per object
	sections              []*naiveRIPQSection
	written, place        map[policies.Object]*naiveRIPQBlock
	late                  []policies.Object
}

type naiveRIPQSection struct {
	open, virtual *naiveRIPQBlock
	closed        []*naiveRIPQBlock // the oldest first
}

type naiveRIPQBlock struct {
	objects []policies.Object // written here, the oldest first
	section int
	virtual bool
}

func newNaiveRIPQ(capacity int64, sizes []int64, segments, blocks int64) *naiveRIPQ {
	c := &naiveRIPQ{capacity: capacity, sizes: sizes, size: max(1, capacity/blocks),
		written: map[policies.Object]*naiveRIPQBlock{}, place: map[policies.Object]*naiveRIPQBlock{}}
	c.share = max(0, capacity/segments-2*c.size)
	for s := range int(segments) {
		c.sections = append(c.sections, &naiveRIPQSection{
			open: &naiveRIPQBlock{section: s}, virtual: &naiveRIPQBlock{section: s, virtual: true}})
	}
	return c
}

func (c *naiveRIPQ) filled(blocks ...*naiveRIPQBlock) (sum int64) {
	for o, b := range c.place {
		if slices.Contains(blocks, b) {
			sum += c.sizes[o]
		}
	}
	return sum
}

func (c *naiveRIPQ) used() (sum int64) {
	for o := range c.place {
		sum += c.sizes[o]
	}
	return sum
}

func (c *naiveRIPQ) Serve(o policies.Object, size int64, _ int) (hit bool, victims []policies.Object) {
	victims, c.late = c.late, nil
	last := len(c.sections) - 1
	if at := c.place[o]; at != nil {
		up := max(0, at.section-1)
		if b := c.written[o]; b == c.sections[b.section].open {
			b.objects = policytest.Without(b.objects, o)
			delete(c.place, o)
			c.write(o, up)
			return true, victims
		}
		c.place[o] = c.sections[up].virtual
		for c.filled(c.sections[up].virtual) > c.size {
			c.closeVirtual(up)
			c.settle(up)
		}
		return true, victims
	}
	if c.used()+size > c.capacity {
		c.makeRoom(last, size)
	}
	for c.used()+size > c.capacity {
		c.evictLast()
	}
	victims, c.late = append(victims, c.late...), nil
	c.write(o, last)
	return false, victims
}

func (c *naiveRIPQ) write(o policies.Object, section int) {
	c.makeRoom(section, c.sizes[o])
	b := c.sections[section].open
	b.objects = append(b.objects, o)
	c.written[o], c.place[o] = b, b
}

func (c *naiveRIPQ) makeRoom(section int, size int64) {
	for s := c.sections[section]; c.filled(s.open)+size > c.size; {
		s.closed = append(s.closed, s.open)
		s.open = &naiveRIPQBlock{section: section}
		c.closeVirtual(section)
		c.settle(section)
	}
}

func (c *naiveRIPQ) closeVirtual(section int) {
	s := c.sections[section]
	s.closed = append(s.closed, s.virtual)
	s.virtual = &naiveRIPQBlock{section: section, virtual: true}
}

func (c *naiveRIPQ) settle(section int) {
	c.balance(section)
	last := len(c.sections) - 1
	for c.filled(c.sections[last].closed...) > c.share {
		c.evict(last)
	}
}

func (c *naiveRIPQ) balance(section int) {
	for i := section; i < len(c.sections)-1; i++ {
		for s := c.sections[i]; c.filled(s.closed...) > c.share; s.closed = s.closed[1:] {
			s.closed[0].section = i + 1
			c.sections[i+1].closed = append(c.sections[i+1].closed, s.closed[0])
		}
	}
}

func (c *naiveRIPQ) evict(section int) {
	s := c.sections[section]
	b := s.closed[0]
	s.closed = s.closed[1:]
	moved := map[policies.Object]*naiveRIPQBlock{}
	for _, o := range b.objects {
		moved[o] = c.place[o]
		delete(c.place, o)
		delete(c.written, o)
	}
	for _, o := range b.objects {
		if moved[o] == b {
			c.late = append(c.late, o)
		} else {
			c.write(o, moved[o].section)
		}
	}
	c.balance(0)
}

func (c *naiveRIPQ) evictLast() {
	for i := len(c.sections) - 1; i >= 0; i-- {
		if len(c.sections[i].closed) > 0 {
			c.evict(i)
			return
		}
	}
	for i, s := range c.sections {
		s.closed = append(s.closed, s.open)
		s.open = &naiveRIPQBlock{section: i}
		c.closeVirtual(i)
	}
}

func TestRIPQEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		segments := rapid.Int64Range(1, 3).Draw(t, "segments")
		want := newNaiveRIPQ(w.Config.Capacity, w.Sizes, segments, 8)
		for o := range w.Sizes {
			w.Sizes[o] = min(w.Sizes[o], want.size) // larger ones are not admitted
		}
		spec := map[int64]string{1: "ripq(segments=1,blocks=8,rule=lsm-sim)", 2: "ripq(segments=2,blocks=8,rule=lsm-sim)",
			3: "ripq(segments=3,blocks=8,rule=lsm-sim)"}[segments]
		got := drained{policytest.Drive(t, spec, w.Config)}
		for i, o := range w.Trace {
			hit, victims := got.Serve(o, w.Sizes[o], i)
			wantHit, wantVictims := want.Serve(o, w.Sizes[o], i)
			slices.Sort(victims)
			slices.Sort(wantVictims)
			if hit != wantHit || !slices.Equal(victims, wantVictims) {
				t.Fatalf("request %d (object %d): hit %v, victims %v; want hit %v, victims %v", i, o, hit, victims, wantHit,
					wantVictims)
			}
		}
	})
}
