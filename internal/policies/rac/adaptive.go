package rac

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/shadow"
	"github.com/cachesim/cachesim/internal/similarity"
)

// Names of the policies that rac-adaptive chooses from.
const (
	amongRAC      = "rac"
	amongFrequent = "frequent"
	amongLRU      = "lru"
	amongS3FIFO   = "s3fifo"
	amongSpent    = "spent"
	amongLIRS     = "lirs"
)

// The policies that can be followed, and those of them that are by default.
var (
	allAmong     = []string{amongRAC, amongFrequent, amongLRU, amongSpent, amongLIRS, amongS3FIFO}
	defaultAmong = allAmong[:5]
)

// Metrics of rac-adaptive.
var (
	ledShare = metric.Metric{Name: "led_share", Unit: metric.Share, Digits: 1, Labels: "policy",
		Merge: metric.Apart, Doc: "share of the requests during which rac-adaptive followed a policy"}
	leaderChanges = metric.Metric{Name: "leader_changes", Unit: metric.Count,
		Doc: "how often rac-adaptive has followed another policy than before"}
	meanLimit = metric.Metric{Name: "mean_limit", Unit: metric.Share, Digits: 1, Merge: metric.Apart,
		Doc: "share of the cache that could not leave because it was used last, mean over requests: as the policy says " +
			"that rac-adaptive followed"}
)

var adaptiveParams = append([]policies.Param{
	{Name: "among", Default: strings.Join(defaultAmong, "/"), Doc: "policies to follow, with slashes between them, the " +
		"first at the start: rac, frequent, lru, spent, lirs, s3fifo. rac alone: nothing adapts"},
	{Name: "memory", Default: 20.0, Min: 1, Max: 1000, Doc: "requests over which misses count and queries are " +
		"remembered that have left, as a multiple of the capacity"},
	{Name: "limit", Default: 0.02, Min: 0, Max: 1, Doc: "for rac: share of the cache, used last, that may not " +
		"leave; 1 is all but one entry: LRU"},
	{Name: "beta", Default: "0.0625/C", Doc: "for rac and frequent: fading of an entry's requests, as alpha"},
	{Name: "alpha", Default: "0.0625/C", Doc: "for rac: fading of a topic's requests: they count half after 1/alpha " +
		"requests; a number from 0 to 16, or one divided by the capacity, such as 1/C"},
	{Name: "topic-weight", Default: 0.5, Min: 0, Max: 10, Doc: "for rac: exponent of the topic's prevalence in the " +
		"value of an entry"},
	{Name: "lambda", Default: 1.0, Min: 0, Max: 1e9, Doc: "for rac: weight of requests to entries that build on an " +
		"entry, relative to its own"},
	{Name: "tau-edge", Default: defaultTau, Min: 0, Max: 1, Doc: "for rac: an entry may build on one that is at " +
		"least this similar (cosine)"},
	{Name: "window", Default: 32, Min: 1, Max: 1e9, Doc: "for rac: an entry may build on one that was requested " +
		"within this many requests"},
	{Name: "keep-tp", Default: 10, Min: 0, Max: 1e6, Doc: "for rac: topics without entries that are remembered, as a " +
		"multiple of the capacity"},
}, adaptiveRouting()...)

// adaptiveRouting is routingParams with the threshold of rac-adaptive.
func adaptiveRouting() []policies.Param {
	all := slices.Clone(routingParams)
	for i := range all {
		if all[i].Name == "tau-route" {
			all[i].Default = 0.4
		}
	}
	return all
}

var adaptiveEntry = policies.Entry{
	Name:   "rac-adaptive",
	Look:   policies.Look{Color: policies.Cyan, Mark: policies.Square},
	Memory: policies.Memory{PerObject: 250, PerSlot: 100},
	Summary: "follows whichever has missed least of late: rac with fading importance, the most requested entries, lru, " +
		"lru without entries that were requested again, or lirs",
	Source: "cachesim; RAC as in " + source + "; choice as in Subramanian, Smaragdakis and Loh, Adaptive Caches, " +
		"MICRO 2006",
	Units:   policies.UnitsObjects,
	Relates: true, SimilarFrom: similarFrom, Params: adaptiveParams,
	Metrics: append(append(slices.Clone(topicMetrics), links), ledShare, leaderChanges, meanLimit),
	Check:   checkAdaptive,
	New:     newAdaptive,
}

