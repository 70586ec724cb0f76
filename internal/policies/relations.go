package policies

import "github.com/cachesim/cachesim/internal/similarity"

// Relations are what a policy may know of how the objects of a trace relate to each other. Of objects that have not
// been requested yet an online policy must make no use.
type Relations struct {
	// Similar lists for each object those that are similar to it, from Entry.SimilarFrom or less on. Nil: there are no
	// embeddings, and an object is similar to itself alone.
	Similar *similarity.Neighbours
	// HitFrom is the similarity from which on an entry of the cache answers a query; above 1 where only its own entry
	// does.
	HitFrom float32
	// Tau is the threshold that the cache names: HitFrom, or what it would be if entries answered similar queries, too.
	Tau float32
	// Topics are labels per object: dense numbers, -1 where there is none. Those of objects that are no queries are the
	// prefixes of their keys. Nil where no object has one.
	Topics []int32
}

// Scoper is implemented by policies that sort what is resident into topics. A semantic cache can be told to look for an
// answer only among those of the topic of the query.
type Scoper interface {
	Policy
	// InScope reports whether o, which is resident, is of the topic of the query. It is called before the Hit or Miss of
	// the request.
	InScope(r Request, o Object) bool
}
