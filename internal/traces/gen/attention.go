package gen

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

var attentionParams = []params.Param{
	{Name: "layers", Default: 8, Min: 1, Max: 1 << 10, Doc: "layers of the model"},
	{Name: "query-heads", Default: 9, Min: 1, Max: 1 << 10, Doc: "query heads of a layer"},
	{Name: "kv-heads", Default: 3, Min: 1, Max: 1 << 10, Doc: "KV heads of a layer, a divisor of the query heads"},
	{Name: "head-dim", Default: 64, Min: 8, Max: 1 << 10, Doc: "numbers in a query, a key and a value"},
	{Name: "context", Default: 4096, Min: 1, Max: 1 << 22, Doc: "tokens of the prompt"},
	{Name: "steps", Default: 640, Min: 1, Max: 1 << 20, Doc: "decode steps"},
	{Name: "constant-low", Default: 0.35, Min: 0, Max: 1, Doc: "least share of a query's square that never changes; " +
		"heads lie evenly between this and constant-high"},
	{Name: "constant-high", Default: 0.75, Min: 0, Max: 1, Doc: "greatest such share"},
	{Name: "slow", Default: 0.33, Min: 0, Max: 1, Doc: "share of the rest that drifts slowly"},
	{Name: "slow-rate", Default: 0.995, Min: 0, Max: 1, Doc: "correlation of the slow part from step to step"},
	{Name: "fast", Default: 0.38, Min: 0, Max: 1, Doc: "share of the rest that drifts fast"},
	{Name: "fast-rate", Default: 0.6, Min: 0, Max: 1, Doc: "correlation of the fast part from step to step"},
	{Name: "local", Default: 0.08, Min: 0, Max: 1, Doc: "share of the rest by which queries find recent keys; what is " +
		"left is new in every step"},
	{Name: "local-rate", Default: 0.95, Min: 0, Max: 1, Doc: "correlation of the local part from step to step"},
	{Name: "group", Default: 0.5, Min: 0, Max: 1, Doc: "share of all parts but the local one that the query heads of a " +
		"KV head have in common"},
	{Name: "logits", Default: 2.4, Min: 0.01, Max: 20, Doc: "standard deviation of the logits of the middle, all tokens " +
		"but the first 4 and the last 64"},
	{Name: "lean", Default: 1.2, Min: 0, Max: 100, Doc: "how much more keys vary along the constant part of the queries " +
		"than in other directions"},
	{Name: "sink", Default: 0.2, Min: 0, Max: 0.95, Doc: "share of the probability that the first 4 tokens have; 0: " +
		"they are like others"},
	{Name: "recent", Default: 0.33, Min: 0, Max: 0.95, Doc: "share of the probability that the last 64 tokens have; 0: " +
		"they are like others"},
	{Name: "prediction", Default: 0.93, Min: 0, Max: 1, Doc: "square of the cosine of a query and its prediction from " +
		"the layer before; 0: no predictions"},
	{Name: "innovations", Default: "random", Choices: []string{"random", "orthogonal"}, Doc: "what is new in a step: " +
		"random: any direction; orthogonal: one that is orthogonal to those before, so that the similarity of a part after " +
		"m steps is its rate to the power of m"},
	seedParam,
}

// Shares and gains that are no parameters.
const (
	sinkShare = 0.2 // of the square of the constant part: the direction of the first tokens
	slowGain  = 3   // logit of a token for a query with the same slow part, in units of that query's
	keySpread = 0.12
	meanValue = 0.3 // share of the square of values that all tokens of a head have in common
)

// attentionTrace makes attention that resembles that of SmolLM2-135M (docs/generators.md). Each head is made by itself.
// The sums of products do not depend on how many goroutines do so. It implements attention.Trace and attention.Maker.
type attentionTrace struct {
	shape                 attention.Shape
	low, high             float64
	slow, fast, local     float64
	slowRate, fastRate    float64
	localRate             float64
	group, logits, lean   float64
	sink, recent, predict float64
	orthogonal            bool
	seed                  uint64
	ranks                 []int // of heads, by the constant share
	next                  int
}

