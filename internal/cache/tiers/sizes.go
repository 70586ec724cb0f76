package tiers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// kinds are the tiers that a hierarchy can have, the fastest first. Storage is what admission protects from writes.
var kinds = []tierKind{
	{"hbm", "memory of the GPUs: the first tier of keys and values", false},
	{"memory", "memory of the machine: the first tier of objects", false},
	{"host", "memory of the host, which GPUs reach over PCIe", false},
	{"flash", "flash", true},
	{"ssd", "NVMe disks", true},
	{"disk", "rotating disks", true},
	{"remote", "a store on other machines", true},
}

type tierKind struct {
	name, doc string
	storage   bool
}

func Names() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// isFirst reports whether a tier with that name is the first one where it is stated.
func isFirst(name string) bool { return name == "hbm" || name == "memory" }

// isStorage reports whether admission decides about a tier.
func isStorage(name string) bool {
	return slices.ContainsFunc(kinds, func(k tierKind) bool { return k.name == name && k.storage })
}

// swept is the name of a first tier whose size is that of --capacity, until the trace says whether it has prompts.
const swept = ""

// tier is one tier as a user states it.
type tier struct {
	name string
	size size
	// policy is its own; the policy of the cell if it has none.
	policy    policies.Spec
	hasPolicy bool
}

// size is the size of a tier as a user states it: a capacity, or a multiple of the first tier's. The zero size is that
// of --capacity.
type size struct {
	text  string
	times float64 // of the first tier; 0 if it is no multiple
	capacity.Spec
}

func (s size) isSwept() bool { return s.text == "" }

func parseSize(name, text string) (size, error) {
	s := size{text: text}
	number, ok := strings.CutSuffix(text, "x")
	if !ok {
		var err error
		if s.Spec, err = capacity.Parse(text); err != nil {
			return s, fmt.Errorf("%s: %w", name, err)
		}
		return s, nil
	}
	times, err := strconv.ParseFloat(number, 64)
	if err != nil || !(times > 0) || times > mostTimes {
		return s, fmt.Errorf("%s=%s: want a multiple of the first tier from above 0 to %d, such as %[1]s=10x", name, text,
			int(mostTimes))
	}
	s.times = times
	return s, nil
}

// mostTimes is the largest multiple of the first tier.
const mostTimes = 1e9

// parse reads all tiers that the parameters state, the first one first. Where none of them is a first tier, one of the
// size of --capacity comes before them.
func parse(v params.Values) (all []tier, err error) {
	for _, k := range kinds {
		text := v.Text(k.name)
		if text == "" {
			continue
		}
		s, err := parseSize(k.name, text)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 && !isFirst(k.name) {
			all = append(all, tier{name: swept})
		}
		all = append(all, tier{name: k.name, size: s})
	}
	if shared := v.Text("shared"); len(all) == 0 && shared != "" {
		return nil, fmt.Errorf("shared=%s: want a tier with its size as well, as in tiers(host=10x,shared=host); "+
			behindNodes, shared)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no tier has a size; write those below the first, as in tiers(host=10x), or all, as in "+
			"tiers(hbm=40GiB,host=400GiB); tiers are %s", strings.Join(Names(), ", "))
	}
	return all, givePolicies(all, v.Text("policies"))
}

// givePolicies gives the tiers the policies in a text, with slashes between them.
func givePolicies(all []tier, text string) error {
	if text == "" {
		return nil
	}
	texts, err := params.Split(text, '/')
	if err != nil {
		return fmt.Errorf("policies=%w", err)
	}
	if len(texts) != len(all) {
		return fmt.Errorf("policies=%s: %d policies for %d tiers; want one for each, from the first on; an empty one is "+
			"the policy of --policy", text, len(texts), len(all))
	}
	for i, text := range texts {
		if text == "" {
			continue
		}
		if all[i].policy, err = policies.Registry.Parse(text); err != nil {
			return fmt.Errorf("policies: %w", err)
		}
		all[i].hasPolicy = true
	}
	return nil
}

