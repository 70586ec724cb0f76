package tiers

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/policies"
)

// copying says when the tree of HiCache is copied to the host, by the mode.
var copying = map[string]prefix.Copying{
	writeThrough: prefix.AtFirst,
	selective:    prefix.AtSecond,
	writeBack:    prefix.AtEviction,
}

// oneTreeBytes is the tree's memory per object in addition to that of tiers with chains: 2 bytes for prompts, divided
// among their blocks, and the others for when nodes are copied and which copies leave first.
var oneTreeBytes = map[string]int64{writeThrough: 2, selective: 3, writeBack: 22}

func isOneTree(v params.Values) bool { return v.Text("evict") == evictNode }

func evictsNodes(e *policies.Entry) bool {
	short, _ := policies.Registry.Find(e.Name)
	if short.ShortFor == nil {
		return false
	}
	_, in, _ := short.ShortFor(params.Defaults(short.Params))
	return in["evict"] == evictNode
}

func checkOneTree(all []tier, v params.Values, policy policies.Entry) error {
	if !evictsNodes(&policy) {
		of := "mode=" + selective
		if isOneTree(v) {
			of = "evict=" + evictNode
		}
		return fmt.Errorf("cache tiers: %s is of SGLang's HiCache, which works with SGLang's policies, not with %s; remove "+
			"it, or use one of: %s", of, policy.Name, suggest.List(policies.Registry.NamesOf(evictsNodes)))
	}
	refused := ""
	switch _, isMode := copying[v.Text("mode")]; {
	case v.Bool("joined"):
		refused = "with joined=true there is no second tier; remove it"
	case len(all) != 2 || all[0].name == "memory" || all[1].name != "host":
		refused = "its tiers are hbm and host; write --cache 'tiers(host=4x,mode=write-through)'"
	case !isMode:
		refused = fmt.Sprintf("mode=%s is not one of its modes; write mode=%s, which is SGLang's default, %s or %s",
			v.Text("mode"), writeThrough, selective, writeBack)
	case v.Int("promote") != 1:
		refused = fmt.Sprintf("what hits in the host is loaded at once; remove promote=%d", v.Int("promote"))
	case v.Text("policies") != "":
		refused = fmt.Sprintf("both tiers evict by one rule; remove policies=%s", v.Text("policies"))
	case v.Text("shared") != "":
		refused = fmt.Sprintf("the tree is on one node; remove shared=%s", v.Text("shared"))
	default:
		return nil
	}
	return fmt.Errorf("cache tiers: with %s, tiers are SGLang's HiCache: %s", policy.Name, refused)
}

func (c *chains) addOneTree(config cache.Config, all []tier, sizes []int64) (err error) {
	config.Capacity = sizes[0]
	if c.oneTree, err = prefix.NewHiCache(config, sizes[1], copying[c.mode]); err != nil {
		return err
	}
	pools := []*cache.Pool{c.oneTree.Pool(), c.oneTree.Host()}
	for i, t := range all {
		l := &level{name: t.name, at: i, of: &c.hierarchy, counts: &c.tiers[i], pool: pools[i]}
		if t.name == swept {
			l.name = firstName(config.Trace)
		}
		c.levels = append(c.levels, l)
	}
	c.levels[0].tree = c.oneTree.Tree
	return nil
}

// serveOneTree serves a prompt if the tiers are one tree. It returns how many leading blocks hit.
func (c *chains) serveOneTree(prompt int, p prefix.Prompt, n *cache.Counts) (hits int) {
	gone := c.oneTree.Gone()
	for _, l := range c.levels {
		l.changed(-1)
	}
	inGPU, inHost, held := c.oneTree.Serve(p)
	for _, l := range c.levels {
		l.changed(1)
	}
	c.gone += c.oneTree.Gone() - gone
	c.held[0][prompt] = held
	c.levels[1].promoted += int64(inHost)
	n.Oversized += int64(len(p.Blocks)) - int64(held.Blocks)
	c.in = append(c.in[:0], make([]int8, inGPU)...)
	for range inHost {
		c.in = append(c.in, 1)
	}
	return inGPU + inHost
}

// changed adds what the pool of a tier has loaded and evicted to the counts; before it happens, with -1.
func (l *level) changed(sign int64) {
	evicted := l.pool.Evictions()
	written := evicted + int64(l.pool.Len())
	l.evicted += sign * evicted
	l.written += sign * written
	l.writtenBytes += sign * written * l.of.bytes
}