// maxFading bounds how often sums that fade are scaled down. A request then counts nothing beside the next one already.
const maxFading = 16

func checkAdaptive(v policies.Values) error {
	for _, name := range []string{"alpha", "beta"} {
		if err := checkFading(name, v.Text(name), maxFading); err != nil {
			return err
		}
	}
	_, err := parseAmong(v.Text("among"))
	return err
}

func parseAmong(text string) ([]string, error) {
	names := strings.Split(text, "/")
	for i, name := range names {
		if !slices.Contains(allAmong, name) || slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("among=%s: %q is unknown or there twice; want some of %s", text, name,
				strings.Join(allAmong, "/"))
		}
	}
	return names, nil
}

// adaptive has a directory for each of several policies and evicts what the leading one would not hold.
//
// Which entry answers a query depends on what is resident, so directories of different content would see different
// requests. They see labels instead: the label of a query is that of the entry that answers it or, if none does, the
// nearest remembered label that would and for which no entry stands, or the query itself. An entry stands for the label
// that it was loaded for.
type adaptive struct {
	capacity int64
	similar  *similarity.Neighbours // nil if queries are similar only to themselves
	hitFrom  float32
	memory   float64
	window   uint32 // requests over which a label is remembered
	requests int64
	history  *history

	names   []string
	limits  []float64 // per policy: the share of the cache that it keeps because it was used last
	all     []directory
	contest shadow.Contest
	led     []int64 // per policy: requests
	lirs    int     // its place among the policies; -1 if it is none of them
	price   shadow.Price

	missed    policies.Object  // the label of the request that missed
	residents shadow.Residents // held are those that stand for a label that the leader holds
}

// directory is what a policy would hold of the labels: a shadow.Directory of a policy that serves any requests, or one
// that goes by the history that all share.
type directory interface {
	// Serve serves a request, or loads a label without one, and reports whether the label was there.
	Serve(r policies.Request, capacity int64) (hit bool)
	Has(label policies.Object) bool
	Drop(label policies.Object)
	Resize(capacity int64)
	// Evicted returns what left in the last call of the others.
	Evicted() []policies.Object
	Grow(objects int)
}

// comparisons is how often misses are compared in the requests over which they count.
const comparisons = 100

func newAdaptive(c policies.Config) (policies.Policy, error) {
	v := c.Params
	names, err := parseAmong(v.Text("among"))
	if err != nil {
		return nil, err
	}
	s := adaptiveSettings(v)
	if len(names) == 1 && names[0] == amongRAC {
		return newAdaptiveRAC(c, s)
	}
	p := &adaptive{
		memory: v.Float("memory"), names: names, lirs: slices.Index(names, amongLIRS), history: newHistory(c.Objects),
		contest: shadow.NewContest(len(names), 0, comparisons), led: make([]int64, len(names)),
		residents: shadow.NewResidents(c.Objects),
	}
	p.adapt(c.Capacity)
	if c.Relations != nil && c.Relations.HitFrom <= 1 {
		p.similar, p.hitFrom = c.Relations.Similar, c.Relations.HitFrom
	}
	for _, name := range names {
		d, err := newDirectory(name, c, s, p.memory, p.history)
		if err != nil {
			return nil, err
		}
		p.all, p.limits = append(p.all, d), append(p.limits, shareKept(name, s))
	}
	return p, nil
}

// adapt sets what depends on the capacity.
func (p *adaptive) adapt(capacity int64) {
	p.capacity, p.window = capacity, windowFor(p.memory, capacity)
}

