package shards

import (
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/serving/replicas"
	"github.com/cachesim/cachesim/internal/sim/feed"
)

// Cluster is the nodes. It implements cache.Cache, feed.Several, cache.Warming, cache.Occupied, cache.Reporting and
// cache.Remarking.
type Cluster struct {
	division *Division
	nodes    []served // per life
	labels   int
	gone     metric.Values // counters of the caches of lost nodes
	behind   *second       // nil: nothing is behind the nodes
	before   cache.Counts  // of all nodes, when they changed last
	warm     cache.Counts  // of all nodes, in the warm-up
}

// served is what a life has served.
type served struct {
	cache cache.Cache // nil if it serves nothing, or is lost
	feed  *feed.Feeder
	done  int          // requests
	warm  cache.Counts // of the warm-up
}

// New returns nodes with empty caches, one per life; nil for one that serves nothing.
func New(d *Division, caches []cache.Cache, bytes bool) *Cluster {
	c := &Cluster{division: d, nodes: make([]served, len(caches))}
	for i, empty := range caches {
		if empty == nil {
			continue
		}
		c.nodes[i] = served{cache: empty, feed: feed.New(d.Lives[i].Trace, empty, bytes)}
		c.labels = len(c.nodes[i].feed.Labels)
	}
	return c
}

// ServeRange implements feed.Several.
func (c *Cluster) ServeRange(from, to int) feed.Tally {
	if at := c.division.changed; from < at && at <= to {
		c.serve(at)
		c.before = c.tally().Counts
	}
	c.serve(to)
	return c.tally()
}

// serve serves all requests before a position. Nodes know nothing of each other, so one may be ahead of another.
func (c *Cluster) serve(to int) {
	for i := range c.nodes {
		n, l := &c.nodes[i], &c.division.Lives[i]
		if n.cache == nil {
			continue
		}
		rest, _ := slices.BinarySearch(l.positions[n.done:], uint32(to))
		switch {
		case c.behind != nil:
			c.behind.ask(n, l, rest)
		case rest > 0:
			n.feed.Serve(n.done, n.done+rest)
		}
		n.done += rest
		if to >= l.until && l.lost {
			c.bury(n)
		}
	}
	if c.behind != nil {
		c.behind.serve()
	}
}

// bury frees the cache of a node that is lost.
func (c *Cluster) bury(n *served) {
	if reporting, ok := n.cache.(cache.Reporting); ok {
		c.gone = policies.MergeCounters(c.gone, reporting.Counters())
	}
	n.cache = nil
}

// tally returns what all nodes have counted.
func (c *Cluster) tally() (sum feed.Tally) {
	if c.labels > 0 {
		sum.Labels = make([]cache.Counts, c.labels)
	}
	for i := range c.nodes {
		if f := c.nodes[i].feed; f != nil {
			sum.Counts, sum.Reads = sum.Counts.Plus(f.Counts), sum.Reads.Plus(f.Reads)
			sum.Writes, sum.Removals = sum.Writes.Plus(f.Writes), sum.Removals+f.Removals
			for label, n := range f.Labels {
				sum.Labels[label] = sum.Labels[label].Plus(n)
			}
		}
	}
	if c.behind != nil {
		c.behind.addTo(&sum)
	}
	return sum
}

// Serve implements cache.Cache.
func (c *Cluster) Serve(w cache.Window, n *cache.Counts) {
	before := c.tally().Counts
	after := c.ServeRange(w.First, w.First+len(w.Objects))
	*n = n.Plus(after.Counts.Minus(before))
}

// BeginCounting ends the warm-up.
func (c *Cluster) BeginCounting() {
	c.gone = metric.Values{}
	for i := range c.nodes {
		n := &c.nodes[i]
		if n.feed == nil {
			continue
		}
		n.warm = n.feed.Counts
		clear(n.feed.Labels)
		if warming, ok := n.cache.(cache.Warming); ok {
			warming.BeginCounting()
		}
	}
	c.warm = c.tally().Counts
	if c.behind != nil {
		c.behind.beginCounting()
	}
}

// Used returns what all nodes hold.
func (c *Cluster) Used() (used int64) {
	for i := range c.nodes {
		if occupied, ok := c.nodes[i].cache.(cache.Occupied); ok {
			used += occupied.Used()
		}
	}
	return used
}

// Remark returns what the first node with a remark has to say.
func (c *Cluster) Remark() string {
	for i := range c.nodes {
		if remarking, ok := c.nodes[i].cache.(cache.Remarking); ok && remarking.Remark() != "" {
			return remarking.Remark()
		}
	}
	return ""
}

// Counters implements cache.Reporting: those of all nodes, each by the rule of its metric, and what is known of each
// node.
func (c *Cluster) Counters() []policies.Counter {
	merged := c.gone
	perNode := make([]cache.Counts, c.division.Nodes)
	for i := range c.nodes {
		n := &c.nodes[i]
		if reporting, ok := n.cache.(cache.Reporting); ok {
			merged = policies.MergeCounters(merged, reporting.Counters())
		}
		if n.feed != nil {
			node := c.division.Lives[i].Node
			perNode[node] = perNode[node].Plus(n.feed.Counts.Minus(n.warm))
		}
	}
	all := policies.CountAll(merged)
	all = append(all, policies.Count(replicas.NodeCount, float64(c.division.Nodes)))
	requests := func(n cache.Counts) int64 { return n.Requests }
	bytes := func(n cache.Counts) int64 { return n.Bytes }
	all = appendImbalance(all, replicas.Imbalance, perNode, requests)
	all = appendImbalance(all, replicas.ByteImbalance, perNode, bytes)
	if c.behind != nil {
		all = append(all, c.behind.counters(c.tally().Counts.Minus(c.warm).Requests)...)
	}
	if c.division.changed > 0 {
		if c.division.placed {
			all = append(all, policies.Count(replicas.ObjectsMoved, c.division.moved))
		}
		if n := c.tally().Counts.Minus(c.later()); n.Requests > 0 {
			all = append(all, policies.Count(replicas.ChangedHitRatio, float64(n.Hits)/float64(n.Requests)))
		}
	}
	for node, n := range perNode[:min(len(perNode), replicas.MostReported)] {
		all = append(all, countersOf(strconv.Itoa(node), n)...)
	}
	return all
}

// later returns the counts at the last change of the nodes, or at the end of the warm-up if that is later.
func (c *Cluster) later() cache.Counts {
	if c.warm.Requests > c.before.Requests {
		return c.warm
	}
	return c.before
}

// appendImbalance appends the largest load of a node over the mean.
func appendImbalance(all []policies.Counter, m metric.Metric, perNode []cache.Counts,
	load func(cache.Counts) int64) []policies.Counter {
	var sum, largest int64
	for _, n := range perNode {
		sum += load(n)
		largest = max(largest, load(n))
	}
	if sum == 0 {
		return all
	}
	return append(all, policies.Count(m, float64(largest)*float64(len(perNode))/float64(sum)))
}

func countersOf(node string, n cache.Counts) []policies.Counter {
	all := []policies.Counter{policies.CountOf(replicas.NodeRequests, node, float64(n.Requests)),
		policies.CountOf(replicas.NodeMisses, node, float64(n.Misses()))}
	if n.Bytes > 0 {
		all = append(all, policies.CountOf(replicas.NodeBytes, node, float64(n.Bytes)))
	}
	if n.Requests > 0 {
		all = append(all, policies.CountOf(replicas.NodeHitRatio, node, float64(n.Hits)/float64(n.Requests)))
	}
	return all
}
