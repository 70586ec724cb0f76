package embed

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Vectors gives the requests of a trace, read for the second time, the vectors of their queries. It makes sure that the
// trace is the same as at the first time.
type Vectors struct {
	objects     []uint32 // the query of each request
	texts       []string // per query
	embeddings  Embeddings
	next, known int // requests and queries that were read the second time
	changed     error
}

// NewVectors returns the vectors of the queries of a trace, which has that name.
func NewVectors(name string, objects []uint32, texts []string, e Embeddings) *Vectors {
	changed := fmt.Errorf("%s: changed while its texts were embedded; run the command again", name)
	return &Vectors{objects: objects, texts: texts, embeddings: e, changed: changed}
}

// Give sets the vector of the next request.
func (v *Vectors) Give(rec *stream.Record) error {
	if v.next == len(v.objects) {
		return v.changed
	}
	head := queries.HeadOf(rec)
	if head == nil {
		head = &queries.Head{}
		rec.Extra = head
	}
	object := int(v.objects[v.next])
	if object == v.known {
		if string(head.Text) != v.texts[object] {
			return v.changed
		}
		v.known++
	}
	head.Vector = v.embeddings.Vectors[object*v.embeddings.Dim:][:v.embeddings.Dim]
	v.next++
	return nil
}

// End makes sure that there was every request.
func (v *Vectors) End() error {
	if v.next < len(v.objects) {
		return v.changed
	}
	return nil
}
