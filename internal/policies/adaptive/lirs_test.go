package adaptive

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// dump writes the stack, top first, with L for LIR, h for resident and g for evicted HIR objects, and then the queue.
func (p *lirs) dump() string {
	var s []string
	for _, o := range p.inStack() {
		s = append(s, fmt.Sprintf("%c%d", "-Lh?gr"[p.state[o]], o))
	}
	return strings.Join(s, " ") + " |" + strings.Trim(fmt.Sprint(policytest.Listed(&p.queue, lirsQueue)), "[]")
}

// inStack returns the objects in the stack, the top one first.
func (p *lirs) inStack() (objects []policies.Object) {
	for at := p.stack.End - 1; at >= p.stack.Tail; at-- {
		if o := p.stack.Log[at]; p.stack.Stamp[o] == at {
			objects = append(objects, o)
		}
	}
	return objects
}

// The four cases of Figure 2 of the paper, with two LIR objects and one HIR object in the cache.
func TestLIRSTransitions(t *testing.T) {
	for _, test := range []struct {
		name    string
		request policies.Object
		victims []policies.Object
		want    string
	}{
		{"LIR at the bottom: 3 and 2 are pruned below 1", 0, nil, "L0 L1 |3"},
		{"resident HIR in the stack: changes places with 0, 2 is pruned", 3, nil, "L3 L1 |0"},
		{"evicted HIR in the stack", 2, []policies.Object{3}, "L2 L1 |0"},
		{"object outside the stack", 4, []policies.Object{3}, "h4 L1 g3 g2 L0 |4"},
	} {
		d := policytest.Drive(t, "lirs", policies.Config{Capacity: 3, Unit: true, Objects: 5, Requests: 10})
		p := d.Policy.(*lirs)
		p.lirLimit = 2
		d.ServeAll(0, 1, 2, 1, 3, 1)
		if got := p.dump(); got != "L1 h3 g2 L0 |3" {
			t.Fatalf("before: %s", got)
		}
		_, victims := d.Serve(test.request, 1, 6)
		if got := p.dump(); got != test.want || !slices.Equal(victims, test.victims) {
			t.Errorf("%s: %s, victims %v; want %s, %v", test.name, got, victims, test.want, test.victims)
		}
	}
}

func TestLIRSRepeatedAtOnce(t *testing.T) {
	d := policytest.Drive(t, "lirs", policies.Config{Capacity: 4, Unit: true, Objects: 9, Requests: 9})
	p := d.Policy.(*lirs)
	d.ServeAll(0, 1, 2, 2)
	if got := p.dump(); got != "h2 L1 L0 |2" {
		t.Errorf("a request repeated at once moved 2 into the LIR set: %s", got)
	}
}

func TestLIRSBounds(t *testing.T) {
	for _, test := range []struct{ spec, want string }{
		{"lirs", "h8 h7 g6 g5 g4 g3 g2 L1 L0 |8 7"},
		{"lirs(stack=1.5)", "h8 h7 g6 g5 L1 L0 |8 7"},
		// Half the capacity allows two ghosts: the last two evicted.
		{"lirs(nonresident=0.5)", "h8 h7 g6 g5 L1 L0 |8 7"},
		// The stack holds the LIR set and two others; 7 left it before its eviction.
		{"lirs(stack=1)", "h8 h7 L1 L0 |8 7"},
	} {
		d := policytest.Drive(t, test.spec, policies.Config{Capacity: 4, Unit: true, Objects: 9, Requests: 9})
		d.ServeAll(0, 1, 2, 3, 4, 5, 6, 7, 8)
		if got := d.Policy.(*lirs).dump(); got != test.want {
			t.Errorf("%s: %s, want %s", test.spec, got, test.want)
		}
	}
}

