package modules

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/cachesim/cachesim/internal/base/sandbox"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/custom/events"
)

func (p *program) new(c policies.Config) (policies.Policy, error) {
	r := &running{program: p, config: c}
	options := events.Options{Name: "wasm(file=" + p.path + ")", Most: mostModules, Admits: p.has("admit"),
		Refuses: p.has("admit")}
	policy, err := events.New(c, options, func() (events.Outside, error) { return r, nil })
	if err != nil || p.has("clock") {
		return policy, err
	}
	if admitting, ok := policy.(*events.Admitting); ok {
		r.policy = admitting.Policy
		return &admittingModule{admitting, r}, nil
	}
	r.policy = policy.(*events.Policy)
	return &module{r.policy, r}, nil
}

// mostModules is how many instances a replay may have. Each takes about 400 KiB.
const mostModules = 4096

// The types of policies that need no times, and so have a batch path.
type (
	module struct {
		*events.Policy
		*running
	}
	admittingModule struct {
		*events.Admitting
		*running
	}
)

// running is an instance of a module: what is outside, for events. Its end may be called while another method runs.
type running struct {
	*program
	policy *events.Policy // of ReplayUnit
	config policies.Config

	mutex    sync.Mutex // held while the module runs
	ended    bool
	batches  bool // ReplayUnit has been called
	failed   bool // in ReplayUnit
	instance *sandbox.Instance
	take     sandbox.Driver
	replay   sandbox.Driver
	memory   []byte // of the driver
	buffer   int    // places in memory
	state    int
}

// Places of the driver's state, behind the first.
const (
	stateAt        = 0
	stateKind      = 4
	stateHits      = 8
	stateEvictions = 12
	stateWrong     = 16
	stateClocked   = 20
	stateAdmits    = 24
	stateUnit      = 28
	stateSteps     = 40
	stateMore      = 48
	stateRoom      = 56
)

// Begin implements events.Outside: it makes the instance, and says what that needs to know first.
func (r *running) Begin(*events.Options) (err error) {
	c := r.config
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", r.path, err)
		}
	}()
	if r.instance, err = r.module.Begin(context.Background()); err != nil {
		return err
	}
	if err := r.set(r.instance); err != nil {
		return err
	}
	r.take, r.replay = r.instance.Driver("take"), r.instance.Driver("replay")
	for name, to := range map[string]*int{"buffer": &r.buffer, "state": &r.state} {
		address, err := r.instance.Driver(name).Call()
		if err != nil {
			return err
		}
		*to = int(address)
	}
	r.memory = r.instance.DriverMemory()
	more := 16 * int64(c.Objects)
	r.put(stateSteps, uint64(r.steps))
	r.put(stateMore, uint64(more))
	r.put(stateRoom, uint64(c.Capacity))
	if r.has("clock") {
		r.memory[r.state+stateClocked] = 1
	}
	if r.has("admit") {
		r.memory[r.state+stateAdmits] = 1
	}
	unit := uint64(0)
	if c.Unit {
		unit = 1
		r.memory[r.state+stateUnit] = 1
	}
	for _, first := range []struct {
		name      string
		arguments []uint64
	}{{"seed", []uint64{c.Seed}}, {"grow", []uint64{uint64(c.Objects)}}, {"resize", []uint64{uint64(c.Capacity), unit}}} {
		r.instance.Refuel(more)
		if _, err := r.instance.Call(first.name, first.arguments...); err != nil {
			return err
		}
	}
	return nil
}

func (r *running) put(place int, x uint64) {
	binary.LittleEndian.PutUint64(r.memory[r.state+place:], x)
}
func (r *running) get(place int) uint32 { return binary.LittleEndian.Uint32(r.memory[r.state+place:]) }

// Close implements events.Outside. It does not wait for a module that runs.
func (r *running) Close() {
	end := func() {
		r.ended = true
		if r.instance != nil {
			r.instance.Close()
		}
		r.mutex.Unlock()
	}
	if r.mutex.TryLock() {
		end()
		return
	}
	go func() {
		r.mutex.Lock()
		end()
	}()
}

var errEnded = errors.New("the replay has ended")

// Take implements events.Outside.
func (r *running) Take(block []byte) error {
	_, err := r.Ask(block)
	return err
}

// Finish implements events.Outside. A module has seen all, and cannot tell anybody.
func (r *running) Finish() error { return nil }

// Ask implements events.Outside.
func (r *running) Ask(block []byte) (policies.Object, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.ended {
		return 0, errEnded
	}
	copy(r.memory[r.buffer:], block)
	answer, err := r.take.Call(uint64(len(block) / events.Length))
	if err != nil {
		e := events.Read(block[int(r.get(stateAt))*events.Length:])
		return 0, r.at(err, e.Pos, e.Object)
	}
	return policies.Object(answer), nil
}

// at says where the module has stopped.
func (r *running) at(err error, position int64, o policies.Object) error {
	name := [...]string{"", "hit", "miss", "insert", "remove", "resized", "resize", "grow", "victim",
		"admit"}[r.get(stateKind)]
	if o == policies.NoObject {
		return fmt.Errorf("%s %w; at request %d", name, err, position)
	}
	return fmt.Errorf("%s %w; of object %d, at request %d", name, err, o, position)
}

// ReplayUnit implements policies.UnitReplayer.
func (r *running) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for len(objects) > 0 && !r.failed && !r.ended {
		n := min(len(objects), blockObjects)
		err := r.replayBlock(objects[:n], first)
		if r.failed = err != nil; r.failed {
			r.policy.Fail(err)
			break
		}
		hits += int(r.get(stateHits))
		evictions += int(r.get(stateEvictions))
		objects, first = objects[n:], first+n
	}
	return hits, evictions
}

// blockObjects is how many requests of ReplayUnit the driver's buffer has room for.
const blockObjects = 2048 * events.Length / 4

// replayBlock serves requests in the driver, whose state then has the counts.
func (r *running) replayBlock(objects []policies.Object, first int) error {
	if !r.batches {
		r.batches = true
		if enough, err := r.instance.Driver("objects").Call(uint64(r.config.Objects)); err != nil || enough == 0 {
			return fmt.Errorf("the trace has %s; want fewer", show.Counted(r.config.Objects, "object"))
		}
		r.memory = r.instance.DriverMemory()
	}
	for i, o := range objects {
		binary.LittleEndian.PutUint32(r.memory[r.buffer+4*i:], o)
	}
	ok, err := r.replay.Call(uint64(len(objects)), uint64(r.config.Objects))
	at := int(r.get(stateAt))
	switch {
	case err != nil:
		return r.at(err, int64(first+at), objects[at])
	case ok == 0:
		return r.policy.Check(r.get(stateWrong), policies.Request{Object: objects[at], Pos: first + at})
	}
	return nil
}
