package datasets

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var qqpFormat = source.Format{
	Name: "qqp",
	Options: []params.Param{
		{Name: "requests", Default: 0, Min: 0, Doc: "number of requests; 0: as many as one visit per cluster gives"},
		{Name: "repeats", Default: 0, Min: 0, Max: 1e6, Doc: "repeats per visit; 0: enough to ask each " +
			"question of the cluster once"},
		{Name: "distance", Default: 100, Min: 0, Max: 1e9, Doc: "mean number of other requests between two questions of a " +
			"visit"},
		{Name: "gaps", Default: "geometric", Choices: []string{"geometric", "uniform", "lognormal", "fixed"},
			Doc: "distribution of that number: geometric, uniform from 0 to twice the mean, lognormal with twice the mean as " +
				"standard deviation, or always the mean"},
		{Name: "exact", Default: 0.0, Min: 0, Max: 1,
			Doc: "share of the repeats that ask the last question again word for word"},
		{Name: "alpha", Default: 0.0, Min: 0, Max: 10, Doc: "Zipf exponent of the popularity of clusters; 0: every cluster " +
			"is visited once before any is repeated"},
		{Name: "seed", Default: 0, Min: 0, Doc: "seed of all random choices"},
	},
	JSON:   true,
	Detect: source.CertainIf(func(head source.Head) bool { return source.LooksLikeJSONArray(head, "origin", "similar") }),
	Open:   openQQP,
}

// Purposes of the random bits of a stream of questions.
const (
	qqpOrderBits = iota + 1
	qqpVisitBits
	qqpGapBits
	qqpExactBits
)

// questionPairs are questions and which of them have the same meaning, as a forest of their numbers (union-find).
type questionPairs struct {
	numbers map[string]int32
	texts   [][]byte
	parents []int32
}

func openQQP(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	src.Reading.Request = "questions as queries in a generated order"
	pairs := &questionPairs{numbers: map[string]int32{}}
	err := src.ScanArray("file of question pairs", pairs.read)
	if err != nil {
		return nil, stream.Fields{}, err
	}
	clusters := pairs.clusters()
	if len(clusters) == 0 {
		return nil, stream.Fields{}, src.Errorf("holds no pairs of questions")
	}
	return openQueries(newQuestionStream(clusters, src.NextNumber(), opts).next)
}

func (p *questionPairs) read(s *source.JSONScanner) error {
	var origin, similar []byte
	err := s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "origin":
			origin, err = s.Words()
		case "similar":
			similar, err = s.Words()
		default:
			err = s.Skip()
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case origin == nil || similar == nil:
		return fmt.Errorf("a pair without origin or similar")
	}
	one, other := p.root(p.number(origin)), p.root(p.number(similar))
	p.parents[max(one, other)] = min(one, other) // so that a root is the first question of its cluster
	return nil
}

// number returns the number of a question, in order of first appearance.
func (p *questionPairs) number(text []byte) int32 {
	n, ok := p.numbers[string(text)]
	if !ok {
		n = int32(len(p.texts))
		p.numbers[string(text)] = n
		p.texts = append(p.texts, text)
		p.parents = append(p.parents, n)
	}
	return n
}

// root returns the first known question of the cluster of a question.
func (p *questionPairs) root(n int32) int32 {
	for p.parents[n] != n {
		p.parents[n] = p.parents[p.parents[n]] // path halving: later searches are short
		n = p.parents[n]
	}
	return n
}

// clusters returns the clusters of questions with the same meaning. Clusters and their questions are in order of first
// appearance.
func (p *questionPairs) clusters() (clusters [][][]byte) {
	of := make([]int, len(p.texts)) // per question that is a root: its cluster
	for n, text := range p.texts {
		root := p.root(int32(n))
		if int(root) == n {
			of[n] = len(clusters)
			clusters = append(clusters, nil)
		}
		clusters[of[root]] = append(clusters[of[root]], text)
	}
	return clusters
}

// questionStream generates requests for questions. A visit to a cluster asks one of its questions and repeats it with
// others. Each repeat is due a random number of requests after the previous question, and takes the first free place
// from there on. Every place for which no repeat is due begins a visit. So distances are as drawn, plus the few
// requests that wait for the same place.
type questionStream struct {
	clusters   []questionCluster
	popularity random.Zipf // nil: one cluster after another, repeatedly
	requests   int         // left; -1: until all visits are over
	visits     int         // begun
	repeats    int         // per visit; 0: as many as the cluster has further questions
	gap        func() int
	exact      float64

	visitBits, exactBits *rand.PCG

	due   visitHeap
	place int
}

