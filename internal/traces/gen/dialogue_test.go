package gen

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/similarity"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// dialogueSession is a session as its records show it.
type dialogueSession struct {
	topic   string
	answers []string
}

// fatalist is what tests and property tests have in common.
type fatalist interface {
	Fatalf(format string, args ...any)
}

// sessionsOf returns the sessions of a trace. None may be split, or have two topics.
func sessionsOf(t fatalist, records []stream.Record) (sessions []dialogueSession) {
	seen := map[string]bool{}
	last := ""
	for i, rec := range records {
		q := queries.HeadOf(&rec)
		if name := string(q.Session); name != last {
			if seen[name] {
				t.Fatalf("request %d: session %s comes in two parts", i, name)
			}
			seen[name], last = true, name
			sessions = append(sessions, dialogueSession{topic: string(q.Topic)})
		}
		s := &sessions[len(sessions)-1]
		if s.topic != string(q.Topic) {
			t.Fatalf("request %d: session %s is of topics %s and %s", i, last, s.topic, q.Topic)
		}
		s.answers = append(s.answers, string(q.Answer))
	}
	return sessions
}

// longShare returns the share of reuses with more than capacity other answers since the last use. It keeps a list with
// the last one in front.
func longShare(records []stream.Record, capacity int) float64 {
	var stack []string
	long, reuses := 0, 0
	for _, rec := range records {
		answer := string(queries.HeadOf(&rec).Answer)
		distance := slices.Index(stack, answer)
		if distance >= 0 {
			reuses++
			stack = slices.Delete(stack, distance, distance+1)
		}
		if distance > capacity {
			long++
		}
		stack = slices.Insert(stack, 0, answer)
	}
	return float64(long) / float64(reuses)
}

// mostLikely returns the exponent of Zipf's law, in steps of 0.001, that gives the sessions by topic the highest
// likelihood.
func mostLikely(sessions []dialogueSession, topics int) float64 {
	var sum float64
	for _, s := range sessions {
		rank, _ := strconv.Atoi(strings.TrimPrefix(s.topic, "t"))
		sum += math.Log(float64(rank))
	}
	best, least := 0.0, math.Inf(1)
	for exponent := 0.0; exponent < 3; exponent += 0.001 {
		var weights float64
		for r := 1; r <= topics; r++ {
			weights += math.Pow(float64(r), -exponent)
		}
		if cost := exponent*sum/float64(len(sessions)) + math.Log(weights); cost < least {
			best, least = exponent, cost
		}
	}
	return best
}

// The targets on the axes of the paper's figure 2 are hit within a point, as measured from the trace alone.
func TestDialogueHitsItsTargets(t *testing.T) {
	all := []struct{ zipf, long float64 }{{0.7, 0.5}, {0.7, 0.7}, {0.7, 0.9}, {0.9, 0.5}, {1.2, 0.5}}
	for i, c := range all[:brief.Of(5, 2)] {
		spec := fmt.Sprintf("dialogue(zipf=%v,long=%v,seed=%d,dim=64)", c.zipf, c.long, i)
		records := readAll(t, spec)
		if len(records) != 10_000 {
			t.Errorf("%s: %d requests", spec, len(records))
		}
		if got := longShare(records, 1000); math.Abs(got-c.long) > 0.01 {
			t.Errorf("%s: %.4f of the reuses are long", spec, got)
		}
		sessions := sessionsOf(t, records)
		if got := mostLikely(sessions, 120); math.Abs(got-c.zipf) > 0.01 {
			t.Errorf("%s: the exponent is %.3f", spec, got)
		}
		for _, s := range sessions {
			if len(s.answers) < 4 || len(s.answers) > 12 {
				t.Fatalf("%s: a session of %d queries", spec, len(s.answers))
			}
		}
	}
}

