package similarity

import "context"

// Join lists the neighbours of all vectors: those that are at least from similar. It stops with ctx's error.
func Join(ctx context.Context, v Vectors, from float32) (*Neighbours, error) {
	var pairs []Pair
	for b := range v.Len() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for a := range b {
			if s := v.Similarity(a, b); s >= from {
				pairs = append(pairs, Pair{uint32(a), uint32(b), s})
			}
		}
	}
	return NewNeighbours(v.Len(), from, pairs), nil
}
