package gen

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var dialogueParams = []params.Param{
	{Name: "topics", Default: 120, Min: 1, Max: 1 << 20, Doc: "number of topics"},
	{Name: "sessions", Default: 40, Min: 1, Max: 1 << 16, Doc: "different sessions of a topic, each of 4 to 12 queries"},
	{Name: "families", Default: 4, Min: 1, Max: 1 << 10, Doc: "families per topic: groups of sessions that share one " +
		"or two anchor queries"},
	{Name: "requests", Default: 10_000, Min: 4, Max: 1 << 28, Doc: "number of queries in all sessions together, without " +
		"what require-anchor adds"},
	{Name: "zipf", Default: 0.7, Min: 0, Max: 10, Doc: "exponent of the popularity of the topics, counted in sessions"},
	{Name: "drift", Default: 0.0, Min: 0, Max: 1000, Doc: "by how many topics, as a share of all, their popularity " +
		"moves on over the trace"},
	{Name: "repeats", Default: 0.5, Min: 0, Max: 1, Doc: "share of the sessions that repeat an earlier one of their " +
		"topic"},
	{Name: "long", Default: 0.5, Min: 0, Max: 1, Doc: "share of the reuses that are long: with more than capacity other " +
		"queries since the last use"},
	{Name: "capacity", Default: 1000, Min: 1, Max: 1 << 28, Doc: "distinct queries beyond which a reuse is long"},
	{Name: "paraphrases", Default: 0.5, Min: 0, Max: 1, Doc: "share of the reuses that are reworded: they get a query " +
		"id of their own, of similarity 0.964"},
	{Name: "require-anchor", Default: false, Doc: "each query that follows an anchor is preceded by a request for it"},
	{Name: "dim", Default: 384, Min: 64, Max: 1 << 14, Doc: "numbers in an embedding"},
	{Name: "a", Default: 0.45, Min: 0, Max: 1, Doc: "similarity of queries of one topic that are not related otherwise"},
	{Name: "b", Default: 0.10, Min: 0, Max: 1, Doc: "what following the same anchor adds to the similarity of two " +
		"queries"},
	rateParam(1, "requests"),
	seedParam,
}

// dialogueTrace is the queries of a generated trace of dialogues, in order.
//
// A question is what is asked, in any words: the entry that a cache should have. It is identified by a number. A query
// is one wording of it and has an id.
type dialogueTrace struct {
	plan          *dialoguePlan
	space         *dialogueSpace
	paraphrases   float64
	requireAnchor bool
	rate          float64
	total         int

	bits     *rand.PCG // of paraphrases
	asked    []bool    // per question
	reworded uint64    // paraphrases returned so far

	given   int // requests so far
	episode int // next
	turns   []dialogueTurn
	turn    int // index of the next turn of the current session

	head                   queries.Head
	sessionText, topicText []byte
	answerText             []byte
}

// dialogueTurn is a request of a session.
type dialogueTurn struct {
	question int
	anchor   int  // the anchor that it follows, -1 for an anchor itself
	again    bool // requested because of what follows it: see require-anchor
}

func newDialogueTrace(v params.Values) (RecordSource, error) {
	if a, b := v.Float("a"), v.Float("b"); a+b > 1 {
		return nil, fmt.Errorf("a=%v, b=%v: want a sum of at most 1; the rest is each query's own share", a, b)
	}
	if need := 2 + maxAnchors*v.Int("families"); v.Int("dim") <= need {
		return nil, fmt.Errorf("dim=%d: the directions of %d families need more than %d dimensions", v.Int("dim"),
			v.Int("families"), need)
	}
	if n := v.Int("topics") * max(v.Int("sessions"), v.Int("families")); n > maxPool {
		return nil, fmt.Errorf("%d sessions or families of all topics: want at most %d", n, maxPool)
	}
	plan, err := newDialoguePlan(v)
	if err != nil {
		return nil, err
	}
	seed := uint64(v.Int("seed"))
	t := &dialogueTrace{
		plan: plan, space: newDialogueSpace(v.Int("dim"), v.Float("a"), v.Float("b"), seed),
		paraphrases: v.Float("paraphrases"), requireAnchor: v.Bool("require-anchor"), rate: v.Float("rate"),
		bits: random.Stream(seed, paraphraseBits), asked: make([]bool, plan.questions()),
	}
	t.total = t.countRequests()
	return t, checkClock(t.total, t.rate)
}

