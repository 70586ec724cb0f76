// Package rac holds RAC and simpler policies that sort entries into the same topics. RAC evicts the entry worth least,
// by how much its topic is requested and how much else in the topic builds on it. The paper is "RAC: Relation-Aware
// Cache Replacement for Large Language Models" (arXiv 2602.21547); docs/policies-rac.md says where it contradicts
// itself and what was done.
package rac

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/policies"
)

const source = "RAC: Relation-Aware Cache Replacement for Large Language Models (arXiv 2602.21547)"

// Choices of parameters.
const (
	variantFull  = "full"
	variantNoTP  = "no-tp"
	variantNoTSI = "no-tsi"

	structureLinks    = "links"
	structurePageRank = "pagerank"

	routeSimilar = "similar"
	routeLabel   = "label"
)

// defaultTau is the least similarity at which a query belongs to a topic and builds on another query. It must be below
// the similarity at which one answers the other.
const defaultTau = 0.6

// routingParams control how requests are sorted into topics.
var routingParams = []policies.Param{
	{Name: "tau-route", Default: defaultTau, Min: 0, Max: 1, Doc: "a query joins a topic whose representative is at " +
		"least this similar (cosine); at most the similarity at which an entry answers, or every topic has one entry"},
	{Name: "shortlist", Default: 8, Min: 1, Max: 1e6, Doc: "how many topics, nearest representatives first, are " +
		"considered to route a query"},
	{Name: "routing", Default: routeSimilar, Choices: []string{routeSimilar, routeLabel}, Doc: "similar: topics are " +
		"found by similarity; in caches without it they are the labels or key prefixes of the trace, or else single " +
		"objects. label: they are the topic labels of the trace"},
}

var racParams = append([]policies.Param{
	{Name: "alpha", Default: "1/C", Doc: "fading of a topic's requests: they count half after 1/alpha requests; a " +
		"number of at least 0, or one divided by the capacity, such as 1/C"},
	{Name: "lambda", Default: 1.0, Min: 0, Max: 1e9, Doc: "weight of requests to entries that build on an entry, " +
		"relative to its own"},
	{Name: "tau-edge", Default: defaultTau, Min: 0, Max: 1, Doc: "an entry may build on one that is at least this " +
		"similar (cosine)"},
	{Name: "window", Default: 32, Min: 1, Max: 1e9, Doc: "an entry may build on one that was requested within this many " +
		"requests"},
	{Name: "keep-tp", Default: 10, Min: 0, Max: 1e6, Doc: "topics without entries that are remembered, as a multiple of " +
		"the capacity; the least prevalent is forgotten first"},
	{Name: "protect-new", Default: true, Doc: "an entry cannot be the victim of its own insertion; otherwise it may be " +
		"refused at once"},
	{Name: "reparent-if-gone", Default: true, Doc: "an entry looks for another to build on when that is no longer " +
		"resident"},
	{Name: "same-topic", Default: true, Doc: "entries build only on entries of the same topic"},
	{Name: "variant", Default: variantFull, Choices: []string{variantFull, variantNoTP, variantNoTSI},
		Doc: "full: prevalence times importance. no-tp: importance alone. " +
			"no-tsi: prevalence alone; the least recently used entry of the topic is evicted"},
	{Name: "structure", Default: structureLinks, Choices: []string{structureLinks, structurePageRank},
		Doc: "what entries that build on an entry add to its importance. " +
			"links: their requests. pagerank: its PageRank in the links"},
	{Name: "damping", Default: 0.85, Min: 0, Max: 0.99, Doc: "for structure=pagerank: probability of following a link"},
	{Name: "strict", Default: false, Doc: "exactly as in the paper: tau-route and tau-edge are the similarity that " +
		"hits, and keep-tp, protect-new and reparent-if-gone are off"},
}, routingParams...)

