// Package semantic is the cache of queries, in which an entry also answers queries that are similar to its own.
package semantic

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/similarity"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/queries"
)

// Choices of the parameters of the semantic cache.
const (
	matchSimilar  = "similar"
	matchIdentity = "identity"
	scopeGlobal   = "global"
	scopeTopic    = "topic"
)

// Metrics of a cache that serves queries.
var (
	LabelledRequests = metric.Metric{Name: "labelled_requests", Checked: true, Unit: metric.Count,
		Doc: "requests with a label, which identifies their right answer"}
	LabelledHits = metric.Metric{Name: "labelled_hits", Checked: true, Unit: metric.Count,
		Doc: "labelled requests that an entry with a label answers"}
	WrongHits = metric.Metric{Name: "wrong_hits", Checked: true, Unit: metric.Count, Better: metric.Lower,
		Doc: "labelled hits that were answered by an entry with a different label"}
	WrongAnswerRatio = metric.Metric{Name: "wrong_answer_ratio", Unit: metric.Share, Digits: 2, Better: metric.Lower,
		Merge: metric.Quotient(WrongHits, LabelledRequests),
		Column: metric.Column{At: 60, Head: "wrong", Weight: 80, IfAny: true,
			Note:       "wrong: share of the requests with a label that an entry with a different label answered",
			NoteIfNone: "no hit is wrong by the labels of the trace"},
		Doc: "wrong_hits / labelled_requests: users with a wrong answer"}
	WrongHitRatio = metric.Metric{Name: "wrong_hit_ratio", Unit: metric.Share, Digits: 2, Better: metric.Lower,
		Merge: metric.Quotient(WrongHits, LabelledHits),
		Doc:   "wrong_hits / labelled_hits: answers from the cache that are wrong"}
)

// measure sets the metrics of labels, if the trace has any.
func measure(c cache.Counts, v *metric.Values) {
	if c.Labelled == 0 {
		return
	}
	v.SetInt(LabelledRequests, c.Labelled)
	v.SetInt(LabelledHits, c.LabelledHits)
	v.SetInt(WrongHits, c.WrongHits)
	v.SetQuotient(WrongAnswerRatio, float64(c.WrongHits), float64(c.Labelled))
	v.SetQuotient(WrongHitRatio, float64(c.WrongHits), float64(c.LabelledHits))
}

// Entries are the caches of this package.
var Entries = []cache.Entry{entry}

var entry = cache.Entry{
	Name: "semantic",
	Summary: "serves queries with embeddings: a query is answered by the resident entry that is most similar to it, " +
		"if that is similar enough",
	Source: "RAC: Relation-Aware Cache Replacement for Large Language Models (arXiv 2602.21547), section 2; " +
		"zilliztech/GPTCache",
	Metrics: []metric.Metric{LabelledRequests, LabelledHits, WrongHits, WrongAnswerRatio, WrongHitRatio,
		cache.NotAdmitted},
	Measure:     measure,
	ObjectsOnly: true,
	OneByOne:    true,
	Params: []params.Param{
		{Name: "tau", Default: 0.85, Min: -1, Max: 1, Doc: "similarity (cosine) from which a resident entry answers a " +
			"query"},
		{Name: "match", Default: matchSimilar, Choices: []string{matchSimilar, matchIdentity}, Doc: "what hits: similar, " +
			"the nearest resident entry with a similarity of at least tau; identity, only the entry of the same query id, " +
			"though policies still see similarities"},
		{Name: "scope", Default: scopeGlobal, Choices: []string{scopeGlobal, scopeTopic}, Doc: "where an answer is " +
			"searched for: global, among all entries; topic, among the entries in the topic of the query, for policies that " +
			"sort entries into topics"},
	},
	Similarity: similarityOf,
	References: references,
	Check:      check,
	CheckTrace: checkTrace,
	Admits:     cache.AdmitsAny,
	New:        func(c cache.Config) (cache.Cache, error) { return New(c) },
	Types:      []any{(*Cache)(nil)},
}

func check(v params.Values, p policies.Entry) error {
	if v.Text("match") == matchIdentity {
		return nil
	}
	switch {
	case p.Kind == policies.Offline && !p.Similar:
		return fmt.Errorf("policy %s knows only when the same query comes again, but similar ones hit here; write "+
			"farthest-similar, or semantic(match=%s)", p.Name, matchIdentity)
	case policies.Can[policies.OptimumFollower](p):
		return fmt.Errorf("policy %s follows the optimum, and none is known where similar queries hit; write fpb, or "+
			"semantic(match=%s)", p.Name, matchIdentity)
	}
	return nil
}

