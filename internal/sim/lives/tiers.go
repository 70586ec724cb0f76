package lives

import (
	"errors"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// Metrics of the lives of objects in a tier: from when they come to it until they leave it, up, down or for good.
var (
	tierAge = measuredIn("tier_evicted_age", "median time from when an object came to a tier until the tier evicted it, "+
		"whether it went down or left")
	tierIdle = measuredIn("tier_evicted_idle", "median time from the last hit of an object in a tier, or when it came "+
		"there, until the tier evicted it")
	tierNeverHit = metric.Metric{Name: "tier_never_hit", Unit: metric.Share, Digits: 2, Better: metric.Lower,
		Labels: "tier", Merge: metric.Apart, Doc: "share of the objects that left a tier without a hit there"}
	tierDead = metric.Metric{Name: "tier_dead_share", Unit: metric.Share, Digits: 2, Better: metric.Lower,
		Labels: "tier", Merge: metric.Apart,
		Doc: "share of the room of objects in a tier, over the requests that they stay, after their last hit there"}
)

func measuredIn(name, doc string) measured {
	m := func(unit, suffix string, of metric.Metric) metric.Metric {
		of.Name, of.Labels, of.Merge, of.Doc = name+suffix, "tier", metric.Apart, doc+", in "+unit
		return of
	}
	return measured{m("seconds", "_s", metric.Metric{Unit: metric.Seconds, Digits: 2}),
		m("requests", "_requests", metric.Metric{Unit: metric.Count, Fractions: true})}
}

func init() {
	metric.Register("run --lives", append(append(tierAge.both(), tierIdle.both()...), tierNeverHit, tierDead)...)
}

// CheckTiers rejects tiers whose objects cannot be followed; t is nil as long as the trace is not known.
func CheckTiers(e *cache.Entry, prefetches bool, t *traces.Trace) error {
	switch {
	case e.Tiers == nil:
		return nil
	case prefetches:
		return errors.New("objects are not followed where a prefetcher loads into tiers; remove --prefetch")
	case t != nil && prompts.Of(t.Kind) != nil:
		return errors.New("blocks of prompts are not followed in tiers; use --cache prefix")
	}
	return nil
}

// tiersOf are the watches of tiers. An object that leaves one may come to another with the same request: it leaves the
// cache if none has it when the request has been served.
type tiersOf struct {
	watches []*Watch
	names   []string
	held    []uint8 // per object: how many tiers have it
	leaving []departing
}

// departing is an object that no tier has.
type departing struct {
	object policies.Object
	size   int64
	why    cache.Departure
}

// OfTier implements cache.TierObserver.
func (w *Watch) OfTier(at int, name string) cache.LoadObserver {
	if w.tiers == nil {
		w.tiers = &tiersOf{}
	}
	if at == 0 { // the first tier of an empty cache
		clear(w.tiers.held)
		w.tiers.leaving = nil
	}
	if at == len(w.tiers.watches) {
		w.tiers.watches, w.tiers.names = append(w.tiers.watches, NewWatch(w.sizes)), append(w.tiers.names, name)
	}
	return tierWatch{w, w.tiers.watches[at]}
}

// HitIn implements cache.TierObserver.
func (w *Watch) HitIn(at int, o policies.Object) {
	w.Hit(o)
	w.tiers.watches[at].Hit(o)
}

// Moved implements cache.TierObserver.
func (w *Watch) Moved() {
	if w.tiers == nil {
		return
	}
	for _, d := range w.tiers.leaving {
		if w.tiers.held[d.object] == 0 {
			w.Left(d.object, d.size, d.why)
		}
	}
	w.tiers.leaving = w.tiers.leaving[:0]
}

// tierWatch is the watch of a tier, which also says what becomes of the whole cache.
type tierWatch struct{ whole, own *Watch }

func (t tierWatch) Loaded(o policies.Object, size int64, why policies.Reason) {
	t.own.Loaded(o, size, why)
	tiers := t.whole.tiers
	if more := int(o) + 1 - len(tiers.held); more > 0 {
		tiers.held = append(tiers.held, make([]uint8, more)...)
	}
	tiers.held[o]++
	for _, d := range tiers.leaving {
		if d.object == o {
			return // it has moved
		}
	}
	if tiers.held[o] == 1 {
		t.whole.Loaded(o, size, why)
	}
}

func (t tierWatch) Left(o policies.Object, size int64, why cache.Departure) {
	t.own.Left(o, size, why)
	tiers := t.whole.tiers
	if tiers.held[o]--; tiers.held[o] > 0 {
		return
	}
	if why == cache.Expired {
		t.whole.Left(o, size, why)
		return
	}
	tiers.leaving = append(tiers.leaving, departing{o, size, why})
}

// addTiers adds the metrics of the tiers.
func (w *Watch) addTiers(v *metric.Values) {
	if w.tiers == nil {
		return
	}
	for i, of := range w.tiers.watches {
		d, name := &of.sum, w.tiers.names[i]
		seconds := of.timed()
		for _, times := range []timed{{tierAge.of(seconds), &d.ages}, {tierIdle.of(seconds), &d.idles}} {
			if times.in.count > 0 {
				v.SetNamed(times.metric.Of(name), of.value(times.in.quantile(0.5)))
			}
		}
		if d.objects > 0 {
			v.SetNamed(tierNeverHit.Of(name), float64(d.unused)/float64(d.objects))
		}
		if d.room > 0 {
			v.SetNamed(tierDead.Of(name), d.dead/d.room)
		}
	}
}
