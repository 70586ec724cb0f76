package overlap

import (
	"encoding/csv"
	"io"

	"github.com/cachesim/cachesim/internal/similarity"
	"github.com/cachesim/cachesim/internal/traces"
)

// WritePairs writes the pairs with a similarity of at least from as CSV: the ids of both queries, the earlier one
// first, and their similarity. They are in the order of the later query in the trace, the most similar first. The trace
// must have its keys.
func WritePairs(w io.Writer, t *traces.Trace, neighbours *similarity.Neighbours, from float32) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"first", "second", "similarity"})
	for o := range neighbours.Len() {
		ids, similarities := neighbours.Of(uint32(o))
		for k, id := range ids {
			if similarities[k] < from {
				break
			}
			if int(id) > o {
				continue
			}
			pair := []string{t.Keys[id].String(), t.Keys[o].String(), similarityText(similarities[k])}
			if err := out.Write(pair); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}