func TestLIRSQueueSize(t *testing.T) {
	for _, test := range []struct {
		capacity int64
		hir      float64
		rule     string
		unit     bool
		want     int64
	}{
		{1, 0.01, "authors", true, 1}, {2, 0.01, "authors", true, 1}, {3, 0.01, "authors", true, 2},
		{100, 0.01, "authors", true, 2}, {350, 0.01, "authors", true, 3}, {100, 1, "authors", true, 99},
		{100, 0, "authors", true, 2}, {350, 0.01, "authors", false, 3}, {50, 0.01, "authors", false, 0},
		{1, 0.01, "caffeine", true, 1}, {3, 0.01, "caffeine", true, 1}, {100, 0.01, "caffeine", true, 1},
		{101, 0.01, "caffeine", true, 2}, {350, 0.01, "caffeine", true, 4}, {350, 0.01, "caffeine", false, 4},
	} {
		c := policies.Config{Capacity: test.capacity, Unit: test.unit, Params: policies.Values{"hir": test.hir,
			"rule": test.rule}}
		p := &lirs{lirsParts: lirsParts{config: c, capacity: c.Capacity}}
		if got := p.queueSize(); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
}

func (p *lirs) check(t rapid.TB, stored map[policies.Object]int64, sizes []int64) {
	var lir, stack, ghosts int64
	inStack := p.inStack()
	for _, o := range inStack {
		stack += sizes[o]
		switch _, resident := stored[o]; {
		case p.state[o] == lirsLIR && resident:
			lir += sizes[o]
		case p.state[o] == lirsGhost && !resident:
			ghosts += sizes[o]
		case p.state[o] != lirsHIR || !resident:
			t.Fatalf("object %d in the stack has state %d, resident %v", o, p.state[o], resident)
		}
	}
	if lir != p.lirSize || stack != p.stackSize || ghosts != p.ghostSize {
		t.Fatalf("LIR %d, stack %d, ghosts %d; counted %d, %d, %d", p.lirSize, p.stackSize, p.ghostSize, lir, stack, ghosts)
	}
	if lir > p.lirLimit || stack > p.stackLimit || ghosts > p.ghostLimit {
		t.Fatalf("over a limit: LIR %d of %d, stack %d of %d, ghosts %d of %d",
			lir, p.lirLimit, stack, p.stackLimit, ghosts, p.ghostLimit)
	}
	if n := len(inStack); n > 0 && p.state[inStack[n-1]] != lirsLIR {
		t.Fatalf("the bottom of the stack is not LIR: %s", p.dump())
	}
	for _, o := range policytest.Listed(&p.queue, lirsQueue) {
		if _, resident := stored[o]; !resident || p.state[o] != lirsHIR && p.state[o] != lirsHIROut {
			t.Fatalf("object %d in the queue has state %d, resident %v", o, p.state[o], resident)
		}
	}
	if n := len(inStack); n > 0 && p.stack.Stamp[inStack[n-1]] != p.stack.Tail || p.scan > p.stack.End {
		t.Fatalf("tail %d, scan %d, end %d of the log: %s", p.stack.Tail, p.scan, p.stack.End, p.dump())
	}
	for _, o := range inStack {
		if p.stack.Stamp[o] < p.scan && p.state[o] != lirsLIR {
			t.Fatalf("object %d below scan %d is not LIR: %s", o, p.scan, p.dump())
		}
	}
}

func TestLIRSInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		spec := rapid.SampledFrom([]string{"lirs", "lirs(stack=1)", "lirs(stack=1.5,nonresident=0.5,hir=0.2)", "lirs(hir=1)",
			"lirs(nonresident=0.3)"}).Draw(t, "spec")
		d := policytest.Drive(t, spec, w.Config)
		w.AfterEachRequest(t, d, func() { d.Policy.(*lirs).check(t, d.Stored, w.Sizes) })
	})
}

func TestLIRSRefusesABoundThatItDoesNotHave(t *testing.T) {
	_, err := policies.Registry.Parse("lirs(nonresident=2,rule=libcachesim)")
	must.Fail(t, err, "nonresident")
}

// What a hit pushes out of the queue leaves although the cache has room.
func TestLIRSDemotesOnAHitInTheQueue(t *testing.T) {
	d := policytest.Drive(t, "lirs(hir=0.5,stack=2,rule=libcachesim)", policies.Config{Capacity: 4, Unit: true,
		Objects: 6, Requests: 8})
	// 0 and 1 are LIR, 2 and 3 fill the queue. The hits on 0 and 1 prune 2 and 3 off the stack.
	d.ServeAll(0, 1, 2, 3, 0, 1)
	p := d.Policy.(*lirsDemoting)
	if p.state[2] != lirsHIROut || p.state[3] != lirsHIROut {
		t.Fatalf("states %v, want 2 and 3 in the queue alone", p.state)
	}
	// The hit on 2 demotes 0, which takes the place of 3 in the queue.
	p.Hit(policies.Request{Object: 2, Size: 1})
	if o, ok := p.Expired(0); !ok || o != 3 {
		t.Errorf("%d left (%v), want 3", o, ok)
	}
	want := []lirsState{lirsHIROut, lirsLIR, lirsHIR, lirsAbsent}
	if !slices.Equal(p.state[:4], want) {
		t.Errorf("states %v, want %v", p.state[:4], want)
	}
}
