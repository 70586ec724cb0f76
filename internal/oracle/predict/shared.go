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
	similar Similar
	queries []Object // per position
}

// newShared returns what shares the requests of c; nil where each request is one to its own object alone.
func newShared(c Config) *Shared {
	if c.Similar == nil {
		return nil
	}
	return &Shared{similar: *c.Similar, queries: c.Objects}
}

// SharedBy returns the Shared of p, or of the predictor that it wraps; nil without one.
func SharedBy(p Predictor) *Shared {
	if s, ok := unwrapped(p).(interface{ sharedRequests() *Shared }); ok {
		return s.sharedRequests()
	}
	return nil
}

// Requested returns the query of the request at a position, and the other objects whose entries would answer it.
func (s *Shared) Requested(pos int) (query Object, others []Object) {
	query = s.queries[pos]
	return query, s.alike(query, s.similar.From)
}

// alike returns the other objects with at least a similarity to o.
func (s *Shared) alike(o Object, from float32) []Object {
	ids, similarities := s.similar.Lists.Of(o)
	return ids[:sort.Search(len(ids), func(i int) bool { return similarities[i] < from })]
}

// sharedFormula is a predictor with a formula for objects that share requests: each is observed at all of its requests.
// It implements Lasting.
type sharedFormula struct {
	eachRequest
	formula Predictor
}

// shareFormula returns p for the requests of c, which objects may share.
func shareFormula(p Predictor, c Config) Predictor {
	if c.Similar == nil {
		return p
	}
	return &sharedFormula{eachRequest{sharing{newShared(c)}}, p}
}

func (p *sharedFormula) Observe(_ Object, pos int) {
	query, others := p.shared.Requested(pos)
	p.formula.Observe(query, pos)
	for _, o := range others {
		p.formula.Observe(o, pos)
	}
}

func (p *sharedFormula) Predict(objects []Object, pos int, next []float64) {
	p.formula.Predict(objects, pos, next)
}

// sharing is of predictors for objects that may share requests; shared is nil where they do not.
type sharing struct{ shared *Shared }

func (s sharing) sharedRequests() *Shared { return s.shared }

// eachRequest is of predictors whose predictions last until the next request that an object shares. It implements
// Lasting.
type eachRequest struct{ sharing }

// Steady is false, because a request that another entry answers is not observed as one to the object.
func (eachRequest) Steady() bool       { return false }
func (eachRequest) Now(pos int) int    { return pos }
func (eachRequest) Until(Object) int32 { return Forever }
func (eachRequest) Generation() uint32 { return 0 }

// futureSimilar is a future for objects that share requests: an object is due at the next request that its entry would
// answer. The noise of that time is the one drawn for the last such request; so it stays until the next one.
//
// A prediction takes a search of the object's list. Memory: 16 bytes per object.
type futureSimilar struct {
	eachRequest
	future *future // whose next are the requests of each object alone, without noise
	last   []int32 // per object: 1 plus the position of the last request of it alone, 0 before the first
}

func newFutureSimilar(f *future, c Config) *futureSimilar {
	return &futureSimilar{eachRequest{sharing{newShared(c)}}, f, make([]int32, c.Count)}
}

func (f *futureSimilar) Observe(_ Object, pos int) {
	query := f.shared.queries[pos]
	f.future.next[query] = f.future.exact(pos)
	f.last[query] = int32(pos) + 1
}

func (f *futureSimilar) Predict(objects []Object, _ int, next []float64) {
	for i, o := range objects {
		next[i] = f.predict(o)
	}
}

func (f *futureSimilar) predict(o Object) float64 {
	next, last := f.future.next[o], f.last[o]
	for _, similar := range f.shared.alike(o, f.shared.similar.From) {
		next, last = min(next, f.future.next[similar]), max(last, f.last[similar])
	}
	if f.future.disturb == nil || last == 0 {
		return next
	}
	return f.future.disturb(next, f.future.bitsOf(int(last)-1))
}
