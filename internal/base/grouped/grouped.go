// Package grouped groups items by a key: groups and their items keep the order in which they first appear.
package grouped

// By groups items by key; groups and their items are in order of first appearance.
func By[T any, K comparable](items []T, key func(T) K) (groups [][]T) {
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
