package experts

import (
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/shadow"
)

// duelSwitches says how often the duel has changed sides.
var duelSwitches = metric.Metric{Name: "duel_switches", Unit: metric.Count,
	Doc: "how often the policy duel has followed another of its policies than before"}

var duelEntry = policies.Entry{
	Name:   "duel",
	Look:   policies.Look{Color: policies.Violet, Mark: policies.Box},
	Memory: policies.Memory{PerObject: 75, PerSlot: 40},
	Summary: "holds what the one of several policies would hold that has missed least of late; each is simulated in a " +
		"directory of the cache's size",
	Source: "Subramanian, Smaragdakis and Loh, Adaptive Caches: Effective Shaping of Cache Behavior to Workloads, MICRO " +
		"2006",
	Params: []policies.Param{
		{Name: "among", Default: "arc/s3fifo/lru", Doc: "online policies, with slashes between them"},
		{Name: "margin", Default: 0.01, Min: 0, Max: 1, Doc: "share by which another policy must miss less to be followed"},
		{Name: "memory", Default: 2.0, Min: 0.01, Max: 1000, Doc: "requests over which misses count, as a multiple of the " +
			"objects in the cache; at least 2560"},
	},
	Check: func(v policies.Values) error {
		_, err := duelists(v.Text("among"))
		return err
	},
	Metrics: []metric.Metric{duelSwitches},
	New:     func(c policies.Config) (policies.Policy, error) { return newDuel(c) },
}

// duelists parses the policies of a duel.
func duelists(among string) (all []policies.Spec, err error) {
	for name := range strings.SplitSeq(among, "/") {
		spec, err := policies.Registry.Parse(name)
		if err != nil {
			return nil, fmt.Errorf("among=%s: %w", among, err)
		}
		e := spec.Entry
		if e.Kind != policies.Online || e.ShortFor != nil || e.Relates || e.Unbounded ||
			policies.Can[policies.PredictorUser](e) || e.Name == "duel" {
			return nil, fmt.Errorf("among=%s: %s cannot be tried in a small cache; want policies such as lru or arc", among,
				e.Name)
		}
		all = append(all, spec)
	}
	if len(all) < 2 {
		return nil, fmt.Errorf("among=%s: want two policies at least, with slashes between them", among)
	}
	return all, nil
}

// duel has a directory for each policy with what that policy would hold. It follows the one with the fewest misses: it
// evicts what that one does not hold. It has a shadow.Contest, where best has a shadow.Race, which has fewer hits in
// the units of igtcache (docs/policies-adaptive.md has figures).
type duel struct {
	config    policies.Config
	memory    float64
	contest   shadow.Contest
	all       []*shadow.Directory
	residents shadow.Residents
	resident  int // how many there are
}

// Misses are compared ten times in the requests over which they count, which are at least fewestRequests.
const (
	comparisons    = 10
	fewestRequests = 2560
)

func newDuel(c policies.Config) (*duel, error) {
	specs, err := duelists(c.Params.Text("among"))
	if err != nil {
		return nil, err
	}
	d := &duel{config: c, memory: c.Params.Float("memory"),
		contest:   shadow.NewContest(len(specs), c.Params.Float("margin"), comparisons),
		residents: shadow.NewResidents(c.Objects)}
	for _, spec := range specs {
		directory, err := newDirectory(spec, c)
		if err != nil {
			return nil, err
		}
		d.all = append(d.all, directory)
	}
	return d, nil
}

func (d *duel) Hit(r policies.Request) {
	d.residents.Use(r.Object, d.residents.IsHeld(r.Object))
	d.serve(r)
}

func (d *duel) Miss(r policies.Request)     { d.serve(r) }
func (d *duel) Proposed(r policies.Request) { d.serve(r) }

func (d *duel) Victim(policies.Request) policies.Object {
	v := d.residents.Victim() // the policy may hold it, where objects have different sizes
	d.forget(v)
	return v
}

func (d *duel) Insert(r policies.Request) {
	d.resident++
	d.residents.Use(r.Object, d.holds(r.Object))
}

func (d *duel) Remove(o policies.Object) {
	d.forget(o)
	for _, a := range d.all {
		a.Drop(o)
	}
}

// Resized implements policies.SizeFollower. The directories have followed the write itself, which they have seen
// whether the object was resident or not.
func (d *duel) Resized(policies.Object, int64) {}

func (d *duel) Resize(capacity int64) {
	d.config.Capacity = capacity
	for i, a := range d.all {
		a.Resize(capacity)
		if i == d.contest.Leader {
			d.leave(a.Evicted())
		}
	}
}

func (d *duel) Grow(objects int) {
	d.residents.Grow(objects)
	for _, a := range d.all {
		a.Grow(objects)
	}
}

func (d *duel) Counters() []policies.Counter {
	return []policies.Counter{policies.Count(duelSwitches, float64(d.contest.Changes))}
}

// serve shows a request or a load to the directories.
func (d *duel) serve(r policies.Request) {
	for i, a := range d.all {
		if !a.Serve(r, d.config.Capacity) && r.Reason == policies.Demand {
			d.contest.Miss(i)
		}
		if i == d.contest.Leader {
			d.leave(a.Evicted())
			if d.residents.Has(r.Object) && !d.residents.IsHeld(r.Object) && a.Has(r.Object) {
				d.residents.Use(r.Object, true)
			}
		}
	}
	if r.Reason == policies.Demand && d.contest.End(max(fewestRequests, int(d.memory*float64(d.resident)))) {
		d.residents.Follow(d.holds)
	}
}

// leave notes what the policy that is followed holds no more.
func (d *duel) leave(evicted []policies.Object) {
	for _, o := range evicted {
		d.residents.Release(o)
	}
}

// holds reports whether the policy that is followed holds an object.
func (d *duel) holds(o policies.Object) bool { return d.all[d.contest.Leader].Has(o) }

func (d *duel) forget(o policies.Object) {
	d.residents.Take(o)
	d.resident--
}