// checkSizes rejects sizes that make no hierarchy, as far as they can be compared without a trace.
func checkSizes(all []tier, mode string) error {
	first := all[0]
	switch {
	case first.size.times > 0:
		return fmt.Errorf("%s=%s: the first tier cannot be a multiple of itself; write its size, or leave it out and give "+
			"--capacity", first.name, first.size.text)
	case !first.size.isSwept() && first.size.IsShare():
		return fmt.Errorf("%s=%s: the size of the first tier must be known without the trace; leave it out, and write "+
			"--capacity %[2]s", first.name, first.size.text)
	}
	for i, t := range all[1:] {
		above := all[i]
		smaller := t.size.times > 0 && t.size.times < max(1, above.size.times) && (i == 0 || above.size.times > 0) ||
			t.size.IsBelow(above.size.Spec) && t.size.times == 0 && above.size.times == 0 && !above.size.isSwept()
		if smaller && mode == inclusive {
			return smallerBelow(t.name, t.size.text, above.describe())
		}
	}
	return nil
}

func smallerBelow(name, text, above string) error {
	return fmt.Errorf("%s=%s is smaller than the tier above it, %s, which mode=inclusive copies; make it larger, or "+
		"write mode=exclusive", name, text, above)
}

func (t tier) describe() string {
	if t.name == swept {
		return "of --capacity"
	}
	return t.name + "=" + t.size.text
}

// ownCapacity returns the size of the first tier if the parameters state it.
func ownCapacity(v params.Values) (own capacity.Capacity, ok bool) {
	all, err := parse(v)
	if err != nil || all[0].size.isSwept() {
		return own, false
	}
	return all[0].size.Amount(), true
}