// adaptiveSettings are those of rac that parameters of rac-adaptive state.
func adaptiveSettings(v policies.Values) settings {
	return settings{
		rule: byValue, alphaText: v.Text("alpha"), betaText: v.Text("beta"), keepTP: float64(v.Int("keep-tp")),
		lambda: v.Float("lambda"), tauRoute: float32(v.Float("tau-route")), protectNew: true, links: true,
		tauEdge: float32(v.Float("tau-edge")), window: uint32(v.Int("window")), reparent: true, sameTopic: true,
		dependantsPerUnit: 1, topicWeight: v.Float("topic-weight"), recentShare: v.Float("limit"),
	}
}

func newAdaptiveRAC(c policies.Config, s settings) (policies.Policy, error) {
	s.alpha, s.beta = mustFade(s.alphaText, c.Capacity), mustFade(s.betaText, c.Capacity)
	s.keep = s.keepFor(c.Capacity)
	return newPolicy(c, s)
}

// newDirectory returns the directory of a policy.
func newDirectory(name string, c policies.Config, s settings, memory float64, h *history) (directory, error) {
	switch name {
	case amongFrequent:
		return newFrequent(h, s.betaText, memory, c.Capacity, c.Objects), nil
	case amongLRU:
		return newLRU(h), nil
	case amongSpent:
		return newSpent(h, c.Capacity), nil
	}
	c.Grows = true
	var p policies.Policy
	var err error
	if name == amongRAC {
		p, err = newAdaptiveRAC(c, s)
	} else {
		p, err = newRegistered(name, c)
	}
	if err != nil {
		return nil, err
	}
	return shadow.New(name, p, c)
}

func newRegistered(name string, c policies.Config) (policies.Policy, error) {
	spec, err := policies.Registry.Parse(name)
	if err != nil {
		return nil, err
	}
	c.Params, c.Relations = spec.Params, nil
	return spec.Entry.New(c)
}

// shareKept returns the share of the cache that a policy keeps because it was used last.
func shareKept(name string, s settings) float64 {
	switch name {
	case amongRAC:
		return s.recentShare
	case amongFrequent:
		return frequentLimit
	case amongLRU:
		return 1
	}
	return 0
}

func windowFor(memory float64, capacity int64) uint32 {
	return uint32(min(memory*float64(capacity), math.MaxInt32))
}

func (p *adaptive) Hit(r policies.Request) {
	o, label := r.Object, p.history.labels[r.Object].of
	p.serve(r, label)
	p.stand(o, label)
	p.residents.Use(o, p.holds(o))
}

func (p *adaptive) Miss(r policies.Request) {
	p.missed = p.labelOf(p.queryOf(r))
	p.serve(r, p.missed)
}

func (p *adaptive) Victim(policies.Request) policies.Object {
	v := p.residents.Victim()
	p.forget(v)
	return v
}

func (p *adaptive) Insert(r policies.Request) {
	p.stand(r.Object, p.missed)
	p.residents.Use(r.Object, p.holds(r.Object))
}

func (p *adaptive) Remove(o policies.Object) {
	p.forget(o)
	for _, d := range p.all {
		d.Drop(p.history.labels[o].of)
	}
}

func (p *adaptive) Resize(capacity int64) {
	p.adapt(capacity)
	for i, d := range p.all {
		d.Resize(capacity)
		if i == p.contest.Leader {
			p.leave(d.Evicted())
		}
	}
}

func (p *adaptive) Grow(objects int) {
	p.history.grow(objects)
	p.residents.Grow(objects)
	for _, d := range p.all {
		d.Grow(objects)
	}
}

func (p *adaptive) Counters() (all []policies.Counter) {
	limit := 0.0
	requests := float64(max(1, p.requests))
	for i, name := range p.names {
		share := float64(p.led[i]) / requests
		limit += float64(share * p.limits[i])
		all = append(all, policies.CountOf(ledShare, name, share))
		if d, ok := p.all[i].(*shadow.Directory); ok && name == amongRAC {
			all = append(all, d.Policy().(*policy).Counters()...)
		}
	}
	return append(all, policies.Count(leaderChanges, float64(p.contest.Changes)), policies.Count(meanLimit, limit))
}

