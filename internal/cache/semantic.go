package cache

import (
	"fmt"
	"maps"

	"github.com/cachesim/cachesim/internal/metric"
	"github.com/cachesim/cachesim/internal/params"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/similarity"
)

// Choices of the parameters of the semantic cache.
const (
	matchSimilar = "similar"
	// MatchIdentity says that only the entry of the same query answers.
	MatchIdentity = "identity"
	scopeGlobal   = "global"
	scopeTopic    = "topic"
)

// Metrics of a cache that serves queries.
var (
	normalizedHitRatio = metric.Metric{Name: "normalized_hit_ratio", Unit: metric.Share, Digits: 2, Better: metric.Higher,
		Merge: metric.Apart, Column: metric.Column{At: 20, Head: "of infinite"},
		Doc: "hits / hits of the infinite cache; above 1 where similar queries answer each other better in a smaller one"}
	labelledRequests = metric.Metric{Name: "labelled_requests", Unit: metric.Count,
		Doc: "requests with a label, which says what their right answer is"}
	labelledHits = metric.Metric{Name: "labelled_hits", Unit: metric.Count,
		Doc: "those of the labelled requests that an entry with a label answers"}
	wrongHits = metric.Metric{Name: "wrong_hits", Unit: metric.Count, Better: metric.Lower,
		Doc: "those of the labelled hits that an entry with another label answers"}
	wrongAnswerRatio = metric.Metric{Name: "wrong_answer_ratio", Unit: metric.Share, Digits: 2, Better: metric.Lower,
		Merge: metric.Quotient(wrongHits, labelledRequests), Column: metric.Column{At: 60, Head: "wrong", IfAny: true},
		Doc: "wrong_hits / labelled_requests: users with a wrong answer"}
	wrongHitRatio = metric.Metric{Name: "wrong_hit_ratio", Unit: metric.Share, Digits: 2, Better: metric.Lower,
		Merge: metric.Quotient(wrongHits, labelledHits),
		Doc:   "wrong_hits / labelled_hits: answers from the cache that are wrong"}
	labelMetrics = []metric.Metric{labelledRequests, labelledHits, wrongHits, wrongAnswerRatio, wrongHitRatio}
)

var semanticEntry = Entry{
	Name: "semantic",
	Summary: "serves queries with embeddings: a query is answered by the resident entry that is most similar to it, " +
		"if that is similar enough",
	Source: "RAC: Relation-Aware Cache Replacement for Large Language Models (arXiv 2602.21547), section 2; " +
		"zilliztech/GPTCache",
	Metrics:     append([]metric.Metric{normalizedHitRatio}, labelMetrics...),
	ObjectsOnly: true,
	Queries:     true,
	OneByOne:    true,
	Params: []params.Param{
		{
			Name:    "tau",
			Default: 0.85,
			Min:     -1,
			Max:     1,
			Doc:     "a resident entry answers a query from this similarity (cosine) on",
		},
		{Name: "match", Default: matchSimilar, Choices: []string{matchSimilar, MatchIdentity}, Doc: "what hits: similar: " +
			"the nearest resident entry from tau on ; identity: " +
			"the entry of the same query id alone, though policies still see similarities"},
		{Name: "scope", Default: scopeGlobal, Choices: []string{scopeGlobal, scopeTopic}, Doc: "where an answer is looked " +
			"for: global: among all entries ; topic: among those in " +
			"the topic of the query, for policies that sort entries into topics"},
	},
	Check: checkSemantic,
	New:   func(c Config) (Cache, error) { return newSemantic(c) },
}

func checkSemantic(v params.Values, p policies.Entry) error {
	if v.Text("match") == MatchIdentity {
		return nil
	}
	switch {
	case p.Kind == policies.Offline && !p.Similar:
		return fmt.Errorf("policy %s knows when the same query comes again, which is not what hits in a semantic cache; "+
			"write farthest-similar, or semantic(match=%s)",
			p.Name, MatchIdentity)
	case p.Predicts:
		return fmt.Errorf("policy %s asks when the same query comes again, which is not what hits in a semantic cache; "+
			"write semantic(match=%s)", p.Name, MatchIdentity)
	}
	return nil
}

// IdentityOnly is a threshold that no similarity reaches: only the entry of the same query answers.
const IdentityOnly = 2

// HitFrom returns the similarity from which on an entry answers a query in a cache: IdentityOnly where that takes the same
// object.
func HitFrom(c Spec) float64 {
	if !c.Entry.Queries {
		return IdentityOnly
	}
	return semanticHitFrom(c.Params)
}