func newAttentionTrace(v params.Values) (attention.Maker, error) {
	t := &attentionTrace{
		low: v.Float("constant-low"), high: v.Float("constant-high"),
		slow: v.Float("slow"), fast: v.Float("fast"), slowRate: v.Float("slow-rate"), fastRate: v.Float("fast-rate"),
		local: v.Float("local"), localRate: v.Float("local-rate"),
		group: v.Float("group"), logits: v.Float("logits"), lean: v.Float("lean"),
		sink: v.Float("sink"), recent: v.Float("recent"), predict: v.Float("prediction"),
		orthogonal: v.Text("innovations") == "orthogonal", seed: uint64(v.Int("seed")),
	}
	t.shape = attention.Shape{Model: "generated", QueryHeads: v.Int("query-heads"), KVHeads: v.Int("kv-heads"),
		Layers: ascending[int](v.Int("layers")), Dim: v.Int("head-dim"), Prompt: v.Int("context"),
		Steps: v.Int("steps"), Predicted: t.predict > 0, Scale: 1 / math.Sqrt(float64(v.Int("head-dim")))}
	switch {
	case t.shape.QueryHeads%t.shape.KVHeads != 0:
		return nil, fmt.Errorf("query-heads=%d: want a multiple of kv-heads=%d", t.shape.QueryHeads, t.shape.KVHeads)
	case t.high < t.low:
		return nil, fmt.Errorf("constant-high=%v: want at least constant-low=%v", t.high, t.low)
	case t.slow+t.fast+t.local > 1:
		return nil, fmt.Errorf("slow=%v, fast=%v and local=%v: want at most 1 together", t.slow, t.fast, t.local)
	case t.sink > 0 && t.low == 0:
		return nil, fmt.Errorf("sink=%v: the first tokens are found by the constant part of the queries; want constant-low "+
			"above 0, or sink=0", t.sink)
	case t.recent > 0 && (t.local == 0 || t.high == 1):
		return nil, fmt.Errorf("recent=%v: the local part of queries finds the last tokens; want local above 0 and "+
			"constant-high below 1, or recent=0", t.recent)
	case t.sink+t.recent > 0.95:
		return nil, fmt.Errorf("sink=%v and recent=%v: want at most 0.95 together", t.sink, t.recent)
	}
	t.ranks = ascending[int](t.shape.Heads())
	random.Shuffle(random.Stream(t.seed, orderBits), t.ranks)
	return t, nil
}

func (t *attentionTrace) Shape() *attention.Shape { return &t.shape }

func (t *attentionTrace) Next(h *attention.Head) error {
	t.next++
	return t.Make(t.next-1, h)
}

func (t *attentionTrace) End() error   { return nil }
func (t *attentionTrace) Close() error { return nil }

func (t *attentionTrace) Make(place int, h *attention.Head) error {
	h.Begin(&t.shape, place)
	seed := random.Scramble(random.Scramble(t.seed) + uint64(place))
	m := &headMaker{attentionTrace: t, seed: seed, dim: t.shape.Dim, heads: t.shape.Group(), tokens: t.shape.Tokens()}
	m.share = t.low + float64((t.high-t.low)*(float64(t.ranks[place])+0.5)/float64(len(t.ranks)))
	m.directions()
	m.queries(h)
	m.keys(h)
	m.values(h)
	m.predictions(h)
	rotation := m.rotation()
	for _, part := range [][]float32{h.Queries, h.Predicted, h.Keys} {
		rotation.apply(part)
	}
	for _, part := range [][]float32{h.Queries, h.Predicted, h.Keys, h.Values} {
		attention.Round(part)
	}
	return nil
}

// headMaker makes a head. Vectors have an expected length of 1 until they are written. They consist of four parts,
// which the rotation mixes in the end: the slow and the local state that the query heads share, the direction of the
// first tokens, and everything else.
type headMaker struct {
	*attentionTrace
	seed               uint64
	share              float64 // of the constant part
	dim, heads, tokens int
	slowAt, localAt    span
	firstAt            int
	rest               span
	base               [][]float32 // per query head: the constant part, without the direction of the first tokens
	slowStates         []float32   // per token
	localStates        []float32
}

// span is a range of the numbers of a vector.
type span struct{ from, to int }

func (s span) of(v []float32) []float32 { return v[s.from:s.to] }
func (s span) len() int                 { return s.to - s.from }

// draw returns a number of mean 0 and standard deviation 1. Inner products of many of them are as normal as with normal
// draws, which take ten times as long.
func draw(bits *rand.PCG) float64 {
	const sd = 37837.2267 // of the sum of four numbers below 2^16
	return sumOfUniform(bits) / sd
}

// noise fills v with a vector of the expected length 1.
func noise(v []float32, bits *rand.PCG) {
	scale := 1 / math.Sqrt(float64(len(v)))
	for i := range v {
		v[i] = float32(draw(bits) * scale)
	}
}

