// Package events connects the caches with a policy that runs elsewhere: in another process, or in a sandbox. The policy
// receives what happens in blocks of events, and is asked only when a victim is due; its answers are checked.
//
// Begin with New. What carries the blocks is an Outside. A policy that fails, or gives an answer that cannot be, ends
// the replay by Config.Life; until the replay notices, any resident is the victim.
package events

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// Kind says what an event is.
type Kind uint8

// The kinds of events. The last two are questions, which only the end of a block has.
const (
	Hit     Kind = 1 // a resident object is requested
	Miss    Kind = 2 // an object is requested, or to be loaded, that is not resident
	Insert  Kind = 3 // the object is resident from now on
	Remove  Kind = 4 // the object has left for another reason than the policy's choice
	Resized Kind = 5 // a write has given a resident object another size
	Resize  Kind = 6 // the cache has another capacity, which Size has
	Grow    Kind = 7 // from now on objects have numbers below Size
	Victim  Kind = 8 // which resident makes room for the object?
	Admit   Kind = 9 // is the object, which is missed, to be loaded? 0: no
)

// Length is that of an event in bytes.
const Length = 32

// Event is an event as a block has it, in this order, little endian: 1 byte each for the kind, the reason, whether the
// request writes (1), and a zero; 4 bytes for the object; 8 bytes each for size, time and position.
type Event struct {
	Kind   Kind
	Reason policies.Reason
	Write  bool
	Object policies.Object // NoObject where the event has none
	Size   int64           // what the object is charged, or see Kind
	Time   int64           // nanoseconds; 0 without a clock
	Pos    int64           // of the request in the trace; see policies.Request
}

// Read returns the event at the beginning of a block.
func Read(block []byte) Event {
	block = block[:Length]
	return Event{Kind(block[0]), policies.Reason(block[1]), block[2] != 0, binary.LittleEndian.Uint32(block[4:]),
		int64(binary.LittleEndian.Uint64(block[8:])), int64(binary.LittleEndian.Uint64(block[16:])),
		int64(binary.LittleEndian.Uint64(block[24:]))}
}

// Outside carries events to a policy and its answers back. The memory of a block is the caller's after each call.
type Outside interface {
	// Begin is called first. It may set options that only the policy knows.
	Begin(o *Options) error
	// Take hands over a block of events without questions.
	Take(block []byte) error
	// Ask hands over a block whose last event is a question, and returns the answer: NoObject if the policy says that it
	// has none.
	Ask(block []byte) (policies.Object, error)
	// Finish says that the replay is complete, after the last Take or Ask.
	Finish() error
	// Close releases everything. It is called once, perhaps from another goroutine and during one of the other methods,
	// which then returns an error.
	Close()
}

// Options say what a policy wants to receive, and may do.
type Options struct {
	Name     string // with which failures begin: that of the policy, with what tells it from others
	Most     int    // policies in a replay; 0: any number
	NoHits   bool   // Hit makes no difference to it
	NoMisses bool   // Miss makes no difference to it: it learns from Insert
	Admits   bool   // it is asked by Admit what to load
	// Refuses allows that it answers a question for a victim with the object that needs the room, which then is not
	// loaded.
	Refuses bool
}

// Policy is the policy of caches. It implements policies.Resizer, policies.SizeFollower and policies.Grower.
type Policy struct {
	outside Outside
	life    *policies.Life
	options Options
	block   []byte // events that have not been handed over; never full
	failed  bool
	// at has 1 + the place in residents of each object, 0 if it is not resident.
	at        []uint32
	residents []policies.Object
}

// Admitting is a Policy that implements policies.Admitter.
type Admitting struct{ *Policy }

// blockEvents is how many events a block has at most.
const blockEvents = 2048

// TypeOf returns the Type for an entry whose policies have these options.
func TypeOf(o Options) any {
	if o.Admits {
		return (*Admitting)(nil)
	}
	return (*Policy)(nil)
}

// New returns a policy. start connects it with what is outside, which is closed at the end of c.Life.
func New(c policies.Config, o Options, start func() (Outside, error)) (policies.Policy, error) {
	if c.Life == nil {
		return nil, errors.New("a policy from outside of the program works only in replays of traces")
	}
	if o.Most > 0 && c.Life.Ends() >= o.Most {
		return nil, fmt.Errorf("this cache needs more than %d policies, each of which would be a program of its own; "+
			"use one with fewer sets, pools, tiers or heads", o.Most)
	}
	outside, err := start()
	if err != nil {
		return nil, err
	}
	c.Life.AtEnd(outside.Close)
	if err := outside.Begin(&o); err != nil {
		return nil, err
	}
	p := &Policy{outside: outside, life: c.Life, options: o, block: make([]byte, 0, blockEvents*Length),
		at: make([]uint32, c.Objects)}
	c.Life.WhenDone(p.finish)
	if o.Admits {
		return &Admitting{p}, nil
	}
	return p, nil
}