// A repeated session has the same queries in the same order, and private queries belong to one session.
func TestDialogueSessionsComeAgainWhole(t *testing.T) {
	sessions := sessionsOf(t, readAll(t, "dialogue(seed=3,dim=64)"))
	sessionWith, repeats, lengths := map[string]int{}, 0, make([]float64, 9)
	families := map[string]map[string]bool{}
	for i, s := range sessions {
		anchor, last := s.answers[0], s.answers[len(s.answers)-1]
		if families[s.topic] == nil {
			families[s.topic] = map[string]bool{}
		}
		families[s.topic][anchor] = true
		lengths[len(s.answers)-4]++
		if before, ok := sessionWith[last]; !ok {
			sessionWith[last] = i
		} else if repeats++; !slices.Equal(s.answers, sessions[before].answers) {
			t.Fatalf("sessions %v and %v end alike", s.answers, sessions[before].answers)
		}
	}
	if share := float64(repeats) / float64(len(sessions)); share < 0.35 || share > 0.5 {
		t.Errorf("%.2f of the sessions came before, want 0.5 but for those that could not", share)
	}
	for topic, anchors := range families {
		if len(anchors) > 4 {
			t.Errorf("topic %s has sessions with %d first queries, want one for each of 4 families", topic, len(anchors))
		}
	}
	for i, n := range lengths {
		if share := n / float64(len(sessions)); math.Abs(share-1.0/9) > 0.05 {
			t.Errorf("%.3f of the sessions have %d queries", share, i+4)
		}
	}
}

// load returns a generated trace with its queries.
func load(t *testing.T, spec string) *traces.Trace {
	t.Helper()
	g := open(t, spec)
	trace := must.Get(read.LoadReader(t.Context(), spec, g, g.Fields, int64(g.Requests()),
		read.Options{Needs: traces.Needs{Kind: true, Times: true, Keys: true}}))(t)
	if len(trace.Objects) != g.Requests() {
		t.Errorf("%s: %d requests, %d announced", spec, len(trace.Objects), g.Requests())
	}
	return trace
}

// Similarities follow from the construction.
func TestDialogueSimilarities(t *testing.T) {
	trace := load(t, "dialogue(requests=2000,capacity=200,seed=1)")
	q := queries.Of(trace.Kind)
	if q.Dim != 384 || q.NumTopics > 120 || q.NumSessions != 250 || q.NumAnswers == trace.NumObjects {
		t.Fatalf("dim %d, %d topics, %d sessions, %d answers of %d queries", q.Dim, q.NumTopics, q.NumSessions,
			q.NumAnswers, trace.NumObjects)
	}
	plan := open(t, "dialogue(requests=2000,capacity=200,seed=1)").records.(*dialogueTrace).plan
	// The first query of an answer is its first wording; its key is the number of the question, plus one.
	anchorOf := map[uint64]uint64{}
	for _, number := range plan.order {
		var anchor uint64
		for _, question := range plan.questionsOf(number) {
			if plan.isAnchor(question) {
				anchor = uint64(question) + 1
			}
			anchorOf[uint64(question)+1] = anchor
		}
	}
	vectors := similarity.Vectors{Dim: q.Dim, Data: q.Vectors}
	measured := map[string][]float64{}
	for i := range trace.NumObjects {
		for j := range i {
			a, b := trace.Keys[j].Num, trace.Keys[i].Num
			kind := kindOfPair(q, i, j, a, b, anchorOf)
			measured[kind] = append(measured[kind], float64(vectors.Similarity(j, i)))
		}
	}
	for kind, want := range map[string]struct{ mean, deviation float64 }{
		"first wording and another":       {math.Sqrt(0.93), 1e-6},
		"other wordings":                  {0.93, 0.07 / math.Sqrt(384)},
		"anchor and what follows it":      {0.45 + math.Sqrt(0.055), 1e-6},
		"following the same anchor":       {0.55, 0.45 / math.Sqrt(384)},
		"an anchor and others of a topic": {0.45, 1e-6},
		"others of a topic":               {0.45, 0.45 / math.Sqrt(384)},
		"of two topics":                   {0, 1 / math.Sqrt(384)},
	} {
		mean, deviation := stat.MeanStdDev(measured[kind], nil)
		// There are far fewer topics than pairs of queries, so the mean of all pairs is not as near to 0 as their
		// number suggests.
		if n := len(measured[kind]); n < 20 || math.Abs(mean-want.mean) > 0.002+want.deviation/8 ||
			deviation > 1.3*want.deviation+1e-6 || deviation < want.deviation/2-1e-6 {
			t.Errorf("%s: %d pairs of mean %.4f and deviation %.4f, want %.4f and %.4f", kind, n, mean, deviation,
				want.mean, want.deviation)
		}
	}
}