// questionCluster is a cluster and how far it has been asked.
type questionCluster struct {
	name      []byte
	questions [][]byte // in the order in which they are asked
	asked     int      // questions so far, repeatedly
}

// newQuestionStream gives clusters and the questions of each a random order.
func newQuestionStream(clusters [][][]byte, file int, opts params.Values) *questionStream {
	seed := uint64(opts.Int("seed"))
	s := &questionStream{
		requests: opts.Int("requests"), repeats: opts.Int("repeats"), exact: opts.Float("exact"),
		gap:       newGaps(opts.Text("gaps"), opts.Int("distance"), random.Stream(seed, qqpGapBits)),
		visitBits: random.Stream(seed, qqpVisitBits), exactBits: random.Stream(seed, qqpExactBits),
	}
	if s.requests == 0 {
		s.requests = -1
	}
	order := random.Stream(seed, qqpOrderBits)
	for i, questions := range clusters {
		random.Shuffle(order, questions)
		s.clusters = append(s.clusters, questionCluster{name: scopedName(file, strconv.AppendInt(nil, int64(i), 10)),
			questions: questions})
	}
	random.Shuffle(order, s.clusters)
	if alpha := opts.Float("alpha"); alpha > 0 {
		s.popularity = random.NewZipf(len(clusters), alpha)
	}
	return s
}

// newGaps returns a function that draws how many other requests come between two questions, of that mean.
func newGaps(kind string, mean int, bits *rand.PCG) func() int {
	switch {
	case kind == "fixed" || mean == 0:
		return func() int { return mean }
	case kind == "uniform":
		return func() int {
			n, _ := random.Below(bits, 2*mean+1)
			return n
		}
	case kind == "lognormal":
		const longest = 1e15 // fits into an int
		draw := random.Lognormal(float64(mean), 2*float64(mean))
		return func() int { return int(min(draw(bits), longest) + 0.5) }
	}
	return func() int { return random.Geometric(bits, float64(mean)+1) - 1 } // Geometric draws 1 or more
}

func (s *questionStream) next() (dialogueQuery, bool) {
	if s.requests == 0 {
		return dialogueQuery{}, false
	}
	var v visit
	switch over := s.requests < 0 && s.visits == len(s.clusters); {
	case len(s.due) > 0 && (over || s.due[0].place <= s.place):
		v = heap.Pop(&s.due).(visit)
	case over:
		return dialogueQuery{}, false
	default:
		v = s.begin()
	}
	if s.requests > 0 {
		s.requests--
	}
	c := &s.clusters[v.cluster]
	if v.question < 0 || s.exact == 0 || random.Unit(s.exactBits) >= s.exact {
		v.question = c.asked % len(c.questions)
		c.asked++
	}
	query := dialogueQuery{text: c.questions[v.question], answer: c.name}
	if v.left > 0 {
		v.left--
		v.place = s.place + 1 + s.gap()
		heap.Push(&s.due, v)
	}
	s.place++
	return query, true
}

func (s *questionStream) begin() visit {
	v := visit{cluster: s.visits % len(s.clusters), number: s.visits, left: s.repeats, question: -1}
	if s.popularity != nil {
		v.cluster = s.popularity.Draw(s.visitBits)
	}
	if v.left == 0 {
		v.left = len(s.clusters[v.cluster].questions) - 1
	}
	s.visits++
	return v
}

// visit is a number of requests for a cluster; the next one is due at a place.
type visit struct {
	place, number int
	cluster, left int
	question      int // index of the last question in the cluster; -1 before the first
}

// visitHeap orders visits by when they are due, then by when they began. It implements heap.Interface.
type visitHeap []visit

func (h visitHeap) Len() int { return len(h) }

func (h visitHeap) Less(i, j int) bool {
	return cmp.Or(h[i].place-h[j].place, h[i].number-h[j].number) < 0
}

func (h visitHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *visitHeap) Push(x any)   { *h = append(*h, x.(visit)) }

func (h *visitHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
