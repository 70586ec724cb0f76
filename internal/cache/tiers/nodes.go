package tiers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// nodes are the tiers of several nodes. Each node has tiers of its own, or, if the user says so, those before one that
// all nodes share. What one node writes to a shared tier, another one hits there. It implements cache.Together.
type nodes struct {
	*book
	config cache.Config
	sizes  []int64
	from   int               // the first tier that all share; as many as there are tiers if none
	shared []*level          // the tiers from there on, which the first node has built
	held   [][]prefix.Held   // as in chains: a prompt is served on one node
	did    [][]access        // per tier, as in store; nil if it is none
	here   []*chains         // per node; nil if it was removed
	gone   metric.Values     // of the policies of nodes that were removed
	groups *cache.NodeGroups // of all nodes, if shared tiers have predictors
}

// newNodes returns what the tiers of several nodes have in common.
func newNodes(c cache.Config) (cache.Together, error) {
	if prompts.Of(c.Trace.Kind) == nil {
		return nil, fmt.Errorf("cache tiers: nodes serve prompts, but %s has none", c.Trace.Name)
	}
	all, sizes, err := tiersOf(c)
	if err != nil {
		return nil, err
	}
	c.AnyOrder = true
	return &nodes{config: c, sizes: sizes, from: sharedFrom(all, c.Params), did: make([][]access, len(all))}, nil
}

// sharedFrom returns the first tier that all nodes share, as many as there are tiers if none.
func sharedFrom(all []tier, v params.Values) int {
	name := v.Text("shared")
	if at := slices.IndexFunc(all, func(t tier) bool { return name != "" && t.name == name }); at >= 0 {
		return at
	}
	return len(all)
}

// behindNodes is what people want who share a tier where requests are for plain objects.
const behindNodes = "one behind nodes that serve plain objects is --route 'ring(behind=8)', eight times as large as " +
	"a node"

func checkShared(all []tier, v params.Values) error {
	name := v.Text("shared")
	switch at := sharedFrom(all, v); {
	case name == "":
		return nil
	case v.Bool("joined"):
		return fmt.Errorf("shared=%s has no effect with joined=true, which has one tier; leave one of them out", name)
	case !slices.Contains(Names(), name):
		return fmt.Errorf("shared=%s: no tier has that name; want the first of the tiers that all nodes share, one of: %s; "+
			behindNodes, name, sharable(all))
	case isFirst(name):
		return fmt.Errorf("shared=%s: the first tier is in the nodes; want a tier below it, one of: %s", name, sharable(all))
	case at == len(all):
		return fmt.Errorf("shared=%s: that tier has no size; write %[1]s=10x as well, or share one of: %s", name,
			sharable(all))
	}
	return nil
}

func sharable(all []tier) string {
	if len(all) == 1 {
		return "none, since there is one tier"
	}
	var names []string
	for _, t := range all[1:] {
		names = append(names, t.name)
	}
	return strings.Join(names, ", ")
}

// share makes a tier of all nodes one of a node's.
func (h *hierarchy) share(l *level) {
	h.levels = append(h.levels, l)
	if l.admission != nil {
		h.admitting = append(h.admitting, l)
	}
	if l.predictor != nil {
		h.predictors = append(h.predictors, l.predictor)
	}
}

// New implements cache.Together. Node 0 makes the random choices of tiers without nodes.
func (n *nodes) New(node int) (cache.Replica, error) {
	own := n.config
	own.Seed ^= uint64(node) << 8 * random.Golden
	if err := own.ForNode(); err != nil {
		return nil, err
	}
	built, err := buildOn(own, n)
	if err != nil {
		return nil, err
	}
	made := built.(*chains)
	if n.book == nil {
		n.book, n.held, n.shared = made.book, made.held, made.levels[n.from:]
		n.began = make([]counts, len(n.tiers))
	}
	n.here = append(n.here, make([]*chains, max(0, node+1-len(n.here)))...)
	n.here[node] = made
	return made, nil
}

func (n *nodes) Remove(node int) {
	n.gone = mergePolicies(n.gone, n.here[node].own())
	n.here[node] = nil
}

// begin serves a prompt on a node. What happens to those of the warm-up does not count, whenever they begin.
func (n *nodes) begin(on *chains, prompt int, sum *cache.Counts) (hitTokens int64) {
	for _, l := range n.shared {
		l.of = &on.hierarchy
	}
	if on.Trace.Groups[prompt] >= n.config.Warmup {
		return on.beginHere(prompt, sum)
	}
	before, requests, from, until := slices.Clone(n.tiers), n.requests, n.book.from, n.until
	hitTokens = on.beginHere(prompt, sum)
	n.requests, n.book.from, n.until = requests, from, until
	for i, c := range n.tiers {
		n.began[i] = c.minus(before[i].minus(n.began[i]))
	}
	return hitTokens
}

