package records

import "slices"

// GroupBy groups items by key; groups and their items are in order of first appearance.
func GroupBy[T any, K comparable](items []T, key func(T) K) (groups [][]T) {
	index := map[K]int{}
	for _, item := range items {
		k := key(item)
		at, ok := index[k]
		if !ok {
			at = len(groups)
			index[k] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], item)
	}
	return groups
}

// Distinct returns the keys of items, each once, in order of first appearance.
func Distinct[T any, K comparable](items []T, key func(T) K) (keys []K) {
	for _, item := range Firsts(items, key) {
		keys = append(keys, key(item))
	}
	return keys
}

// Firsts returns the first item of each key.
func Firsts[T any, K comparable](items []T, key func(T) K) (firsts []T) {
	seen := map[K]bool{}
	for _, item := range items {
		if k := key(item); !seen[k] {
			seen[k] = true
			firsts = append(firsts, item)
		}
	}
	return firsts
}

// Count returns how many items are of some kind.
func Count[T any](items []T, is func(T) bool) (n int) {
	for _, item := range items {
		if is(item) {
			n++
		}
	}
	return n
}

// BestOrFirst reports which records a table shows that has one policy at each capacity: those that are marked as the
// best or, if none is, those with the label of the first.
func BestOrFirst(recs []Record) func(*Record) bool {
	if slices.ContainsFunc(recs, func(r Record) bool { return r.Best }) {
		return func(r *Record) bool { return r.Best }
	}
	return func(r *Record) bool { return r.Label == recs[0].Label }
}
