package compare

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/experiment/checks"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
)

// trait is a part of the identity of a cell: of what was replayed, and how.
type trait struct {
	name string // as --ignore has it
	of   func(*records.Record) string
}

// traits are all parts of the identity except the seed. Checksum and generator of the trace are compared apart, since
// results of other simulators have none.
var traits = slices.Concat([]trait{
	{records.DimTrace, func(r *records.Record) string { return r.Trace }},
	{records.DimPolicy, func(r *records.Record) string { return r.Label }},
	{records.DimCapacity, capacityTrait},
}, partTraits(), []trait{
	{"warmup", func(r *records.Record) string { return strconv.FormatInt(r.Warmup, 10) }},
	{"sample_rate", func(r *records.Record) string { return show.Share(r.SampleRate) }},
	{"sample_seed", func(r *records.Record) string { return strconv.FormatUint(r.SampleSeed, 10) }},
	{"limit", func(r *records.Record) string { return strconv.FormatInt(r.Limit, 10) }},
	{"per_file", func(r *records.Record) string { return strconv.FormatBool(r.PerFile) }},
	{"merge", func(r *records.Record) string { return strconv.FormatBool(r.Merged) }},
	{"tenants", func(r *records.Record) string { return r.Tenants }},
	{"by", func(r *records.Record) string { return r.By }},
	{"answers", func(r *records.Record) string { return r.Answers }},
	{"kv", func(r *records.Record) string { return r.KV }},
	{"embeddings", func(r *records.Record) string { return r.Embeddings }},
})

func partTraits() (all []trait) {
	for _, k := range records.PartKinds {
		all = append(all, trait{k.Name, func(r *records.Record) string {
			if part := *k.Field(r); part != "" {
				return part
			}
			return records.NoPart
		}})
	}
	return all
}

// seedTrait is the name of the seed among what can be ignored.
const seedTrait = records.DimSeed

// paramsTrait is what --ignore calls the parameters of policies: policies are then compared by their names alone.
const paramsTrait = "params"

// matcher matches the cells of runs.
type matcher struct {
	traits     []trait // that are not ignored
	axes       []string
	ignore     []string
	ignoreSeed bool
}

func newMatcher(runs []*Run, ignore []string) (m matcher, err error) {
	m.ignore, m.axes = ignore, records.AxisNames(recordsOf(runs...))
	exist := []string{paramsTrait, seedTrait}
	for _, t := range traits {
		exist = append(exist, t.name)
	}
	exist = append(exist, m.axes...)
	exist = slices.DeleteFunc(exist, func(name string) bool { return name == records.DimTrace })
	for _, name := range ignore {
		if !slices.Contains(exist, name) {
			return m, suggest.Unknown("property", name, exist)
		}
	}
	ignored := func(name string) bool { return slices.Contains(ignore, name) }
	m.traits = slices.DeleteFunc(slices.Clone(traits), func(t trait) bool { return ignored(t.name) })
	if ignored(paramsTrait) {
		m.replace(records.DimPolicy, func(r *records.Record) string { return r.Policy })
	}
	m.axes = slices.DeleteFunc(m.axes, ignored)
	m.ignoreSeed = ignored(seedTrait)
	return m, nil
}

// replace replaces how a trait is found, unless it is ignored.
func (m matcher) replace(name string, of func(*records.Record) string) {
	for i := range m.traits {
		if m.traits[i].name == name {
			m.traits[i].of = of
		}
	}
}

// matchShares matches capacities that are the same share of different traces.
func (m matcher) matchShares() {
	m.replace(records.DimCapacity, func(r *records.Record) string {
		if isShare(r) {
			return r.CapacityText
		}
		return capacityTrait(r)
	})
}

func capacityTrait(r *records.Record) string { return fmt.Sprintf("%d %s", r.Capacity, r.CapacityUnit) }

// identity returns what two records must have in common, apart from the seed.
func (m matcher) identity(r *records.Record) string {
	var parts []string
	for _, t := range m.traits {
		parts = append(parts, t.of(r))
	}
	for _, axis := range m.axes {
		place, _ := r.Dim(axis)
		parts = append(parts, place.Text)
	}
	return strings.Join(parts, "\x00")
}

// difference names the first properties in which two records differ, for people: "warmup 0 and 100".
func (m matcher) difference(a, b *records.Record) (texts []string) {
	add := func(name, old, is string) {
		if old != is {
			texts = append(texts, fmt.Sprintf("%s %s and %s", strings.ReplaceAll(name, "_", " "), orNone(old), orNone(is)))
		}
	}
	for _, t := range m.traits {
		add(t.name, t.of(a), t.of(b))
	}
	for _, axis := range m.axes {
		x, _ := a.Dim(axis)
		y, _ := b.Dim(axis)
		add(axis, x.Text, y.Text)
	}
	if len(texts) == 0 {
		add(seedTrait, strconv.FormatUint(a.Seed, 10), strconv.FormatUint(b.Seed, 10))
	}
	return texts
}