func (p *adaptive) queryOf(r policies.Request) policies.Object {
	if p.similar == nil {
		return r.Object
	}
	return r.Query
}

// labelOf returns the label of a query that no resident answers. A label for which a resident stands is not it: that
// one does not answer the query, so that whoever held the label would miss, too.
func (p *adaptive) labelOf(q policies.Object) policies.Object {
	if p.similar == nil || p.history.remembers(q, p.window) {
		return q
	}
	ids, similarities := p.similar.Of(q)
	for i, id := range ids {
		if similarities[i] < p.hitFrom {
			break
		}
		if p.history.labels[id].standIn == none && p.history.remembers(id, p.window) {
			return id
		}
	}
	return q
}

// serve shows a request, or a load without one, to the directories.
func (p *adaptive) serve(r policies.Request, label policies.Object) {
	r.Object, r.Query = label, label
	for i, d := range p.all {
		hit := d.Serve(r, p.capacity)
		if !hit && r.Reason == policies.Demand {
			p.contest.Miss(i)
		}
		if i == p.lirs {
			p.measure(label, hit, d.Evicted())
		}
		if i == p.contest.Leader {
			p.leave(d.Evicted())
		}
	}
	p.history.use(label)
	if r.Reason != policies.Demand {
		return
	}
	p.requests++
	p.led[p.contest.Leader]++
	if p.lirs >= 0 && p.contest.Due(int(p.window)) {
		p.contest.Handicap(p.lirs, p.cost())
	}
	if p.contest.End(int(p.window)) {
		p.residents.Follow(p.holds)
	}
}

// measure counts how lirs used the labels for which no resident stands.
func (p *adaptive) measure(label policies.Object, hit bool, evicted []policies.Object) {
	if hit && p.history.labels[label].standIn == none {
		p.price.Used++
	}
	for _, label := range evicted {
		if p.history.labels[label].standIn == none {
			p.price.Unused++
		}
	}
}

// cost returns what lirs must be ahead to lead: the misses that are expected of a change to it, by the rule of policy
// best. lirs keeps what it has held from the first requests on and evicts nearly all that is new at once. Where it
// leads by chance, most of what another policy would hold is loaded again afterwards. Between the others a change
// costs less than to wait for it (docs/policies-rac.md, "What did not pay").
func (p *adaptive) cost() float64 {
	if p.contest.Leader == p.lirs {
		return 0
	}
	p.price.Absent = 0
	p.residents.Each(func(o policies.Object) {
		if !p.standsIn(p.lirs, o) {
			p.price.Absent++ // as many as it would hold besides, where both are full
		}
	})
	return p.price.Cost()
}

// leave notes which labels the leader holds no more.
func (p *adaptive) leave(labels []policies.Object) {
	for _, label := range labels {
		if o := p.history.labels[label].standIn; o != none {
			p.residents.Release(o)
		}
	}
}

// stand makes o stand for its label. Another resident that did so may leave.
func (p *adaptive) stand(o, label policies.Object) {
	l := &p.history.labels[label]
	if l.standIn != none && l.standIn != o {
		p.residents.Release(l.standIn)
	}
	l.standIn, p.history.labels[o].of = o, label
}

// holds reports whether the leader holds the label that a resident stands for.
func (p *adaptive) holds(o policies.Object) bool { return p.standsIn(p.contest.Leader, o) }

// standsIn reports whether a policy holds the label that a resident stands for.
func (p *adaptive) standsIn(policy int, o policies.Object) bool {
	label := p.history.labels[o].of
	return p.history.labels[label].standIn == o && p.all[policy].Has(label)
}

func (p *adaptive) forget(o policies.Object) {
	p.residents.Take(o)
	if l := &p.history.labels[p.history.labels[o].of]; l.standIn == o {
		l.standIn = none
	}
}
