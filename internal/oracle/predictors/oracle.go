package predictors

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/oracle/predict"
)

var oracleEntry = predict.Entry{
	Name:    "oracle",
	Summary: "the exact time of the next request, and the exact label of the optimum",
	Source:  "Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems Journal 1966",
	Future:  true,
	New:     newOracle,
}

// Kinds of noise.
const (
	flip      = "flip"
	replace   = "replace"
	lognormal = "lognormal"
	binary    = "binary"
)

// What noise is drawn for.
const (
	perRequest = "request"
	perGroup   = "group"
)

var noisyEntry = predict.Entry{
	Name: "noisy",
	Summary: "the exact time of the next request with noise that is drawn once per request and stays until the object " +
		"is requested again",
	Source: "LCR, sections 2.2 (flip, binary) and 5.3 (replace); Antoniadis, Coester, Elias, Polak and Simon, ICML " +
		"2020 (lognormal)",
	Future: true,
	Random: true,
	Params: []params.Param{
		{Name: "kind", Default: flip, Choices: []string{flip, replace, lognormal, binary}, Doc: "flip, replace: with " +
			"probability p minus the true time ; " +
			"lognormal: the time plus exp(sigma*N(0,1)) requests ; binary: never or at once, as the optimum would evict the " +
			"object before its next request or not, " +
			"and with probability p the other way round"},
		{Name: "p", Default: 0.0, Min: 0, Max: 1, Doc: "probability that a prediction is wrong"},
		{Name: "sigma", Default: 0.0, Min: 0, Max: 1000, Doc: "standard deviation of the logarithm of the lognormal noise"},
		{Name: "per", Default: perRequest, Choices: []string{perRequest, perGroup}, Doc: "what noise is drawn for: each " +
			"request, or all requests that come together, as the " +
			"blocks of a prompt do"},
		{Name: "never", Default: 0.0, Min: 0, Max: 1e9, Doc: "before noise, an object that is not requested again is due " +
			"after this many lengths of the trace; 0: never"},
	},
	Check: checkNoise,
	CheckCache: func(v params.Values, similar bool) error {
		if similar && v.Text("kind") == binary {
			return fmt.Errorf("kind=%s inverts what the optimum evicts, and no optimum is known where entries answer similar "+
				"queries; write kind=%s", binary, flip)
		}
		return nil
	},
	New: newNoisy,
}

func checkNoise(v params.Values) error {
	kind := v.Text("kind")
	switch {
	case kind == lognormal && v.Float("p") != 0:
		return fmt.Errorf("p=%v has no effect with kind=lognormal; write sigma instead", v.Float("p"))
	case kind != lognormal && v.Float("sigma") != 0:
		return fmt.Errorf("sigma=%v has no effect with kind=%s; write p instead, or kind=lognormal", v.Float("sigma"), kind)
	}
	return nil
}

// future predicts from the trace itself, with noise that is drawn when an object is observed and kept until it is
// observed again. If it were drawn at every prediction it would average out, and blind trust would cost little, unlike
// in LCR (arXiv 2509.20979, section 2.2). The noise depends only on the seed and the position (or the group's),
// so it is the same for every policy.
type future struct {
	answered // before an object is observed, its first request
	nextUse  []uint32
	never    float64                                     // the time that stands for no further request
	disturb  func(next float64, bits *rand.Rand) float64 // nil: exact
	seed     uint64
	groups   []int // where groups with common noise begin; nil: each request has its own
	source   *rand.PCG
	bits     *rand.Rand // from source
}

func newOracle(c predict.Config) (predict.Predictor, error) {
	return finished(newFuture(c), c, 0), nil
}

