package policies

import "github.com/cachesim/cachesim/internal/similarity"

// Relations are what a policy may know about how the objects of a trace relate to each other. An online policy must not
// use objects that have not been requested yet.
type Relations struct {
	// Similar lists, for each object, those whose similarity to it is at least Entry.SimilarFrom. Nil: there are no
	// embeddings, and an object is similar only to itself.
	Similar *similarity.Neighbours
	// HitFrom is the least similarity at which an entry of the cache answers a query; above 1 if only the query's own
	// entry does.
	HitFrom float32
	// Tau is the threshold that the cache names: HitFrom, or what HitFrom would be if entries also answered similar
	// queries.
	Tau float32
	// Topics are labels per object: dense numbers, or -1 for none. For objects that are not queries the label is the
	// prefix of the key. Nil if no object has one.
	Topics []int32
}

// Scoper is implemented by policies that sort residents into topics. A semantic cache can be set to look for an answer
// only in the topic of the query.
type Scoper interface {
	Policy
	// InScope reports whether o, which is resident, belongs to the topic of the query. It is called before the Hit or
	// Miss of the request.
	InScope(r Request, o Object) bool
}
