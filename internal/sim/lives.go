package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/parallel"
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
	if c.Model != nil {
		return errors.New("objects are followed only where requests take no time; remove the model")
	}
	return CheckExplain(c)
}

// Lives replays a cell, request by request, and follows its objects. top is how many of those that miss most it
// returns. When ctx ends it does not wait for a request that takes long.
func (r *Replayer) Lives(ctx context.Context, c Cell, top int) (Lives, error) {
	return parallel.Await(ctx, func() (Lives, error) { return r.lives(ctx, c, top) })
}

func (r *Replayer) lives(ctx context.Context, c Cell, top int) (l Lives, err error) {
	if err := CheckLives(c); err != nil {
		return l, err
	}
	if err := r.Check(c); err != nil {
		return l, err
	}
	c.Parts = c.Replayed()
	v := r.view(c.Capacity)
	place, err := r.placeInWhole(c)
	if err != nil {
		return l, err
	}
	sampler := windows.New(c.Series, len(v.trace.Starts), false, c.Capacity.Bytes)
	w := lives.NewWatch(c.Capacity.Bytes)
	report := r.progress()
	if report == nil {
		report = func(int) {}
	}
	first := 0
	for i, part := range v.trace.Parts() {
		next := first + len(part.Objects)
		of := c
		of.Seed = partSeed(c.Seed, i)
		served, _, err := r.build(ctx, of, part, v.warmup, func() []uint32 { return v.nextUse()[first:next] }, w)
		if err != nil {
			return l, fmt.Errorf("policy %s: %w", c.Policy, err)
		}
		w.Part(part, v.warmup)
		sampler.Part(part, served, capacityOf(c, part), v.warmup)
		sampler.Also(w.EndWindow)
		f := feed.New(part, served, c.Capacity.Bytes)
		for pos := range part.Objects {
			if pos%feed.LongestWindow == 0 {
				if err := ctx.Err(); err != nil {
					return l, err
				}
				report(min(feed.LongestWindow, len(part.Objects)-pos))
			}
			w.Begin(pos)
			f.Serve(pos, pos+1)
			w.Served()
			sampler.Served(pos+1, f.Counts)
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