// resolve returns the sizes of the tiers for a trace, in objects, or in bytes if sizes count.
func resolve(all []tier, c cache.Config) (sizes []int64, err error) {
	total, columns := int64(0), prompts.Of(c.Trace.Kind)
	for i, t := range all {
		var n int64
		switch {
		case t.size.isSwept():
			n = c.Capacity
		case t.size.times > 0:
			n, err = multiple(t, sizes[0])
		case columns != nil && t.size.CountsBytes(capacity.AsWritten):
			n, err = inBlocks(t, c)
		case columns != nil && columns.Unjoined != nil:
			n, err = inJoinedBlocks(t, c)
		default:
			n, err = onTrace(t, c)
		}
		if err != nil {
			return nil, err
		}
		if n > math.MaxInt64/2-total {
			return nil, fmt.Errorf("cache tiers: %s makes the tiers larger than %d together; want less", t.describe(),
				int64(math.MaxInt64/2))
		}
		total += n
		if i > 0 && n < sizes[i-1] && c.Params.Text("mode") == inclusive {
			return nil, fmt.Errorf("cache tiers: %w", smallerBelow(t.name, t.size.text,
				fmt.Sprintf("%s, of %d", all[i-1].describe(), sizes[i-1])))
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

func multiple(t tier, first int64) (int64, error) {
	n := float64(first) * t.size.times
	if n > math.MaxInt64/2 {
		return 0, fmt.Errorf("cache tiers: %s of a first tier of %d is too large", t.describe(), first)
	}
	return max(1, int64(n)), nil
}

// inBlocks returns the size of a tier of prompts that is stated in bytes.
func inBlocks(t tier, c cache.Config) (int64, error) {
	if c.BlockBytes <= 0 {
		return 0, fmt.Errorf("cache tiers: %s is in bytes, but the bytes of a block are unknown; add --kv "+
			"model=llama-3.1-70b, or write a number of blocks", t.describe())
	}
	blocks := int64(float64(t.size.Amount().Amount/c.BlockBytes) * cmp.Or(c.Trace.SampleRate, 1))
	if blocks < 1 {
		return 0, fmt.Errorf("cache tiers: %s is less than a block of keys and values, %d bytes; want more", t.describe(),
			c.BlockBytes)
	}
	return blocks, nil
}

// inJoinedBlocks returns the size of a tier stated in the trace's blocks, or as a share, where the cache joins them.
func inJoinedBlocks(t tier, c cache.Config) (int64, error) {
	joined := prompts.Of(c.Trace.Kind)
	of := *c.Trace
	of.Kind, of.NumObjects = joined.Unjoined, len(joined.Unjoined.Parents)
	mode := capacity.AsWritten
	if joined.Memory.BlockBytes > 0 {
		mode = capacity.Blocks
	}
	on, err := t.on(&of, mode)
	if err != nil {
		return 0, err
	}
	n := on.InJoinedBlocks(joined, c.Trace.SampleRate).Simulated
	if n < 1 {
		return 0, fmt.Errorf("cache tiers: %s has less room than a block of %d tokens; want more", t.describe(),
			joined.BlockTokens)
	}
	return n, nil
}

// onTrace returns the size of a tier in the unit of the cache's capacity.
func onTrace(t tier, c cache.Config) (int64, error) {
	mode := capacity.AsWritten
	if !c.Unit {
		mode = capacity.Bytes
	}
	if c.Unit && t.size.CountsBytes(mode) {
		return 0, fmt.Errorf("cache tiers: %s is in bytes, but the first tier counts objects; write both in bytes (a share "+
			"with --bytes) or both in objects", t.describe())
	}
	on, err := t.on(c.Trace, mode)
	return on.Simulated, err
}

// described returns the tiers that parameters state, to describe a hierarchy.
func described(v params.Values) (tiers []cache.Tier, err error) {
	all, err := parse(v)
	if err != nil {
		return nil, err
	}
	from := sharedFrom(all, v)
	for i, t := range all {
		tiers = append(tiers, cache.Tier{Name: t.name, Shared: i >= from,
			Bytes: func(on *traces.Trace, first int64) (int64, error) {
				if i == 0 {
					return first, nil
				}
				return t.bytes(on, first)
			}})
	}
	return tiers, nil
}

// bytes returns the size of a lower tier as the user states it: of prompts, without rounding down to whole blocks.
func (t tier) bytes(on *traces.Trace, first int64) (int64, error) {
	if t.size.times > 0 {
		return multiple(t, first)
	}
	mode := capacity.Bytes
	if prompts.Of(on.Kind) != nil {
		mode = capacity.Blocks
	}
	c, err := t.on(on, mode)
	return c.Amount, err
}

// on returns the size of a tier on a trace.
func (t tier) on(trace *traces.Trace, mode capacity.Mode) (c capacity.Capacity, err error) {
	if c, err = t.size.On(trace, mode); err != nil {
		return c, fmt.Errorf("cache tiers: %s: %w", t.describe(), err)
	}
	return c, nil
}

func checkPolicies(all []tier, cell policies.Entry, mode string) error {
	for i, t := range all {
		if !t.hasPolicy {
			if policies.Can[policies.PromptHolder](cell) && i > 0 && slices.Contains(movingModes, mode) && !swaps(all,
				cell, mode) {
				return fmt.Errorf("cache tiers: policy %s follows prompts, which only the first tier has with mode=%s; add "+
					"policies for the others, as in policies=%s, or write mode=%s", cell.Name, mode,
					strings.Repeat("/lru", len(all)-1), writeThrough)
			}
			continue
		}
		why, e := "", t.policy.Entry
		switch {
		case e.New == nil:
			why = "it stands for a whole cache, or for a bound"
		case e.Unbounded:
			why = "it ignores the size of its tier"
		case policies.Can[policies.PredictorUser](e) || e.Relates || e.Keys != nil && e.Keys(t.policy.Params):
			why = "it needs more of the trace than requests, which only the policy of --policy gets"
		default:
			continue
		}
		return fmt.Errorf("cache tiers: policies names %s, which does not work there: %s; choose another one", e.Name, why)
	}
	return nil
}

// policiesOf returns the policy of each tier, given the cell's. Where the cell's is the optimum, what comes down from
// the first tier need not be kept: below that, it may be refused.
func policiesOf(all []tier, cell policies.Spec, mode string) []policies.Spec {
	specs := make([]policies.Spec, len(all))
	for i, t := range all {
		specs[i] = cell
		switch {
		case t.hasPolicy:
			specs[i] = t.policy
		case i > 0 && cell.Entry.Kind == policies.Offline && slices.Contains(movingModes, mode):
			specs[i] = mayRefuse(cell)
		}
	}
	return specs
}

// mayRefuse returns the optimum that may refuse an object, in the place of one that must load it.
func mayRefuse(s policies.Spec) policies.Spec {
	if s.Entry.Name != policies.Optimum(policies.Rules{}) {
		return s
	}
	bypassing, err := policies.Registry.Parse(policies.Optimum(policies.Rules{Bypass: true}))
	if err != nil {
		return s
	}
	return bypassing
}