func newNoisy(c predict.Config) (predict.Predictor, error) {
	f := newFuture(c)
	p, sigma := c.Params.Float("p"), c.Params.Float("sigma")
	if lengths := c.Params.Float("never"); lengths > 0 {
		f.never = lengths * float64(len(c.NextUse))
	}
	if c.Params.Text("per") == perGroup {
		if f.groups = c.Groups; f.groups == nil {
			return nil, errors.New("predictor noisy(per=group): the requests of this trace are not in groups; " +
				"leave out per=group")
		}
	}
	switch c.Params.Text("kind") {
	case binary:
		if c.OptEvicts == nil {
			return nil, errors.New("predictor noisy(kind=binary): only the cache exact has labels of the optimum; use that " +
				"cache, or another kind of noise")
		}
		return binaryPriority{newLabelled(f, c, p)}, nil
	case lognormal:
		f.disturb = func(next float64, bits *rand.Rand) float64 { return next + math.Exp(sigma*bits.NormFloat64()) }
		c.OptEvicts = nil // this noise has no labels
		return finished(f, c, 0), nil
	}
	f.disturb = func(next float64, bits *rand.Rand) float64 {
		if bits.Float64() < p {
			return -next
		}
		return next
	}
	return finished(f, c, p), nil
}

func newFuture(c predict.Config) *future {
	source := &rand.PCG{}
	f := &future{nextUse: c.NextUse, never: predict.Never, answered: newAnswered(c), seed: c.Seed, source: source,
		bits: rand.New(source)}
	// Backwards, so that the first request to each object is written last.
	for pos, o := range slices.Backward(c.Objects) {
		f.next[o] = float64(pos)
	}
	return f
}

// Grow makes room for objects up to objects-1.
func (f *future) Grow(objects int) {
	if more := objects - len(f.next); more > 0 {
		f.next = append(f.next, neverFor(more)...)
	}
}

func (f *future) Observe(o predict.Object, pos int) {
	next := f.exact(pos)
	if f.disturb != nil {
		next = f.disturb(next, f.bitsOf(pos))
	}
	f.next[o] = next
}

// exact returns when the object that is requested at pos is requested next.
func (f *future) exact(pos int) float64 {
	if f.nextUse[pos] == oracle.Never {
		return f.never
	}
	return float64(f.nextUse[pos])
}

// bitsOf returns the random bits of the request at pos. They are valid until the next call.
func (f *future) bitsOf(pos int) *rand.Rand {
	if f.groups != nil {
		next, _ := slices.BinarySearch(f.groups, pos+1)
		pos = f.groups[next-1]
	}
	f.source.Seed(f.seed, uint64(pos))
	return f.bits
}

// finished returns f for objects that share requests if they do, and with the labels of the optimum if the cell has
// them.
func finished(f *future, c predict.Config, p float64) predict.Predictor {
	switch {
	case c.Similar != nil:
		return newFutureSimilar(f, c)
	case c.OptEvicts != nil:
		return newLabelled(f, c, p)
	}
	return f
}

// labelled is a future with the labels of the optimum, each wrong with probability p: where a time is flipped, so is
// the label.
type labelled struct {
	*future
	evicts   func() []bool // per position
	p        float64
	observed []uint32 // per object: 1 plus the position of its last observed request, 0 before that
}

func newLabelled(f *future, c predict.Config, p float64) *labelled {
	return &labelled{future: f, evicts: sync.OnceValue(c.OptEvicts), p: p, observed: make([]uint32, c.Count)}
}

func (l *labelled) Observe(o predict.Object, pos int) {
	l.future.Observe(o, pos)
	l.observed[o] = uint32(pos) + 1
}

// Evict implements Labeler. An object that has not been requested has no label and should be evicted.
func (l *labelled) Evict(o predict.Object) bool {
	if l.observed[o] == 0 {
		return true
	}
	pos := int(l.observed[o]) - 1
	// The generator is seeded by position, so this is the same draw as in disturb: the label is wrong exactly where
	// the time is flipped.
	wrong := l.p > 0 && l.bitsOf(pos).Float64() < l.p
	return l.evicts()[pos] != wrong
}

// binaryPriority predicts that an object is requested never if its label says that it should be evicted, and otherwise
// at once.
type binaryPriority struct{ *labelled }

func (b binaryPriority) Predict(objects []predict.Object, _ int, next []float64) {
	for i, o := range objects {
		next[i] = 0
		if b.Evict(o) {
			next[i] = predict.Never
		}
	}
}
