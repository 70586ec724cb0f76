package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/sim/feed"
	"github.com/cachesim/cachesim/internal/sim/lives"
	"github.com/cachesim/cachesim/internal/sim/windows"
)

// Lives is what happened to the objects of a cell.
type Lives struct {
	Values metric.Values
	Series []series.Row   // if the cell has windows; they do not name their cell
	Top    []lives.Missed // with objects of the whole trace
}

// CheckLives rejects a cell whose objects cannot be followed on any trace.
func CheckLives(c Cell) error {
	r := c.Replayed()
	switch e := r.Cache.Entry; {
	case r.Model != nil:
		return fmt.Errorf("objects are followed only where requests take no time; remove --model %s", r.Model)
	case r.Router != nil:
		return errors.New("objects are followed in one cache; remove --nodes")
	case e.Follow != nil:
		return cmp.Or(e.Follow(r.Cache.Params), lives.CheckTiers(&e, r.Prefetcher != nil, nil))
	case !e.OneByOne:
		return fmt.Errorf("objects are not followed in the cache %s; use --cache with one of: %s", e.Name,
			strings.Join(cache.Registry.NamesOf(func(e *cache.Entry) bool { return e.OneByOne || e.Follow != nil }), ", "))
	}
	return nil
}

// Lives replays a cell, request by request, and follows its objects. top is how many of those that miss most it
// returns. When ctx ends it does not wait for a request that takes long.
func (r *Replayer) Lives(ctx context.Context, c Cell, top int) (Lives, error) {
	return policies.Await(ctx, func(ctx context.Context) (Lives, error) { return r.lives(ctx, c, top) })
}

func (r *Replayer) lives(ctx context.Context, c Cell, top int) (l Lives, err error) {
	if err := CheckLives(c); err != nil {
		return l, err
	}
	c, v, place, err := r.followed(c)
	if err != nil {
		return l, err
	}
	inGroups := c.Cache.Entry.Follow != nil && v.trace.Groups != nil
	if err := lives.CheckTiers(&c.Cache.Entry, false, v.trace); err != nil {
		return l, err
	}
	sampler := windows.New(c.Series, len(v.trace.Starts), false, c.Capacity.Bytes)
	w := lives.NewWatch(c.Capacity.Bytes && !inGroups)
	report := r.progress()
	if report == nil {
		report = func(int) {}
	}
	first := 0
	for i, part := range v.trace.Parts() {
		next := first + len(part.Objects)
		of := c
		of.Seed = partSeed(c.Seed, i)
		warm := warmup(c, part, v.warmup)
		served, _, err := r.build(ctx, of, part, warm, func() []uint32 { return v.nextUse()[first:next] }, w)
		if err != nil {
			return l, fmt.Errorf("policy %s: %w", c.Policy, err)
		}
		w.Part(part, warm)
		sampler.Part(part, served, capacityOf(c, part), warm)
		sampler.Also(w.EndWindow)
		f := feed.New(part, served, c.Capacity.Bytes)
		for pos := 0; pos < len(part.Objects); {
			end := pos + 1
			if inGroups {
				end = feed.GroupEnd(part, end)
			}
			if pos == 0 || pos/feed.LongestWindow < end/feed.LongestWindow {
				if err := ctx.Err(); err != nil {
					return l, err
				}
				report(min(feed.LongestWindow, len(part.Objects)-pos))
			}
			w.Begin(pos, end)
			f.Serve(pos, end)
			w.Served()
			sampler.Served(end, f.Counts)
			pos = end
		}
		first = next
	}
	w.AddTo(&l.Values)
	l.Series = sampler.RowsOf(lives.Names()...)
	l.Top = w.Top(top)
	for i := range l.Top {
		l.Top[i].Object = place.objects[l.Top[i].Object]
	}
	return l, nil
}
