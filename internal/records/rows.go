package records

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/suggest"
)

// Place returns where a record is on a dimension by which rows of a result may differ: one of Dim, or a kind of parts,
// by its name or that of its flag. A record without such a part is at none, unless only some policies have them.
func (r *Record) Place(name string) (v Value, ok bool) {
	if v, ok = r.Dim(name); ok {
		return v, true
	}
	k, ok := partKindFor(name)
	if !ok {
		return Value{}, false
	}
	part := cmp.Or(*k.Field(r), k.Default)
	if part == "" && !k.Some {
		part = "none"
	}
	return ValueOf(part), part != ""
}

func partKindFor(name string) (k PartKind, ok bool) {
	i := slices.IndexFunc(PartKinds, func(k PartKind) bool { return name == k.Name || name != "" && name == k.Flag.Name })
	if i < 0 {
		return k, false
	}
	return PartKinds[i], true
}

// Row is a record, or one of its parts with a hit ratio of its own, as a tenant has.
type Row struct {
	Record
	Metric string // the hit ratio
}

// Rows returns the rows of a record that conditions are about: itself or, if they name a kind of labels (tenant, node,
// stream, or what --by counts), a row for each of its labels. where are the conditions as the rows have them.
func (r *Record) Rows(all []Condition, hitRatio string) (rows []Row, where []Condition) {
	for i, c := range all {
		kind := labelKind(c.Dimension, r.By)
		for _, ratio := range ratiosBy(kind) {
			for _, labelled := range ByLabel([]Record{*r}, ratio) {
				if _, is := labelled.Dim(kind); is {
					rows = append(rows, Row{labelled, ratio})
				}
			}
			if len(rows) > 0 {
				where = slices.Clone(all)
				where[i].Dimension = kind
				return rows, where
			}
		}
	}
	return []Row{{*r, hitRatio}}, all
}

// labelKind returns the kind of labels that a dimension means: its own name, unless it is what labels were counted by.
func labelKind(dimension, by string) string {
	if dimension == by && by != "" {
		return "label"
	}
	return dimension
}

// ratiosBy returns the hit ratios that a result may have for each label of a kind.
func ratiosBy(kind string) (names []string) {
	for _, ratio := range []string{"_hit_ratio", "_token_hit_ratio"} {
		if kind != "" && LabelsOf(kind+ratio) == kind {
			names = append(names, kind+ratio)
		}
	}
	return names
}

// IsLabelled reports whether a condition is about labels, which only a result has.
func (c Condition) IsLabelled(by string) bool { return len(ratiosBy(labelKind(c.Dimension, by))) > 0 }

// Meets reports whether the record is at the places of all conditions. It is at no place on a dimension that it lacks.
func (r *Record) Meets(all []Condition) bool {
	return !slices.ContainsFunc(all, func(c Condition) bool {
		place, ok := r.Place(c.Dimension)
		return !ok || !c.holds(place, r)
	})
}

// CheckRows rejects a dimension or a place that none of recs has, where parts are dimensions as well.
func CheckRows(all []Condition, recs []Record) error {
	for _, c := range all {
		if err := c.check(recs, true); err != nil {
			return err
		}
	}
	return nil
}

// unknownDimension names the dimensions that recs have.
func unknownDimension(name string, recs []Record, parts bool) error {
	known := append([]string{DimTrace, DimPolicy, DimCapacity, DimSeed}, AxisNames(recs)...)
	for _, k := range PartKinds {
		has := slices.ContainsFunc(recs, func(r Record) bool { return *k.Field(&r) != "" })
		if parts && has && !slices.Contains(known, k.Name) {
			known = append(known, k.Name)
		}
	}
	return suggest.Unknown("dimension", name, known)
}

// isPart reports whether a place on a dimension is the part that a text names without its parameters.
func isPart(dimension, place, text string) bool {
	_, ok := partKindFor(dimension)
	return ok && strings.HasPrefix(place, text+"(")
}