// Outside makes it a policies.Outsider.
func (*Policy) Outside() {}

func (p *Policy) Hit(r policies.Request) {
	if !p.options.NoHits {
		p.add(Hit, r)
	}
}

func (p *Policy) Miss(r policies.Request) {
	if !p.options.NoMisses {
		p.add(Miss, r)
	}
}

func (p *Policy) Insert(r policies.Request) {
	p.residents = append(p.residents, r.Object)
	p.at[r.Object] = uint32(len(p.residents))
	p.add(Insert, r)
}

func (p *Policy) Remove(o policies.Object) {
	p.forget(o)
	p.add(Remove, policies.Request{Object: o})
}

func (p *Policy) Resized(o policies.Object, size int64) {
	p.add(Resized, policies.Request{Object: o, Size: size})
}

func (p *Policy) Resize(capacity int64) {
	p.add(Resize, policies.Request{Object: policies.NoObject, Size: capacity})
}

func (p *Policy) Grow(objects int) {
	p.at = dense.Grown(p.at, objects)
	p.add(Grow, policies.Request{Object: policies.NoObject, Size: int64(objects)})
}

// add appends an event to the block, which it hands over if it is full.
func (p *Policy) add(kind Kind, r policies.Request) {
	n := len(p.block)
	p.block = p.block[:n+Length]
	e := p.block[n:]
	_ = e[Length-1]
	write := uint32(0)
	if r.Write {
		write = 1 << 16
	}
	binary.LittleEndian.PutUint32(e, uint32(kind)|uint32(r.Reason)<<8|write)
	binary.LittleEndian.PutUint32(e[4:], r.Object)
	binary.LittleEndian.PutUint64(e[8:], uint64(r.Size))
	binary.LittleEndian.PutUint64(e[16:], uint64(r.Time))
	binary.LittleEndian.PutUint64(e[24:], uint64(r.Pos))
	if len(p.block) == cap(p.block) && kind < Victim {
		p.handOver()
	}
}

func (p *Policy) handOver() {
	if !p.failed {
		p.check(p.outside.Take(p.block))
	}
	p.block = p.block[:0]
}

// finish hands over what the policy has not seen at the end of the replay.
func (p *Policy) finish() {
	if len(p.block) > 0 {
		p.handOver()
	}
	if !p.failed {
		p.check(p.outside.Finish())
	}
}

// check ends the replay if there is an error, and returns whether there is none.
func (p *Policy) check(err error) bool {
	if err != nil && !p.failed {
		p.failed = true
		p.life.Fail(fmt.Errorf("policy %s: %w", p.options.Name, err))
	}
	return !p.failed
}

// ask hands over all events and a question. The answer is valid unless the policy has failed.
func (p *Policy) ask(kind Kind, r policies.Request) (answer policies.Object, ok bool) {
	p.add(kind, r)
	if !p.failed {
		var err error
		answer, err = p.outside.Ask(p.block)
		p.check(err)
	}
	p.block = p.block[:0]
	return answer, !p.failed
}

func (p *Policy) Victim(r policies.Request) policies.Object {
	o, ok := p.ask(Victim, r)
	if ok && o == r.Object && r.Reason != policies.Shrink && p.options.Refuses {
		return o
	}
	if !ok || !p.check(p.Check(o, r)) {
		o = p.residents[len(p.residents)-1]
	}
	p.forget(o)
	return o
}

// Fail ends the replay as an error of the Outside does.
func (p *Policy) Fail(err error) { p.check(err) }

// Check says what is wrong with a victim for a request; nil if it can be one.
func (p *Policy) Check(o policies.Object, r policies.Request) error {
	const want = "; want one that is"
	switch {
	case int(o) < len(p.at) && p.at[o] != 0:
		return nil
	case o == policies.NoObject:
		return fmt.Errorf("it evicts nothing where a victim is due, at request %d; want a resident object", r.Pos)
	case o == r.Object && !p.options.Refuses:
		return fmt.Errorf("it evicts object %d, which is not resident but needs the room, at request %d"+want, o, r.Pos)
	}
	return fmt.Errorf("it evicts object %d, which is not resident, at request %d"+want, o, r.Pos)
}

// forget removes an object from the residents.
func (p *Policy) forget(o policies.Object) {
	last := len(p.residents) - 1
	moved, at := p.residents[last], p.at[o]
	p.residents[at-1], p.at[moved] = moved, at
	p.at[o], p.residents = 0, p.residents[:last]
}

func (p *Admitting) Admit(r policies.Request) bool {
	answer, ok := p.ask(Admit, r)
	return !ok || answer != 0
}