// directions divides the numbers of a vector and draws the constant parts.
func (m *headMaker) directions() {
	m.slowAt, m.localAt, m.firstAt = span{0, m.dim / 4}, span{m.dim / 4, m.dim * 5 / 8}, m.dim*5/8
	m.rest = span{m.firstAt + 1, m.dim}
	bits := random.Stream(m.seed, directionBits)
	common, own := make([]float32, m.rest.len()), make([]float32, m.rest.len())
	noise(common, bits)
	m.base = make([][]float32, m.heads)
	for j := range m.base {
		noise(own, bits)
		m.base[j] = make([]float32, m.rest.len())
		add(m.base[j], common, root(m.group))
		add(m.base[j], own, root(1-m.group))
		unit(m.base[j])
	}
}

func add(v, other []float32, factor float32) {
	for i := range v {
		v[i] += float32(factor * other[i])
	}
}

// unit scales v to length 1. A vector of zeros, which a draw of this many numbers never gives, stays.
func unit(v []float32) {
	if square := attention.Dot(v, v); square > 0 {
		scale := float32(1 / math.Sqrt(float64(square)))
		for i := range v {
			v[i] *= scale
		}
	}
}

// process is an autoregressive process of order 1, in its stationary state from the start.
type process struct {
	state, fresh []float32
	keep, take   float32
	bits         *rand.PCG
	axes         []int // orthogonal directions, in turn; nil for any
	turn         int
}

// process starts a process of vectors of dim numbers; their correlation from step to step is rate.
func (m *headMaker) process(dim int, rate float64, purpose uint64) *process {
	p := &process{state: make([]float32, dim), fresh: make([]float32, dim), keep: float32(rate),
		take: root(1 - float64(rate*rate)), bits: random.Stream(m.seed, purpose)}
	noise(p.state, p.bits)
	if m.orthogonal {
		p.axes = ascending[int](dim)
		random.Shuffle(p.bits, p.axes)
		clear(p.state)
		for range 8 * dim { // from zeros to the stationary state
			p.step()
		}
	}
	return p
}

func (p *process) step() []float32 {
	if p.axes == nil {
		noise(p.fresh, p.bits)
	} else {
		p.fresh[p.axes[p.turn]] = 0
		p.turn = (p.turn + 1) % len(p.axes)
		p.fresh[p.axes[p.turn]] = 1
	}
	for i := range p.state {
		p.state[i] = float32(p.keep*p.state[i]) + float32(p.take*p.fresh[i])
	}
	return p.state
}

// queries makes the queries, and the states of all tokens, which the keys need, too. Shares are of squares, so vectors
// are scaled by their roots.
func (m *headMaker) queries(h *attention.Head) {
	m.slowStates = m.states(m.tokens, m.process(m.slowAt.len(), m.slowRate, turnBits))
	m.localStates = m.states(m.tokens, m.process(m.localAt.len(), m.localRate, repeatBits))
	quick := m.states(m.shape.Steps, m.process(m.rest.len(), m.fastRate, driftBits))
	white := m.states(m.shape.Steps, m.process(m.rest.len(), 0, arrivalBits))
	scale, rest := root(float64(m.dim)), 1-m.share
	slow, fast, fresh := rest*m.slow, rest*m.fast, rest*(1-m.slow-m.fast-m.local)
	first, base := root(m.share*sinkShare), root(m.share*(1-sinkShare))
	if m.sink == 0 {
		first, base = 0, root(m.share)
	}
	h.Queries = sized(h.Queries, m.shape.Steps*m.heads*m.dim)
	clear(h.Queries)
	for j := range m.heads {
		purpose := uint64(j)<<32 + topicBits
		ownSlow, ownFast := m.process(m.rest.len(), m.slowRate, purpose), m.process(m.rest.len(), m.fastRate, purpose+1<<16)
		ownWhite := m.process(m.rest.len(), 0, purpose+2<<16)
		for step := range m.shape.Steps {
			q, token := h.Query(step, j), m.shape.Prompt+step
			add(m.slowAt.of(q), row(m.slowStates, token, m.slowAt.len()), scale*root(slow*m.group))
			add(m.localAt.of(q), row(m.localStates, token, m.localAt.len()), scale*root(rest*m.local))
			q[m.firstAt] = scale * first
			other := m.rest.of(q)
			add(other, m.base[j], scale*base)
			add(other, ownSlow.step(), scale*root(slow*(1-m.group)))
			add(other, row(quick, step, m.rest.len()), scale*root(fast*m.group))
			add(other, ownFast.step(), scale*root(fast*(1-m.group)))
			add(other, row(white, step, m.rest.len()), scale*root(fresh*m.group))
			add(other, ownWhite.step(), scale*root(fresh*(1-m.group)))
		}
	}
}