// kindOfPair returns how two queries relate; "" if a rewording of one makes it another case.
func kindOfPair(q *queries.Columns, i, j int, a, b uint64, anchorOf map[uint64]uint64) string {
	first := func(key uint64) bool { return anchorOf[key] != 0 }
	switch {
	case q.Answers[i] == q.Answers[j] && (first(a) || first(b)):
		return "first wording and another"
	case q.Answers[i] == q.Answers[j]:
		return "other wordings"
	case !first(a) || !first(b):
		return ""
	case q.Topics[i] != q.Topics[j]:
		return "of two topics"
	case anchorOf[a] == b || anchorOf[b] == a:
		return "anchor and what follows it"
	case anchorOf[a] == a || anchorOf[b] == b:
		return "an anchor and others of a topic"
	case anchorOf[a] == anchorOf[b]:
		return "following the same anchor"
	}
	return "others of a topic"
}

// With paraphrases=0 each answer has one query; with 1 no query is repeated.
func TestDialogueParaphrases(t *testing.T) {
	for paraphrases, wantQueries := range map[int]func(answers, requests int) int{
		0: func(answers, _ int) int { return answers },
		1: func(_, requests int) int { return requests },
	} {
		trace := load(t, fmt.Sprintf("dialogue(requests=2000,capacity=200,paraphrases=%d,dim=64)", paraphrases))
		if want := wantQueries(queries.Of(trace.Kind).NumAnswers, len(trace.Objects)); trace.NumObjects != want {
			t.Errorf("paraphrases=%d: %d queries, want %d", paraphrases, trace.NumObjects, want)
		}
	}
}

// With require-anchor each query that is not an anchor comes right after its anchor, word for word; without these
// requests the trace is the same.
func TestDialogueRequiresAnchors(t *testing.T) {
	const spec = "dialogue(requests=1000,capacity=100,dim=64,seed=1"
	plain, required := readAll(t, spec+")"), readAll(t, spec+",require-anchor=true)")
	anchors := uint64(120 * 4 * maxAnchors)
	var left []stream.Record
	for i, rec := range required {
		answer, _ := strconv.ParseUint(strings.TrimPrefix(string(queries.HeadOf(&rec).Answer), "q"), 10, 64)
		if answer <= anchors {
			continue
		}
		if i == 0 || required[i-1].Num > anchors ||
			string(queries.HeadOf(&required[i-1]).Session) != string(queries.HeadOf(&rec).Session) {
			t.Fatalf("request %d, for %d, is not preceded by its anchor", i, rec.Num)
		}
		left = append(left, rec)
	}
	others := slices.DeleteFunc(plain, func(rec stream.Record) bool {
		answer, _ := strconv.ParseUint(strings.TrimPrefix(string(queries.HeadOf(&rec).Answer), "q"), 10, 64)
		return answer <= anchors
	})
	if len(required) != 1000+len(left) || len(others) != len(left) {
		t.Fatalf("%d requests with anchors, of which %d are others; %d without", len(required), len(left), len(others))
	}
	for i := range left {
		if left[i].Num != others[i].Num || !slices.Equal(queries.HeadOf(&left[i]).Vector,
			queries.HeadOf(&others[i]).Vector) {
			t.Fatalf("request %d without anchors is for %d, not %d", i, left[i].Num, others[i].Num)
		}
	}
}