// Tau returns the threshold that a cache names, whether queries hit by it or by identity.
func Tau(c Spec) float64 {
	if !c.Entry.Queries {
		return IdentityOnly
	}
	return c.Params.Float("tau")
}

// AnswersSimilar reports whether entries answer other queries than their own in a cache.
func AnswersSimilar(c Spec) bool { return HitFrom(c) <= 1 }

// InAllTopics returns a cache of queries that looks for answers among all entries. What a policy could have had
// elsewhere counts against it, and a reference that sorts nothing into topics can be replayed there.
func InAllTopics(c Spec) Spec {
	c.Params = maps.Clone(c.Params)
	c.Params["scope"] = scopeGlobal
	return c
}

// semanticHitFrom returns the similarity from which on an entry answers a query in a semantic cache with these
// parameters.
func semanticHitFrom(v params.Values) float64 {
	if v.Text("match") == MatchIdentity {
		return IdentityOnly
	}
	return v.Float("tau")
}

// Semantic is a cache of queries, each one an entry of size 1. A query hits where some resident entry is at least so
// similar to it as the threshold says, or is its own. Its own entry is touched if it is resident, otherwise the most
// similar one, of equals that which came first in the trace. A query that misses becomes an entry itself; that of a
// query that hits is not kept. So no two entries that are resident at the same time could answer each other, unless the
// cache looks within topics only.
type Semantic struct {
	entries    *Exact                 // what is resident, and who leaves for a query that misses
	scoper     policies.Scoper        // nil where the whole cache is looked through
	neighbours *similarity.Neighbours // nil where only its own entry answers a query
	from       float32                // similarity from which on an entry answers
	// per object: label of the right answer, -1 where it is not known; nil without labels
	answers []int32
}

func newSemantic(c Config) (*Semantic, error) {
	p, err := c.Policy.Entry.New(c.PolicyConfig())
	if err != nil {
		return nil, err
	}
	s := &Semantic{entries: NewExact(p, c.Capacity, c.Trace.NumObjects), from: float32(semanticHitFrom(c.Params))}
	if s.from <= 1 {
		s.neighbours = c.Neighbours
	}
	if c.Trace.Queries != nil {
		s.answers = c.Trace.Queries.Answers
	}
	if c.Params.Text("scope") == scopeTopic {
		ok := false
		if s.scoper, ok = p.(policies.Scoper); !ok {
			return nil, fmt.Errorf("it sorts nothing into topics, which semantic(scope=%s) asks for", scopeTopic)
		}
	}
	return s, nil
}

// Counters implements Reporting.
func (s *Semantic) Counters() []policies.Counter { return s.entries.Counters() }

// Serve implements Cache.
func (s *Semantic) Serve(w Window, n *Counts) {
	r := policies.Request{Size: 1}
	for i, o := range w.Objects {
		r.Object, r.Query, r.Pos = o, o, w.First+i
		if w.Times != nil {
			r.Time = w.Times[i]
		}
		if s.entries.expirer != nil {
			s.entries.expire(r.Time, n)
		}
		entry, hit := s.lookup(r)
		if s.answers != nil {
			s.judge(o, entry, hit, n)
		}
		if !hit {
			s.entries.miss(r, n)
			continue
		}
		n.Hits++
		r.Object = entry
		s.entries.policy.Hit(r)
	}
	n.Requests += int64(len(w.Objects))
}

// lookup returns the entry that answers a query: its own, in whichever topic that is, or the nearest one.
func (s *Semantic) lookup(r policies.Request) (entry policies.Object, ok bool) {
	if s.entries.Resident(r.Query) {
		return r.Query, true
	}
	if s.neighbours == nil {
		return 0, false
	}
	ids, similarities := s.neighbours.Of(r.Query)
	for i, id := range ids {
		if similarities[i] < s.from {
			break
		}
		if s.holds(r, id) {
			return id, true
		}
	}
	return 0, false
}

// holds reports whether o is resident where the answer to r is looked for.
func (s *Semantic) holds(r policies.Request, o policies.Object) bool {
	return s.entries.Resident(o) && (s.scoper == nil || s.scoper.InScope(r, o))
}

// judge counts whether an entry answers a query as its label says.
func (s *Semantic) judge(query, entry policies.Object, hit bool, n *Counts) {
	want := s.answers[query]
	if want < 0 {
		return
	}
	n.Labelled++
	if !hit || s.answers[entry] < 0 {
		return
	}
	n.LabelledHits++
	if s.answers[entry] != want {
		n.WrongHits++
	}
}