func (m *headMaker) states(n int, p *process) []float32 {
	states := make([]float32, 0, n*len(p.state))
	for range n {
		states = append(states, p.step()...)
	}
	return states
}

func root(x float64) float32 { return float32(math.Sqrt(max(x, 0))) }

func row(rows []float32, i, dim int) []float32 { return rows[i*dim:][:dim] }

// sized returns a slice of n numbers, which reuses list if it has room.
func sized(list []float32, n int) []float32 {
	if cap(list) < n {
		return make([]float32, n)
	}
	return list[:n]
}

// keys makes the keys from three parts: their content makes the logits of the middle, the states of their tokens let
// recent queries find them, and a direction lets all queries find the first ones.
func (m *headMaker) keys(h *attention.Head) {
	bits := random.Stream(m.seed, paraphraseBits)
	h.Keys = sized(h.Keys, m.tokens*m.dim)
	// The constant parts of query heads overlap: what is added along one also varies along the others.
	along := root(m.lean / (1 + float64(float64(m.heads-1)*float64(m.group*m.group))))
	for token := range m.tokens {
		k := h.Key(token)
		for i := range k {
			k[i] = float32(draw(bits))
		}
		for _, b := range m.base {
			add(m.rest.of(k), b, along*float32(draw(bits)))
		}
		spread := float32(random.Exp(keySpread * draw(bits)))
		for i := range k {
			k[i] *= spread
		}
	}
	gains := m.calibrate(h)
	for token := range m.tokens {
		k, content := h.Key(token), float32(gains.content)
		if token < attention.Sink && m.sink > 0 {
			content *= 0.1
			k[m.firstAt] = 0
		}
		for i := range k {
			k[i] *= content
		}
		if token < attention.Sink && m.sink > 0 {
			k[m.firstAt] = float32(gains.first)
			continue
		}
		add(m.slowAt.of(k), row(m.slowStates, token, m.slowAt.len()), float32(gains.slow))
		add(m.localAt.of(k), row(m.localStates, token, m.localAt.len()), float32(gains.local))
	}
}

// rotation mixes the parts of vectors: a random order, random signs and a Walsh-Hadamard transform, which leave all
// products of vectors as they are.
type rotation struct {
	order   []int
	signs   []float32
	block   int // a power of two, the greatest that divides the length
	rotated []float32
}

func (m *headMaker) rotation() *rotation {
	bits := random.Stream(m.seed, scatterBits)
	r := &rotation{order: ascending[int](m.dim), signs: make([]float32, m.dim), block: m.dim & -m.dim,
		rotated: make([]float32, m.dim)}
	random.Shuffle(bits, r.order)
	for i := range r.signs {
		r.signs[i] = root(1 / float64(r.block))
		if bits.Uint64()&1 == 0 {
			r.signs[i] = -r.signs[i]
		}
	}
	return r
}

func (r *rotation) apply(rows []float32) {
	for ; len(rows) > 0; rows = rows[len(r.order):] {
		v := r.rotated
		for i, from := range r.order {
			v[i] = rows[from] * r.signs[i]
		}
		for half := 1; half < r.block; half *= 2 {
			for i := range v {
				if i&half == 0 {
					v[i], v[i+half] = v[i]+v[i+half], v[i]-v[i+half]
				}
			}
		}
		copy(rows, v)
	}
}

// values makes the values: a part that all tokens of the head share, and a part of each token's own.
func (m *headMaker) values(h *attention.Head) {
	bits := random.Stream(m.seed, lengthBits)
	h.Values = sized(h.Values, m.tokens*m.dim)
	common := make([]float32, m.dim)
	for i := range common {
		common[i] = float32(draw(bits))
	}
	a, b := root(meanValue), root(1-meanValue)
	for token := range m.tokens {
		v := h.Value(token)
		for i := range v {
			v[i] = float32(a*common[i]) + float32(b*float32(draw(bits)))
		}
	}
}

// predictions makes the predicted queries. In layer 0 they are the queries, as no earlier layer could predict them.
func (m *headMaker) predictions(h *attention.Head) {
	h.Predicted = h.Predicted[:0]
	if m.predict == 0 {
		return
	}
	h.Predicted = append(h.Predicted, h.Queries...)
	if h.Layer == 0 {
		return
	}
	bits := random.Stream(m.seed, systemBits)
	v := make([]float32, m.dim)
	for i := range m.shape.Steps * m.heads {
		p := row(h.Predicted, i, m.dim)
		norm := root(float64(attention.Dot(p, p)))
		noise(v, bits)
		for i := range p {
			p[i] = float32(root(m.predict)*p[i]) + float32(root(1-m.predict)*norm*v[i])
		}
	}
}