// For any parameters, the result is an error or a trace of whole sessions that hits its targets.
func TestDialogueProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := func(name string, values ...float64) float64 { return rapid.SampledFrom(values).Draw(t, name) }
		requests, capacity, long := int(one("requests", 1000, 2000,
			3000)), int(one("capacity", 40, 100, 150)), one("long", 0.3, 0.5, 0.7)
		checkDialogue(
			t,
			fmt.Sprintf(
				"requests=%d,capacity=%d,long=%v,topics=%v,sessions=%v,families=%v,zipf=%v,repeats=%v,seed=%d",
				requests,
				capacity,
				long,
				one("topics", 10, 40),
				one("sessions", 40, 200),
				one("families", 4, 7),
				one("zipf", 0, 0.7, 1),
				one("repeats", 0.3, 0.5),
				rapid.IntRange(0, 1<<40).Draw(t, "seed"),
			),
			requests,
			capacity,
			long,
		)
	})
	rapid.Check(t, func(t *rapid.T) {
		requests, capacity, long := rapid.IntRange(4, 1000).Draw(t, "requests"), rapid.IntRange(1, 1000).Draw(t,
			"capacity"), rapid.Float64Range(0, 1).Draw(t, "long")
		checkDialogue(t, fmt.Sprintf("requests=%d,capacity=%d,long=%v,topics=%d,sessions=%d,families=%d,zipf=%v,repeats=%v",
			requests, capacity, long,
			rapid.IntRange(1, 100).Draw(t, "topics"), rapid.IntRange(1, 100).Draw(t, "sessions"), rapid.IntRange(1, 30).Draw(t,
				"families"),
			rapid.Float64Range(0, 10).Draw(t, "zipf"), rapid.Float64Range(0, 1).Draw(t, "repeats")), requests, capacity, long)
	})
}

func checkDialogue(t *rapid.T, given string, requests, capacity int, long float64) {
	spec, err := Parse("dialogue(dim=64,"+given+")", "")
	must.Do(t, err)
	g, err := New(t.Context(), spec, nil)
	if err != nil {
		return
	}
	var records []stream.Record
	var rec stream.Record
	for g.Read(&rec) == nil {
		records = append(records, stream.Record{Num: rec.Num, Extra: rec.Extra.Clone()})
	}
	times, most := map[string]int{}, 0
	for _, s := range sessionsOf(t, records) {
		last := s.answers[len(s.answers)-1]
		times[last]++
		most = max(most, times[last])
	}
	if off := max(len(records)-requests, requests-len(records)); len(records) != g.Requests() || 2*off > most {
		t.Fatalf("%d requests, want %d, with at most half of the %d that one query of the session that is asked most "+
			"makes; %d announced",
			len(records), requests, most, g.Requests())
	}
	if got := longShare(records, capacity); math.Abs(got-long) > within {
		t.Fatalf("%.4f of the reuses are long, want %v", got, long)
	}
}

func TestDialogueErrors(t *testing.T) {
	checkRefused(t, map[string]string{
		"dialogue(requests=3)":                         "from 4",
		"dialogue(requests=100)":                       "the topics of 13 sessions reach only the exponent",
		"dialogue(long=1.5)":                           "from 0 to 1",
		"dialogue(long=0.9,zipf=1.2)":                  "more families",
		"dialogue(requests=900,topics=1,sessions=300)": "reaches only 0.000; use more requests",
		"dialogue(requests=10000,long=0)":              "a larger capacity",
		"dialogue(topics=1,requests=8)":                "no query is repeated",
		"dialogue(a=0.7,b=0.4)":                        "a sum of at most 1",
		"dialogue(dim=63)":                             "from 64",
		"dialogue(dim=64,families=40)":                 "need more than 82",
		"dialogue(topics=1000000,sessions=1000)":       "at most 16777216",
		"dialogue(size=512)":                           `unknown parameter "size"`,
		"dialogue(rate=0.000001)":                      "292 years",
		"rac-example(seed=1)":                          `unknown parameter "seed"`,
		"mixed(phases=dialogue:100)":                   "generators of prompts, queries or reads of files cannot be phases",
	})
}