func checkTrace(v params.Values, t *traces.Trace) error {
	if t.SampledFrom == 0 || v.Text("match") == matchIdentity {
		return nil
	}
	return fmt.Errorf("cache semantic: a sample of %s lacks most of the queries that answer each other; use --limit "+
		"instead of --sample, or write semantic(match=%s)",
		t.Name, matchIdentity)
}

func similarityOf(v params.Values) cache.Similarity {
	s := cache.Similarity{HitFrom: v.Float("tau"), Tau: v.Float("tau")}
	if v.Text("match") == matchIdentity {
		s.HitFrom = cache.IdentityOnly
	}
	return s
}

// references makes references search all entries for answers: an answer in another topic counts against a policy, and
// references need not sort anything into topics.
func references(v params.Values) params.Values {
	v = maps.Clone(v)
	v["scope"] = scopeGlobal
	return v
}

// Cache is a cache of queries; each entry is a query and has size 1. A query hits if its own entry is resident, or an
// entry with at least the threshold's similarity. The hit goes to its own entry if that is resident, otherwise to the
// most similar one; ties go to the query that came first in the trace. A query that misses becomes an entry; a query
// that hits does not. So no two resident entries could answer each other, unless the cache searches only within topics.
// It implements cache.Reporting and cache.Occupied.
type Cache struct {
	entries    *cache.Pool
	scoper     policies.Scoper        // nil if the whole cache is searched
	neighbours *similarity.Neighbours // nil if only its own entry answers a query
	from       float32                // similarity from which on an entry answers
	// per object: label of the right answer, -1 if unknown; nil without labels
	answers []int32
}

func (*Cache) ServesQueries() {}

func New(c cache.Config) (*Cache, error) {
	p, err := c.Policy.Entry.New(c.PolicyConfig())
	if err != nil {
		return nil, err
	}
	s := &Cache{entries: cache.NewPool(p, c.Capacity, c.Trace.NumObjects), from: float32(similarityOf(c.Params).HitFrom)}
	guard, err := cache.NewGuard(c)
	if err = cmp.Or(err, guard.Before(s.entries)); err != nil {
		return nil, err
	}
	s.entries.Observe(c.Observer)
	if s.from <= 1 {
		s.neighbours = c.Neighbours
	}
	if queries.Of(c.Trace.Kind) != nil {
		s.answers = queries.Of(c.Trace.Kind).Answers
	}
	if c.Params.Text("scope") == scopeTopic {
		ok := false
		if s.scoper, ok = p.(policies.Scoper); !ok {
			return nil, fmt.Errorf("it sorts nothing into topics, which semantic(scope=%s) needs", scopeTopic)
		}
	}
	return s, nil
}

func (s *Cache) Counters() []policies.Counter { return s.entries.Counters() }
func (s *Cache) Used() int64                  { return s.entries.Used() }
func (s *Cache) Holds(o policies.Object) bool { return s.entries.Resident(o) }
func (s *Cache) Drop(o policies.Object) bool  { return s.entries.Drop(o) }

func (s *Cache) Serve(w cache.Window, n *cache.Counts)   { s.serve(w, n, true) }
func (s *Cache) LookAll(w cache.Window, n *cache.Counts) { s.serve(w, n, false) }

// serve serves requests, which may load what misses or not.
func (s *Cache) serve(w cache.Window, n *cache.Counts, loads bool) {
	evictions := s.entries.Evictions()
	r := policies.Request{Size: 1}
	for i, o := range w.Objects {
		r.Object, r.Query, r.Pos = o, o, w.First+i
		if w.Times != nil {
			r.Time = w.Times[i]
		}
		s.entries.Expire(r.Time)
		entry, hit := s.lookup(r)
		if s.answers != nil {
			s.judge(o, entry, hit, n)
		}
		if !hit {
			if loads {
				s.entries.Miss(r)
			}
			continue
		}
		n.Hits++
		r.Object = entry
		s.entries.Hit(r)
	}
	n.Requests += int64(len(w.Objects))
	n.Evictions += s.entries.Evictions() - evictions
}

// lookup returns the entry that answers a query: its own, in any topic, or the nearest one.
func (s *Cache) lookup(r policies.Request) (entry policies.Object, ok bool) {
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

// holds reports whether o is resident, and in the topic of r if only that is searched.
func (s *Cache) holds(r policies.Request, o policies.Object) bool {
	return s.entries.Resident(o) && (s.scoper == nil || s.scoper.InScope(r, o))
}

// judge compares the labels of a query and of the entry that answers it, and counts the result.
func (s *Cache) judge(query, entry policies.Object, hit bool, n *cache.Counts) {
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