// gains are the factors of the parts of keys.
type gains struct{ content, slow, local, first float64 }

// look has one query for the calibration: the logits from the parts of each visible key.
type look struct{ content, slow, local []float64 }

// calibrate finds the gains with which a sample of the queries gets the logits and the shares of the probability that
// the parameters ask for.
func (m *headMaker) calibrate(h *attention.Head) gains {
	const samples = 8
	var looks []look
	for i := range samples {
		step := (2*i + 1) * m.shape.Steps / (2 * samples)
		if attention.MiddleEnd(m.shape.Visible(step)) <= attention.Sink {
			continue
		}
		looks = append(looks, m.look(h, step, i%m.heads))
	}
	g := gains{content: m.logits}
	if len(looks) == 0 {
		return g // everything is recent
	}
	if m.recent > 0 {
		g.slow = slowGain / math.Sqrt(max(1e-3, float64((1-m.share)*m.slow)*m.group))
	}
	// The states contribute to the variance of the logits, too. What they leave is the content's, at least a tenth.
	var content float64
	for _, l := range looks {
		content += variance(l, gains{content: 1})
	}
	contentGain := func(local float64) float64 {
		var others float64
		for _, l := range looks {
			others += variance(l, gains{slow: g.slow, local: local})
		}
		aim := float64(float64(float64(len(looks))*m.logits) * m.logits)
		return math.Sqrt(max(float64(0.1*aim), aim-others) / content)
	}
	aim := m.recent / (1 - m.sink)
	if m.recent > 0 {
		g.local = bisect(0, 400, func(local float64) bool {
			mass := 0.0
			for _, l := range looks {
				recent, middle := l.masses(gains{content: contentGain(local), slow: g.slow, local: local})
				mass += recent / (recent + middle)
			}
			return mass < float64(aim*float64(len(looks)))
		})
	}
	g.content = contentGain(g.local)
	if m.sink > 0 {
		recent, middle := make([]float64, len(looks)), make([]float64, len(looks))
		for i, l := range looks {
			recent[i], middle[i] = l.masses(g)
		}
		logit := bisect(-20, 60, func(logit float64) bool {
			mass, sink := 0.0, float64(attention.Sink*random.Exp(logit))
			for i := range looks {
				mass += sink / (sink + recent[i] + middle[i])
			}
			return mass < float64(m.sink*float64(len(looks)))
		})
		g.first = logit / math.Sqrt(m.share*sinkShare)
	}
	return g
}

// bisect returns where low turns from true to false.
func bisect(from, to float64, low func(float64) bool) float64 {
	for range 16 {
		if middle := (from + to) / 2; low(middle) {
			from = middle
		} else {
			to = middle
		}
	}
	return (from + to) / 2
}

func (m *headMaker) look(h *attention.Head, step, j int) look {
	visible, q := m.shape.Visible(step), h.Query(step, j)
	part := func(rows []float32, at span) []float64 {
		logits := make([]float64, visible)
		for token := range logits {
			logits[token] = float64(attention.Dot(at.of(q), row(rows, token, at.len()))) * m.shape.Scale
		}
		return logits
	}
	return look{part(h.Keys, span{0, m.dim}), part(m.slowStates, m.slowAt), part(m.localStates, m.localAt)}
}

func (l look) logit(token int, g gains) float64 {
	return float64(g.content*l.content[token]) + float64(g.slow*l.slow[token]) + float64(g.local*l.local[token])
}

// variance returns the variance of the logits of the middle.
func variance(l look, g gains) float64 {
	var sum, squares float64
	end := attention.MiddleEnd(len(l.content))
	for token := attention.Sink; token < end; token++ {
		x := l.logit(token, g)
		sum += x
		squares += float64(x * x)
	}
	n := float64(end - attention.Sink)
	return max(0, squares/n-float64(float64(sum/n)*float64(sum/n)))
}

// masses returns the unnormalized probability of the recent tokens and of the middle.
func (l look) masses(g gains) (recent, middle float64) {
	end := attention.MiddleEnd(len(l.content))
	for token := attention.Sink; token < len(l.content); token++ {
		x := random.Exp(max(-600, min(l.logit(token, g), 600)))
		if token < end {
			middle += x
		} else {
			recent += x
		}
	}
	return recent, middle
}
