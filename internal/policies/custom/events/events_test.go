package events_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/policies/all"
	"github.com/cachesim/cachesim/internal/policies/custom/events"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// inside is an Outside with a policy of the program behind it.
type inside struct {
	policy policies.Policy
	answer func(question events.Event) (policies.Object, error) // instead of the policy's; nil: the policy's
	got    *received
}

// received is what came from the program.
type received struct{ hits, finished, closed int }

func (i *inside) Begin(*events.Options) error { return nil }

func (i *inside) Take(block []byte) error {
	for ; len(block) > 0; block = block[events.Length:] {
		e := events.Read(block)
		r := policies.Request{Object: e.Object, Query: e.Object, Size: e.Size, Time: e.Time, Pos: int(e.Pos),
			Reason: e.Reason, Write: e.Write}
		switch e.Kind {
		case events.Hit:
			i.got.hits++
			i.policy.Hit(r)
		case events.Miss:
			i.policy.Miss(r)
		case events.Insert:
			i.policy.Insert(r)
		case events.Remove:
			i.policy.Remove(e.Object)
		case events.Resized:
			if p, ok := i.policy.(policies.SizeFollower); ok {
				p.Resized(e.Object, e.Size)
			}
		case events.Resize:
			if p, ok := i.policy.(policies.Resizer); ok {
				p.Resize(e.Size)
			}
		case events.Grow:
			i.policy.(policies.Grower).Grow(int(e.Size))
		default:
			return fmt.Errorf("a question, %v, inside a block", e)
		}
	}
	return nil
}

func (i *inside) Ask(block []byte) (policies.Object, error) {
	last := len(block) - events.Length
	if err := i.Take(block[:last]); err != nil {
		return 0, err
	}
	e := events.Read(block[last:])
	r := policies.Request{Object: e.Object, Query: e.Object, Size: e.Size, Time: e.Time, Pos: int(e.Pos), Reason: e.Reason}
	switch {
	case i.answer != nil:
		return i.answer(e)
	case e.Kind == events.Victim:
		return i.policy.Victim(r), nil
	case i.policy.(policies.Admitter).Admit(r):
		return 1, nil
	}
	return 0, nil
}

func (i *inside) Finish() error {
	i.got.finished++
	return nil
}

func (i *inside) Close() { i.got.closed++ }

// entry is a policy of the program, from outside.
func entry(e policies.Entry, o events.Options, got *received,
	answer func(events.Event) (policies.Object, error)) policies.Entry {
	inner := e.New
	e.New = func(c policies.Config) (policies.Policy, error) {
		return events.New(c, o, func() (events.Outside, error) {
			p, err := inner(c)
			return &inside{policy: p, got: got, answer: answer}, err
		})
	}
	return e
}

// A policy is the same from outside, in a cache whose capacity changes and that drops objects.
func TestOutsideIsTheSame(t *testing.T) {
	for _, name := range []string{"lru", "arc", "s3fifo", "gdsf", "lru-k", `rank(admit="total > 1")`} {
		for _, bytes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,bytes=%v", name, bytes), func(t *testing.T) {
				spec := must.Get(policies.Registry.Parse(name))(t)
				var seen received
				o := events.Options{Name: name, Admits: strings.HasPrefix(name, "rank") || name == "s3fifo", Refuses: true}
				want := replay(t, spec, spec.Entry, bytes)
				if got := replay(t, spec, entry(spec.Entry, o, &seen, nil), bytes); got != want {
					t.Errorf("outside %+v, inside %+v", got, want)
				}
				if seen != (received{hits: int(want.Hits), finished: 1, closed: 1}) {
					t.Errorf("%+v, want %d hits, finished and closed once", seen, want.Hits)
				}
			})
		}
	}
}

func replay(t *testing.T, spec policies.Spec, e policies.Entry, bytes bool) cache.Counts {
	tr := policytest.Trace(3, 8000, 400)
	capacity := int64(90)
	if bytes {
		capacity = 900
	}
	return must.Get(policies.Await(t.Context(), func(ctx context.Context) (n cache.Counts, err error) {
		p, err := e.New(policies.Config{Capacity: capacity, Unit: !bytes, Objects: tr.NumObjects,
			Requests: len(tr.Objects), Seed: 7, Params: spec.Params, Life: policies.LifeOf(ctx)})
		if err != nil {
			return n, err
		}
		c := cache.NewExact(p, capacity, tr.NumObjects)
		rng := rand.New(rand.NewPCG(1, 2))
		sizes := make([]int64, 1)
		for i := range tr.Objects {
			c.Serve(cache.WindowOf(tr, i, i+1, bytes, sizes), &n)
			switch rng.IntN(50) {
			case 0:
				c.Drop(tr.Objects[rng.IntN(i+1)])
			case 1:
				c.Resize(1 + rng.Int64N(2*capacity))
			}
		}
		return n, nil
	}))(t)
}

// What a policy answers that cannot be ends its replay with one sentence, and the cache goes on until that is noticed.
func TestWrongAnswers(t *testing.T) {
	lru := policies.Known("lru")
	for want, answer := range map[string]func(events.Event) (policies.Object, error){
		"policy mine: it evicts object 399, which is not resident, at request": func(events.Event) (policies.Object, error) {
			return 399, nil
		},
		"policy mine: it evicts object 4000000, which is not resident": func(events.Event) (policies.Object, error) {
			return 4_000_000, nil
		},
		"which is not resident but needs the room, at request": func(e events.Event) (policies.Object, error) {
			return e.Object, nil
		},
		"policy mine: it evicts nothing where a victim is due, at request": func(events.Event) (policies.Object, error) {
			return policies.NoObject, nil
		},
		"policy mine: the line broke": func(events.Event) (policies.Object, error) {
			return 0, errors.New("the line broke")
		},
	} {
		var seen received
		e := entry(lru.Entry, events.Options{Name: "mine"}, &seen, answer)
		tr := policytest.Trace(3, 3000, 400)
		_, err := policies.Await(t.Context(), func(ctx context.Context) (n cache.Counts, err error) {
			p, err := e.New(policies.Config{Capacity: 20, Unit: true, Objects: tr.NumObjects, Params: lru.Params,
				Life: policies.LifeOf(ctx)})
			c := cache.NewExact(p, 20, tr.NumObjects)
			c.Serve(cache.WindowOf(tr, 0, len(tr.Objects), false, nil), &n)
			if c.Used() != 20 || n.Requests != 3000 {
				t.Errorf("%d used, %d requests; want 20, 3000", c.Used(), n.Requests)
			}
			return n, err
		})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "\n") > 0 || seen.closed != 1 ||
			seen.finished != 0 {
			t.Errorf("error %v, %+v; want %q, closed once and not finished", err, seen, want)
		}
	}
}

// Where nobody ends a policy, none from outside begins.
func TestNeedsALife(t *testing.T) {
	lru := policies.Known("lru")
	if _, err := entry(lru.Entry, events.Options{}, &received{}, nil).New(policies.Config{Capacity: 1}); err == nil {
		t.Error("a policy from outside was made though nobody ends it")
	}
}
