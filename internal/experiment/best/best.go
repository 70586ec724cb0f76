// Package best marks which policy is the best at each workload and capacity. Only records that can be compared compete.
package best

import (
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// point is a workload at a capacity: policies are compared at each point.
type point struct {
	workload, parts  string
	warmup, capacity int64
	unit             string
}

func pointOf(rec *records.Record) point {
	w, _ := workload.FromRecord(rec) // a workload that cannot be replayed has a key, too
	parts := ""
	for _, k := range records.PartKinds {
		if k.Apart {
			parts += *k.Field(rec) + "\n"
		}
	}
	return point{w.Key(), parts, rec.Warmup, rec.Capacity, rec.CapacityUnit}
}

// ByPoint returns the indices of the records at each point, that is, for each workload and capacity; both are in order
// of first appearance.
func ByPoint(recs []records.Record) (points [][]int) {
	indices := make([]int, len(recs))
	for i := range indices {
		indices[i] = i
	}
	return records.GroupBy(indices, func(i int) point { return pointOf(&recs[i]) })
}

// Mark marks the best of one point's records, given by their indices. Only comparable records compete: those at the
// same place on every axis that both have, and with the same seed.
func Mark(recs []records.Record, point []int) {
	places := byPlace(recs, point)
	for i, p := range places {
		competitors := pick(recs, p.members)
		for j, other := range places {
			if i != j && p.agrees(other.position) {
				competitors = append(competitors, pick(recs, other.members)...)
			}
		}
		sim.MarkBest(competitors)
		for k, i := range p.members {
			recs[i].Best = competitors[k].Best
		}
	}
}

func MarkAll(recs []records.Record) {
	for _, same := range ByPoint(recs) {
		Mark(recs, same)
	}
}

// place is the records at the same place on every axis.
type place struct {
	position
	members []int
}

func byPlace(recs []records.Record, members []int) (places []place) {
	for _, same := range records.GroupBy(members, func(i int) string { return placeOf(&recs[i]) }) {
		places = append(places, place{newPosition(placeOf(&recs[same[0]])), same})
	}
	return places
}

func pick(recs []records.Record, indices []int) []records.Record {
	picked := make([]records.Record, len(indices))
	for k, i := range indices {
		picked[k] = recs[i]
	}
	return picked
}

// placeOf returns a record's place on the axes, including the seed if it matters.
func placeOf(rec *records.Record) string {
	if !sim.DependsOnSeed(rec) {
		return rec.Axes
	}
	return strings.TrimPrefix(fmt.Sprintf("%s,%s=%d", rec.Axes, records.DimSeed, rec.Seed), ",")
}

// position is a place on each of some axes.
type position map[string]string

func newPosition(text string) position {
	p := position{}
	for axis := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(axis, "=")
		p[name] = value
	}
	return p
}

// agrees reports whether two positions are the same on every axis that both have.
func (p position) agrees(other position) bool {
	for name, value := range p {
		if there, ok := other[name]; ok && there != value {
			return false
		}
	}
	return true
}