// drop removes what a shared tier has evicted from all tiers above it.
func (n *nodes) drop(o policies.Object, at int) {
	for _, c := range n.here {
		if c != nil {
			c.dropFrom(c.own(), o)
		}
	}
	if at > n.from {
		n.shared[0].of.dropFrom(n.shared[:at-n.from], o)
	}
}

func (n *nodes) Capacity() int64 { return n.sizes[0] }

func (n *nodes) Whole(count int) (whole int64) {
	last := len(n.sizes) - 1
	for i, size := range n.sizes {
		if n.config.Params.Text("mode") == inclusive && i < last {
			continue
		}
		size = min(size, int64(n.config.Trace.NumObjects)) // more room changes nothing, and could overflow
		if i < n.from {
			size *= int64(count)
		}
		whole += size
	}
	return whole
}

func (n *nodes) Counters() (all []policies.Counter) {
	sum := n.gone
	residents := make([]int, len(n.tiers))
	var any *chains
	for _, c := range n.here {
		if c == nil {
			continue
		}
		any = c
		sum = mergePolicies(sum, c.own())
		for i, l := range c.own() {
			residents[i] += l.pool.Len()
		}
	}
	for i, l := range any.levels {
		if i >= n.from {
			residents[i] = l.pool.Len()
		}
		all = append(all, l.counters(&any.hierarchy, residents[i])...)
	}
	return append(all, policies.CountAll(mergePolicies(sum, n.shared))...)
}

// own returns the tiers that a node does not share.
func (h *hierarchy) own() []*level { return h.levels[:h.SharedFrom()] }

// SharedFrom returns the first tier that other nodes share, as many as there are tiers if none.
func (h *hierarchy) SharedFrom() int {
	if h.nodes != nil {
		return h.nodes.from
	}
	return len(h.levels)
}

// Has, Held and Resident implement cache.Replica. Shared tiers are on no node.
func (c *chains) Has(o policies.Object) bool {
	for _, l := range c.own() {
		if l.pool.Has(o) {
			return true
		}
	}
	return false
}

func (c *chains) Held() int64 { return int64(c.levels[0].tree.Locked()) }

func (c *chains) Resident() (n int64) {
	for _, l := range c.own() {
		n += l.pool.Used()
	}
	return n
}

// predictor is the predictor of one of several tiers, as its policy sees it. The hierarchy reports each request to it
// once, whichever tier serves it: a policy sees what comes down to its tier, and not what hits above. All blocks of a
// prompt are reported when it comes, so that predictions are as of its end.
type predictor struct {
	predict.Predictor
	now    int  // the position after the last request
	shared bool // of a tier that all nodes share, whose positions are those of all their requests
}

// Observe has nothing to do: the hierarchy has reported the request.
func (*predictor) Observe(predict.Object, int) {}

func (p *predictor) Predict(objects []predict.Object, _ int, next []float64) {
	p.Predictor.Predict(objects, p.now, next)
}

func (p *predictor) Unwrap() predict.Predictor { return p.Predictor }

// givePredictor gives the policy of a tier its own predictor. The policy of a single tier reports its requests itself.
func (h *hierarchy) givePredictor(c *cache.Config, l *level, several bool) (err error) {
	shared := l.at >= h.SharedFrom() && h.nodes != nil
	switch {
	case !policies.Can[policies.PredictorUser](c.Policy.Entry):
		c.Predictor = nil
		return nil
	case !several:
		return nil
	case shared:
		if c.Predictor, err = h.nodes.newPredictor(c); err != nil {
			return err
		}
	case l.at > 0:
		if c.Predictor, err = c.FurtherPredictor(c.Seed); err != nil {
			return err
		}
	}
	p := &predictor{Predictor: c.Predictor, shared: shared}
	c.Predictor, l.predictor = p, p
	h.predictors = append(h.predictors, p)
	return nil
}

// newPredictor builds the predictor of a tier that all nodes share, and gives its config the positions of all of them.
func (n *nodes) newPredictor(c *cache.Config) (predict.Predictor, error) {
	of := n.config
	of.Seed, of.Groups = c.Seed, n.groups
	if err := of.ForNode(); err != nil {
		return nil, err
	}
	n.groups, c.Groups = of.Groups, of.Groups
	return of.Predictor, nil
}

// observe reports a request to the predictors. The tiers that all nodes share count the requests of all of them.
func (h *hierarchy) observe(o policies.Object, pos int) {
	for _, p := range h.predictors {
		at := pos
		if p.shared {
			at += h.ahead
		}
		p.Predictor.Observe(o, at)
		p.now = at + 1
	}
}
