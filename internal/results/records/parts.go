package records

import (
	"slices"
	"strings"
)

// NoPart is what files and tables have where a record could have a part and has none.
const NoPart = "none"

// PartKind is a kind of parts that policies are combined with, as records name them. Everything that shows records
// goes through PartKinds, so that no kind is forgotten anywhere.
type PartKind struct {
	Name   string // "predictor"
	Plural string // "predictors"
	// Field is the part, with the parameters that differ from their defaults; "" if there is none.
	Field func(*Record) *string

	Default string // the part that records have unless they say otherwise; it is not mentioned
	// Apart says that records with different parts are never compared, unless they are rows of one table.
	Apart bool
	// heading says that a part which all rows of a table have is named above the table, not in the rows.
	heading bool
	// some says that only some policies work with parts of the kind, so that those without one do not differ in it.
	some bool
	// inRows reports whether records with different parts are rows of one table; otherwise they have tables of their own.
	inRows func(*Record) bool
	// group is the part in the name of a group of records.
	group func(part string) string
}

// PartKinds are the kinds of parts, in the order in which they are named.
var PartKinds = []PartKind{
	{Name: "cache", Plural: "caches", Field: func(r *Record) *string { return &r.Cache }, Default: "exact", Apart: true,
		heading: true, inRows: never, group: func(part string) string { return part + " cache" }},
	{Name: "predictor", Plural: "predictors", Field: func(r *Record) *string { return &r.Predictor }, some: true,
		inRows: always},
	{Name: "prefetcher", Plural: "prefetchers", Field: func(r *Record) *string { return &r.Prefetcher }, inRows: always},
	{Name: "allocator", Plural: "allocators", Field: func(r *Record) *string { return &r.Allocator }, Apart: true,
		heading: true,
		inRows:  (*Record).hasOwnCapacity, // allocators are then compared with each other, as policies are
		group:   orNone("allocator ", "not divided")},
	{Name: "model", Plural: "models", Field: func(r *Record) *string { return &r.Model }, Apart: true, heading: true,
		inRows: never, group: orNone("model ", "no model")},
}

func never(*Record) bool  { return false }
func always(*Record) bool { return true }

// orNone returns a function that puts a word before a part, or returns another text for no part.
func orNone(before, none string) func(part string) string {
	return func(part string) string {
		if part == "" {
			return none
		}
		return before + part
	}
}

// PartKindOf returns the kind with that name; it panics if there is none.
func PartKindOf(name string) PartKind {
	return PartKinds[slices.IndexFunc(PartKinds, func(k PartKind) bool { return k.Name == name })]
}

// Parts returns the parts of a record that are worth a mention, in the order of PartKinds.
func (r *Record) Parts() (parts []string) {
	for _, k := range PartKinds {
		if part := *k.Field(r); part != "" && part != k.Default {
			parts = append(parts, part)
		}
	}
	return parts
}

// differs reports whether rows of one table have different parts of the kind.
func (k PartKind) differs(recs []Record) bool {
	var first *string
	for i := range recs {
		part := k.Field(&recs[i])
		switch {
		case !k.inRows(&recs[i]) || k.some && *part == "":
		case first == nil:
			first = part
		case *part != *first:
			return true
		}
	}
	return false
}

// hasColumn reports whether the table of the records has a column for the kind.
func (k PartKind) hasColumn(recs []Record) bool {
	if k.heading {
		return k.differs(recs)
	}
	return slices.ContainsFunc(recs, func(r Record) bool { return *k.Field(&r) != "" })
}

// cell is the part in the column of its kind.
func (k PartKind) cell(r *Record) string {
	part := *k.Field(r)
	if part == "" && !k.some {
		return NoPart
	}
	return part
}

// hasOwnCapacity reports whether the capacity is that of the cache itself, without a share of the trace.
func (r *Record) hasOwnCapacity() bool { return r.CapacityShare == nil }

// NamedByParts gives the lines of one policy with several parts of a kind that are rows of one table, such as
// predictors, different names.
func NamedByParts(recs []Record) []Record {
	named := slices.Clone(recs)
	for _, k := range PartKinds {
		if !k.differs(recs) {
			continue
		}
		for i := range named {
			if part := *k.Field(&recs[i]); part != "" && k.inRows(&recs[i]) {
				named[i].Label += ", " + part
			}
		}
	}
	return named
}

// Setting returns the parts that all records have, unless they are the defaults, in the rows or in the group's name.
func (g Group) Setting() string {
	var parts []string
	for _, k := range PartKinds {
		part := *k.Field(&g.Records[0])
		if part != "" && part != k.Default && k.heading && !k.differs(g.Records) && !strings.Contains(g.Name, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}
