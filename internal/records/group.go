package records

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Group contains the records of one table and one figure: the same trace, replayed in the same way.
type Group struct {
	Name    string // the trace, and whatever else distinguishes this group
	Records []Record
}

// trait is a property in which the records of different groups may differ.
type trait func(r *Record) string

var traits = []trait{
	func(r *Record) string { return r.Cache + " cache" },
	func(r *Record) string {
		if r.Model == "" {
			return "no model"
		}
		return "model " + r.Model
	},
	func(r *Record) string {
		switch {
		case r.hasOwnCapacity():
			return "" // allocators are compared with each other, as policies are
		case r.Allocator == "":
			return "not divided"
		}
		return "allocator " + r.Allocator
	},
	func(r *Record) string { return "capacity in " + r.CapacityUnit },
	func(r *Record) string { return fmt.Sprintf("sample rate %v", r.SampleRate) },
	func(r *Record) string {
		if r.PerFile {
			return "file by file"
		}
		return "as one sequence"
	},
	func(r *Record) string {
		if r.Embeddings == "trace" {
			return "embeddings in the trace"
		}
		return cmp.Or(r.Embeddings, "no embeddings")
	},
	func(r *Record) string { return fmt.Sprintf("warm-up %d", r.Warmup) },
	func(r *Record) string { return fmt.Sprintf("seed %d", r.Seed) },
}

// Groups splits recs into groups in order of first appearance.
func Groups(recs []Record) []Group {
	varying := slices.DeleteFunc(slices.Clone(traits), func(t trait) bool {
		return !slices.ContainsFunc(recs, func(r Record) bool { return t(&r) != t(&recs[0]) })
	})
	var groups []Group
	index := map[string]int{}
	for i := range recs {
		parts := []string{recs[i].Trace}
		for _, t := range varying {
			if part := t(&recs[i]); part != "" {
				parts = append(parts, part)
			}
		}
		name := Printable(strings.Join(parts, ", "))
		at, ok := index[name]
		if !ok {
			at = len(groups)
			index[name] = at
			groups = append(groups, Group{Name: name})
		}
		groups[at].Records = append(groups[at].Records, recs[i])
	}
	return groups
}

// hasOwnCapacity reports whether the capacity is that of the cache itself, without a share of the trace.
func (r *Record) hasOwnCapacity() bool { return r.CapacityShare == nil }

// severalAllocators reports whether records of caches with a capacity of their own have different allocators.
func severalAllocators(recs []Record) bool {
	return slices.ContainsFunc(recs, func(r Record) bool {
		return r.hasOwnCapacity() && r.Allocator != recs[0].Allocator
	})
}

// NamedByParts gives the lines of one policy with several predictors, prefetchers, or allocators of a cache with a
// capacity of its own, different names.
func NamedByParts(recs []Record) []Record {
	predictors, prefetchers := map[string]bool{}, map[string]bool{}
	for _, r := range recs {
		predictors[r.Predictor], prefetchers[r.Prefetcher] = true, true
	}
	allocators := severalAllocators(recs)
	delete(predictors, "") // of policies that use none
	recs = slices.Clone(recs)
	for i := range recs {
		r := &recs[i]
		if len(predictors) > 1 && r.Predictor != "" {
			r.Label += ", " + r.Predictor
		}
		if len(prefetchers) > 1 && r.Prefetcher != "" {
			r.Label += ", " + r.Prefetcher
		}
		if allocators && r.hasOwnCapacity() && r.Allocator != "" {
			r.Label += ", " + r.Allocator
		}
	}
	return recs
}

// Setting returns the cache, the allocator and the model of the records, unless they are the defaults or part of the
// group's name.
func (g Group) Setting() string {
	var parts []string
	allocator := g.Records[0].Allocator
	if severalAllocators(g.Records) {
		allocator = "" // it is in the rows
	}
	for _, part := range []string{g.Records[0].Cache, allocator, g.Records[0].Model} {
		if part != "" && part != "exact" && !strings.Contains(g.Name, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// Printable replaces invisible characters, so that a file name can neither control a terminal nor break an image.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