var entry = policies.Entry{
	Name: "rac",
	Look: policies.Look{Color: policies.Magenta, Mark: policies.Circle},
	Summary: "evicts the entry with the least product of its topic's prevalence (requests that fade with a half-life) " +
		"and its structural importance (its own requests and the requests to entries that build on it)",
	Source:      source + ", algorithms 1 to 5",
	Units:       policies.UnitsObjects,
	BypassIf:    func(v policies.Values) bool { return !v.Bool("protect-new") || v.Bool("strict") },
	Relates:     true,
	SimilarFrom: similarFrom,
	Params:      racParams,
	Metrics:     append(slices.Clone(topicMetrics), links),
	Check:       check,
	New:         newRAC,
}

var (
	topicLRUEntry = topicEntry("topic-lru", policies.Look{Color: policies.Olive, Mark: policies.Ring}, byTopicRecency,
		"evicts the least recently used entry of the least recently requested topic; a topic is requested by hits of its "+
			"entries and by queries that join it")
	topicLFUEntry = topicEntry("topic-lfu", policies.Look{Color: policies.Pink, Mark: policies.Plus}, byPrevalence,
		"evicts the least recently used entry of the topic with the fewest requests since it got entries: hits of its "+
			"entries and queries that join it")
)

// topicEntry is the entry of a policy that chooses a topic by a rule, and in it the least recently used entry.
func topicEntry(name string, look policies.Look, by rule, summary string) policies.Entry {
	return policies.Entry{
		Name: name, Look: look, Summary: summary, Source: "cachesim; topics as in " + source,
		Units: policies.UnitsObjects, Relates: true, SimilarFrom: similarFrom, Params: routingParams, Metrics: topicMetrics,
		New: func(c policies.Config) (policies.Policy, error) {
			return newPolicy(c, settings{rule: by, tauRoute: float32(c.Params.Float("tau-route")), protectNew: true,
				topicWeight: 1})
		},
	}
}

// topicMetrics are the metrics of policies that sort requests into topics.
var topicMetrics = append([]metric.Metric{topicsAlive, topicsDead, newTopics, revivedTopics, forgottenTopics, routed,
	refreshes}, labelMetrics...)

var (
	topicsAlive = metric.Metric{Name: "topics_alive", Unit: metric.Count, Doc: "topics with a resident entry at the end"}
	topicsDead  = metric.Metric{Name: "topics_dead", Unit: metric.Count,
		Doc: "remembered topics without a resident entry at the end"}
	newTopics     = metric.Metric{Name: "new_topics", Unit: metric.Count, Doc: "topics founded by a new entry"}
	revivedTopics = metric.Metric{Name: "revived_topics", Unit: metric.Count,
		Doc: "entries that joined a topic without resident entries"}
	forgottenTopics = metric.Metric{Name: "forgotten_topics", Unit: metric.Count,
		Doc: "topics without resident entries that were forgotten"}
	routed    = metric.Metric{Name: "routed", Unit: metric.Count, Doc: "entries that joined an existing topic"}
	refreshes = metric.Metric{Name: "refreshes", Unit: metric.Count,
		Doc: "times that a topic chose a new representative entry"}
	links = metric.Metric{Name: "links", Unit: metric.Count, Doc: "entries found to build on another"}
)

// Entries are the policies of this package.
var Entries = []policies.Entry{entry, adaptiveEntry, topicLRUEntry, topicLFUEntry}

// similarFrom returns the least similarity that the policy needs. Only rac has the parameters strict and tau-edge.
func similarFrom(v policies.Values, hitFrom, tau float64) float64 {
	from := hitFrom
	if strict, ok := v["strict"]; ok && strict.(bool) {
		return min(from, tau)
	}
	if v.Text("routing") == routeSimilar {
		from = min(from, v.Float("tau-route"))
	}
	if edge, ok := v["tau-edge"]; ok {
		from = min(from, edge.(float64))
	}
	return from
}

func check(v policies.Values) error {
	if err := checkFading("alpha", v.Text("alpha"), maxAlpha); err != nil {
		return err
	}
	if v.Text("structure") != structurePageRank && v.Float("damping") != 0.85 {
		return fmt.Errorf("damping has no effect with structure=%s; leave it out, or write structure=%s",
			v.Text("structure"), structurePageRank)
	}
	if v.Bool("strict") {
		return checkStrict(v)
	}
	return nil
}