func orNone(text string) string {
	if text == "" {
		return records.NoPart
	}
	return show.Printable(text)
}

// pair are the results of one cell and one seed in two runs.
type pair struct{ old, is *result }

// pairs are those of one cell, in the order of their seeds.
type pairs []pair

func (p pairs) record() *records.Record { return &p[0].old.Record }

// groups returns the results of a run by their identity. Two of one seed are an error.
func (m matcher) groups(r *Run) ([][]*result, error) {
	groups := records.GroupBy(r.results, func(res *result) string { return m.identity(&res.Record) })
	for _, g := range groups {
		seeds := map[uint64]bool{}
		for _, res := range g {
			if seeds[res.Seed] || m.ignoreSeed && len(seeds) > 0 {
				return nil, m.errTwice(res)
			}
			seeds[res.Seed] = true
		}
	}
	return groups, nil
}

// withoutRepetitions removes results that a run has twice, with the same values, and returns how many it removed.
func (m matcher) withoutRepetitions(r *Run) (removed int) {
	first := map[string]*result{}
	n := len(r.results)
	r.results = slices.DeleteFunc(r.results, func(res *result) bool {
		key := fmt.Sprintf("%s\x00%d", m.identity(&res.Record), res.Seed)
		other, seen := first[key]
		if !seen {
			first[key] = res
			return false
		}
		same, _ := res.Values.Split()
		others, _ := other.Values.Split()
		return reflect.DeepEqual(same, others) && res.Label == other.Label
	})
	return n - len(r.results)
}

func (m matcher) errTwice(res *result) error {
	what := checks.NameOf(&res.Record) + " on " + show.Printable(res.Trace)
	if len(m.ignore) > 0 {
		return fmt.Errorf("%s has two results of %s, because --ignore %s makes them one cell; --only leaves out others",
			res.run.path, what, strings.Join(m.ignore, ","))
	}
	return fmt.Errorf("%s has two results of %s; remove one of them, or leave it out with --only", res.run.path, what)
}

// match pairs the results of two runs. Those without a partner are returned, too.
func (m matcher) match(old, is *Run) (cells []pairs, onlyOld, onlyNew []*result, err error) {
	news, err := m.groups(is)
	if err != nil {
		return nil, nil, nil, err
	}
	olds, err := m.groups(old)
	if err != nil {
		return nil, nil, nil, err
	}
	partners := map[string][]*result{}
	for _, g := range news {
		partners[m.identity(&g[0].Record)] = g
	}
	paired := map[*result]bool{}
	for _, g := range olds {
		found, alone := m.pairs(g, partners[m.identity(&g[0].Record)])
		if len(found) > 0 {
			cells = append(cells, found)
		}
		onlyOld = append(onlyOld, alone...)
		for _, p := range found {
			paired[p.is] = true
		}
	}
	onlyNew = slices.DeleteFunc(slices.Clone(is.results), func(res *result) bool { return paired[res] })
	return cells, onlyOld, onlyNew, nil
}

// pairs pairs the results of one cell by their seeds. If each run has one, and no random choice depends on the seed,
// the seeds may differ.
func (m matcher) pairs(old, is []*result) (found pairs, alone []*result) {
	if len(old) == 1 && len(is) == 1 && (m.ignoreSeed || !sim.DependsOnSeed(&old[0].Record)) {
		return pairs{{old[0], is[0]}}, nil
	}
	bySeed := map[uint64]*result{}
	for _, res := range is {
		bySeed[res.Seed] = res
	}
	for _, res := range old {
		if partner := bySeed[res.Seed]; partner != nil {
			found = append(found, pair{res, partner})
		} else {
			alone = append(alone, res)
		}
	}
	slices.SortFunc(found, func(a, b pair) int { return cmp.Compare(a.old.Seed, b.old.Seed) })
	return found, alone
}

// Unmatched is a result without a partner in the other run.
type Unmatched struct {
	Trace printable `json:"trace"`
	Cell  string    `json:"cell"`
	// Why says what the most similar result of the other run has instead; "" if it is another cell altogether.
	Why string `json:"-"`
}

func (u Unmatched) String() string {
	text := u.Cell + " on " + show.Printable(string(u.Trace))
	if u.Why != "" {
		text += " (" + u.Why + ")"
	}
	return text
}

// mostExplained is how many results without a partner are listed and explained.
const mostExplained = 3

// describe describes results that have no partner in the other run.
func (m matcher) describe(alone []*result, other *Run) (all []Unmatched) {
	for i, res := range alone {
		u := Unmatched{Trace: printable(res.Trace), Cell: checks.NameOf(&res.Record)}
		if i < mostExplained {
			nearest := m.nearest(&res.Record, other.results)
			if nearest.Trace == res.Trace && nearest.Policy == res.Policy && nearest.Capacity == res.Capacity {
				u.Why = strings.Join(m.difference(&res.Record, &nearest.Record), ", ")
			}
		}
		all = append(all, u)
	}
	return all
}