// maxPool bounds the memory of the sessions that a trace is made from.
const maxPool = 1 << 24

func (t *dialogueTrace) Fields() stream.Fields {
	return stream.Fields{Time: t.rate > 0, Kind: queries.Kind{}}
}

func (t *dialogueTrace) Requests() int { return t.total }

func (t *dialogueTrace) Measured() string {
	p := t.plan
	return fmt.Sprintf("%d requests in %d sessions of %d topics, exponent of Zipf's law %.3f (wanted: %v); %d reuses of "+
		"%d queries, %.1f%% long (wanted: %v%%)",
		t.total, len(p.order), p.topics, p.gotZipf, p.zipf, p.reuses, p.distinct, 100*p.share, 100*p.long)
}

// countRequests returns the length of the trace, which require-anchor makes longer than the plan.
func (t *dialogueTrace) countRequests() int {
	n := 0
	for _, number := range t.plan.order {
		n += len(t.turnsOf(number))
	}
	return n
}

// turnsOf returns the requests of a session, valid until the next call.
func (t *dialogueTrace) turnsOf(number int32) []dialogueTurn {
	t.turns = t.turns[:0]
	anchor := -1
	for _, question := range t.plan.questionsOf(number) {
		if t.plan.isAnchor(question) {
			anchor = question
			t.turns = append(t.turns, dialogueTurn{question: question, anchor: -1})
			continue
		}
		if t.requireAnchor {
			t.turns = append(t.turns, dialogueTurn{question: anchor, anchor: -1, again: true})
		}
		t.turns = append(t.turns, dialogueTurn{question: question, anchor: anchor})
	}
	return t.turns
}

// Read implements RecordSource. Only a question that was asked before can be reworded: its first wording defines it.
func (t *dialogueTrace) Read(rec *stream.Record) error {
	if t.turn == len(t.turns) || t.given == 0 {
		if t.given == t.total {
			return io.EOF
		}
		t.beginSession()
	}
	turn := t.turns[t.turn]
	t.turn++
	*rec = stream.Record{Num: uint64(turn.question) + 1, Time: timeOf(t.given, t.rate), Extra: &t.head}
	t.given++
	t.head.Vector = t.space.question(turn.question, turn.anchor)
	if !turn.again && t.asked[turn.question] && random.Unit(t.bits) < t.paraphrases {
		t.reworded++
		rec.Num = uint64(len(t.asked)) + t.reworded
		t.head.Vector = t.space.paraphrase(t.reworded)
	}
	t.asked[turn.question] = true
	t.answerText = strconv.AppendInt(append(t.answerText[:0], 'q'), int64(turn.question)+1, 10)
	t.head.Answer = t.answerText
	return nil
}

// beginSession moves to the next session.
func (t *dialogueTrace) beginSession() {
	number := t.plan.order[t.episode]
	t.episode++
	t.turnsOf(number)
	t.turn = 0
	topic := t.plan.pool[number].topic
	t.space.enter(int(topic), t.plan.anchorsOfTopic(int(topic)))
	t.topicText = strconv.AppendInt(append(t.topicText[:0], 't'), int64(topic)+1, 10)
	t.sessionText = strconv.AppendInt(append(t.sessionText[:0], 's'), int64(t.episode), 10)
	t.head.Topic, t.head.Session = t.topicText, t.sessionText
}