// The example has the order and the labels of the paper, and its similarities except those between others of a topic.
// In further rounds only the anchors return, and everything is as similar as in the example.
func TestRACExampleInMoreRounds(t *testing.T) {
	const rounds = 7
	trace := load(t, "rac-example(rounds=7)")
	seen := map[string]int{}
	for i, o := range trace.Objects {
		name := trace.Keys[o].Text
		if anchor := name == "a0" || name == "b2"; seen[name] > 0 != (anchor && i >= 12) {
			t.Errorf("query %d, %s, was seen %d times before", i, name, seen[name])
		}
		seen[name]++
	}
	if len(trace.Objects) != 12*rounds || seen["a0"] != rounds || seen["b2"] != rounds {
		t.Errorf("%d queries, %d times a0 and %d times b2, want %d rounds of 12", len(trace.Objects), seen["a0"],
			seen["b2"], rounds)
	}
	q := queries.Of(trace.Kind)
	vectors := similarity.Vectors{Dim: q.Dim, Data: q.Vectors}
	last, anchor := trace.NumObjects-1, trace.Objects[8]
	if got := float64(vectors.Similarity(last, int(anchor))); math.Abs(got-0.75) > 1e-6 {
		t.Errorf("the last query and b2 are %.4f similar, want 0.75", got)
	}
}

func TestRACExample(t *testing.T) {
	trace := load(t, "rac-example")
	q := queries.Of(trace.Kind)
	names := make([]string, trace.NumObjects)
	for i, key := range trace.Keys {
		names[i] = key.Text
	}
	var order []string
	for _, o := range trace.Objects {
		order = append(order, names[o])
	}
	const want = "a0 a1 a2 a3 a4 a5 b0 b1 b2 b3 b4 b5 a0 a1* a2* a3* a4* a5* b0* b1* b2 b3* b4* b5*"
	if got := strings.Join(order, " "); got != want || q.NumTopics != 2 || q.NumSessions != 4 || q.NumAnswers != 22 {
		t.Errorf("%s, %d topics, %d sessions, %d answers", got, q.NumTopics, q.NumSessions, q.NumAnswers)
	}
	vectors := similarity.Vectors{Dim: q.Dim, Data: q.Vectors}
	for i, a := range names {
		for j, b := range names[:i] {
			want := 0.1 + 0.65*0.65/0.9
			switch {
			case a[0] != b[0]:
				want = 0.1
			case a == "a0" || a == "b2" || b == "a0" || b == "b2":
				want = 0.75
			}
			if got := float64(vectors.Similarity(i, j)); math.Abs(got-want) > 1e-6 {
				t.Errorf("%s and %s are %.4f similar, want %.4f", a, b, got, want)
			}
		}
	}
}

// TestDialoguePopularityDrifts: at the end the most popular topic is as far from the first one as drift says.
func TestDialoguePopularityDrifts(t *testing.T) {
	for drift, want := range map[string]int{"0": 0, "0.25": 30, "0.5": 60} {
		spec := must.Get(Parse("dialogue(zipf=1.2,requests=40000,drift="+drift+")", ""))(t)
		p := must.Get(newDialoguePlan(spec.Params))(t)
		counts := make([]int, p.topics)
		for _, topic := range p.topicOf[len(p.topicOf)*9/10:] {
			counts[topic]++
		}
		best := slices.Index(counts, slices.Max(counts))
		if off := (best - want + p.topics) % p.topics; min(off, p.topics-off) > 6 {
			t.Errorf("drift=%s: the most popular topic at the end is number %d, want about %d", drift, best, want)
		}
	}
}
