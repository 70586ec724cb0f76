package predictors

import "github.com/cachesim/cachesim/internal/oracle/predict"

// sharedFormula is a predictor with a formula for objects that share requests: each is observed at all of its requests.
// It implements Lasting.
type sharedFormula struct {
	eachRequest
	formula predict.Predictor
}

// shareFormula returns p for the requests of c, which objects may share.
func shareFormula(p predict.Predictor, c predict.Config) predict.Predictor {
	if c.Similar == nil {
		return p
	}
	return &sharedFormula{eachRequest{sharing{predict.NewShared(c)}}, p}
}

func (p *sharedFormula) Observe(_ predict.Object, pos int) {
	query, others := p.shared.Requested(pos)
	p.formula.Observe(query, pos)
	for _, o := range others {
		p.formula.Observe(o, pos)
	}
}

func (p *sharedFormula) Predict(objects []predict.Object, pos int, next []float64) {
	p.formula.Predict(objects, pos, next)
}

// sharing is of predictors for objects that may share requests; shared is nil where they do not. It implements Sharer.
type sharing struct{ shared *predict.Shared }

func (s sharing) SharedRequests() *predict.Shared { return s.shared }

// eachRequest is of predictors whose predictions last until the next request that an object shares. It implements
// Lasting.
type eachRequest struct{ sharing }

// Steady is false, because a request that another entry answers is not observed as one to the object.
func (eachRequest) Steady() bool               { return false }
func (eachRequest) Now(pos int) int            { return pos }
func (eachRequest) Until(predict.Object) int32 { return predict.Forever }
func (eachRequest) Generation() uint32         { return 0 }

// futureSimilar is a future for objects that share requests: an object is due at the next request that its entry would
// answer. The noise of that time is the one drawn for the last such request; so it stays until the next one.
//
// A prediction takes a search of the object's list. Memory: 16 bytes per object.
type futureSimilar struct {
	eachRequest
	future *future // whose next are the requests of each object alone, without noise
	last   []int32 // per object: 1 plus the position of the last request of it alone, 0 before the first
}

func newFutureSimilar(f *future, c predict.Config) *futureSimilar {
	return &futureSimilar{eachRequest{sharing{predict.NewShared(c)}}, f, make([]int32, c.Count)}
}

func (f *futureSimilar) Observe(_ predict.Object, pos int) {
	query := f.shared.Queries[pos]
	f.future.next[query] = f.future.exact(pos)
	f.last[query] = int32(pos) + 1
}

func (f *futureSimilar) Predict(objects []predict.Object, _ int, next []float64) {
	for i, o := range objects {
		next[i] = f.predict(o)
	}
}

func (f *futureSimilar) predict(o predict.Object) float64 {
	next, last := f.future.next[o], f.last[o]
	for _, similar := range f.shared.Alike(o, f.shared.Similar.From) {
		next, last = min(next, f.future.next[similar]), max(last, f.last[similar])
	}
	if f.future.disturb == nil || last == 0 {
		return next
	}
	return f.future.disturb(next, f.future.bitsOf(int(last)-1))
}