// checkStrict refuses parameters that strict fixes.
func checkStrict(v policies.Values) error {
	for _, p := range racParams {
		switch p.Name {
		case "tau-route", "tau-edge", "keep-tp", "protect-new", "reparent-if-gone":
			if v[p.Name] != p.Default {
				return fmt.Errorf("strict=true sets %s itself; leave one of them out", p.Name)
			}
		}
	}
	return nil
}

// checkFading checks a parameter that says how much something fades per request.
func checkFading(name, text string, most float64) error {
	if fading, err := parseFading(text, 1); err != nil || !(fading >= 0 && fading <= most) { // NaN fails both comparisons
		return fmt.Errorf("%s=%s: want a number from 0 to %v, or one divided by the capacity, such as 1/C", name, text, most)
	}
	return nil
}

// parseFading reads such a parameter for a capacity.
func parseFading(text string, capacity float64) (float64, error) {
	number, perCapacity := strings.CutSuffix(text, "/C")
	fading, err := strconv.ParseFloat(number, 64)
	if perCapacity {
		fading /= capacity
	}
	return fading, err
}

// mustFade is parseFading of a parameter that was checked.
func mustFade(text string, capacity int64) float64 {
	fading, _ := parseFading(text, float64(capacity))
	return fading
}

// maxAlpha is far above the point where topics fade from one request to the next.
const maxAlpha = 1000

type settings struct {
	rule       rule
	alphaText  string  // alpha, as its parameter says
	keepTP     float64 // keep, as a multiple of the capacity
	alpha      float64
	lambda     float64
	tauRoute   float32
	protectNew bool
	keep       int // topics without entries that are remembered

	links             bool // entries can build on others
	tauEdge           float32
	window            uint32
	reparent          bool
	sameTopic         bool
	pagerank          bool
	damping           float64
	dependantsPerUnit float64 // weight of one unit of entry.dependants

	// of rac-adaptive; for others importance does not fade, TP weighs as much as TSI, and no entry is kept because it
	// was used last
	betaText    string
	beta        float64
	topicWeight float64
	recentShare float64
}

func newRAC(c policies.Config) (policies.Policy, error) {
	v := c.Params
	s := settings{
		rule:              ruleOf(v.Text("variant")),
		alphaText:         v.Text("alpha"),
		keepTP:            float64(v.Int("keep-tp")),
		alpha:             mustFade(v.Text("alpha"), c.Capacity),
		lambda:            v.Float("lambda"),
		tauRoute:          float32(v.Float("tau-route")),
		protectNew:        v.Bool("protect-new"),
		links:             true,
		tauEdge:           float32(v.Float("tau-edge")),
		window:            uint32(v.Int("window")),
		reparent:          v.Bool("reparent-if-gone"),
		sameTopic:         v.Bool("same-topic"),
		pagerank:          v.Text("structure") == structurePageRank,
		damping:           v.Float("damping"),
		dependantsPerUnit: 1,
		topicWeight:       1,
	}
	if s.pagerank {
		s.dependantsPerUnit = 1.0 / pageRankUnit
	}
	if v.Bool("strict") {
		s.keepTP, s.protectNew, s.reparent = 0, false, false
		if c.Relations != nil {
			s.tauRoute, s.tauEdge = c.Relations.Tau, c.Relations.Tau
		}
	}
	s.keep = s.keepFor(c.Capacity)
	return newPolicy(c, s)
}

// keepFor returns how many topics without entries are remembered at a capacity.
func (s *settings) keepFor(capacity int64) int {
	return int(min(s.keepTP*float64(capacity), math.MaxInt32))
}

func ruleOf(variant string) rule {
	switch variant {
	case variantNoTP:
		return byImportance
	case variantNoTSI:
		return byPrevalence
	}
	return byValue
}
