package predict

import "sort"

// Similar says which objects would answer a request in a cache in which an entry also answers queries that are similar
// to its own.
type Similar struct {
	// Lists has, for each object, the others that are similar to it, the most similar first.
	Lists interface {
		Of(o Object) (ids []Object, similarities []float32)
	}
	From float32 // similarity from which on an entry answers
}

// Shared says which objects share a request, where entries answer similar queries. A request counts for each object
// whose entry would answer it, resident or not. So the requests to an object depend neither on what is resident nor on
// which entry answers.
//
// Objects are listed even before their first request. A predictor that knows only the past may keep their history,
// because it would find the same requests later, but must not learn from it.
type Shared struct {
	Similar Similar
	Queries []Object // per position
}

// NewShared returns what shares the requests of c; nil where each request is one to its own object alone.
func NewShared(c Config) *Shared {
	if c.Similar == nil {
		return nil
	}
	return &Shared{Similar: *c.Similar, Queries: c.Objects}
}

// Sharer is implemented by predictors that know which objects share requests.
type Sharer interface {
	// SharedRequests returns nil where each request is one to its own object alone.
	SharedRequests() *Shared
}

// SharedBy returns the Shared of p, or of the predictor that it wraps; nil without one.
func SharedBy(p Predictor) *Shared {
	if s, ok := unwrapped(p).(Sharer); ok {
		return s.SharedRequests()
	}
	return nil
}

// Requested returns the query of the request at a position, and the other objects whose entries would answer it.
func (s *Shared) Requested(pos int) (query Object, others []Object) {
	query = s.Queries[pos]
	return query, s.Alike(query, s.Similar.From)
}

// Alike returns the other objects with at least a similarity to o.
func (s *Shared) Alike(o Object, from float32) []Object {
	ids, similarities := s.Similar.Lists.Of(o)
	return ids[:sort.Search(len(ids), func(i int) bool { return similarities[i] < from })]
}
