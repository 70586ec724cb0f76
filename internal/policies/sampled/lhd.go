package sampled

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// rankComputations says whether LHD has learned anything.
var rankComputations = metric.Metric{Name: "rank_computations", Unit: metric.Count,
	Doc: "how often the policy has computed its ranks from what it saw; at 0 it has learned nothing"}

var lhdEntry = policies.Entry{
	Name:    "lhd",
	Look:    policies.Look{Color: policies.Indigo, Mark: policies.Square},
	Memory:  policies.Memory{Fixed: 2.6e6, PerObject: 30, PerSlot: 14},
	Summary: "evicts, of a random sample, the object with the fewest expected hits per byte and time in the cache",
	Source:  "Beckmann, Chen, Cidon, LHD: improving cache hit rate by maximizing hit density, NSDI 2018",
	Params: []policies.Param{
		{Name: "samples", Default: 32, Min: 1, Max: 1 << 20, Doc: "resident objects drawn per eviction, with replacement"},
		{
			Name:    "recent",
			Default: 8,
			Min:     0,
			Max:     1 << 10,
			Doc:     "newly loaded objects of low rank that are also candidates",
		},
		{Name: "classes", Default: 16, Min: 1, Max: 64, Doc: "classes of objects, by the time between their last requests"},
		{Name: "ages", Default: 20000, Min: 16, Max: math.MaxUint16, Doc: "number of distinct ages; they span at least " +
			"100 times the number of resident objects"},
		{Name: "period", Default: 1 << 20, Min: 1, Doc: "requests between two computations of the ranks"},
		{Name: "decay", Default: 0.9, Min: 0, Max: 1, Doc: "weight of the past at each computation"},
		{Name: "rule", Default: "adaptive", Choices: []string{"adaptive", lhdAuthors}, Doc: "adaptive: the unit of the " +
			"ages suits the number of resident objects at all times, and all samples are drawn from the start; authors: as " +
			"in their program, the unit starts at 1024 requests and is adapted at the 6th and 26th computation, and 8 " +
			"objects are drawn up to the 51st"},
	},
	Random:  true,
	Metrics: []metric.Metric{rankComputations},
	New:     func(c policies.Config) (policies.Policy, error) { return newLHD(c), nil },
}

// lhd ranks an object by its hit density: its expected hits, divided by the space and time that it will use until its
// next hit or its eviction. Both come from histograms of the ages at which objects of its class were hit and evicted.
type lhd struct {
	slots      dense.Slots[lhdInfo]
	charges    dense.Charges
	draws      random.Draws
	samples    int      // drawn per eviction
	candidates []uint32 // room for the slots of a sample and of the recent objects
	free       int64    // objects that still fit, batch path only

	classes, ages int
	hits          []float32 // per class and age
	evictions     []float32 // per class and age
	densities     []float32 // per class and age: hits per coarse unit of time
	ageShift      uint      // an age is the positions since the last request, divided by 2^ageShift
	period, due   int
	decay         float32
	computations  int
	authors       *lhdOccupancy // set with rule=authors

	recent     []policies.Object // ring of objects that are likely to be the next victims
	recentNext int
	victimRank float32 // moving average

	exploreBudget int64 // capacity that explorers may still use
	exploreLimit  int64 // of all of them together
}

type lhdInfo struct {
	last     uint32 // position of the last request
	lastAge  uint16 // age at the last hit
	class    uint8
	explorer bool // not to be evicted, so that hits at high ages are seen
}

// lhdAuthors is the value of rule for the authors' program.
const lhdAuthors = "authors"

// lhdOccupancy has what the authors' program knows of the number of resident objects: moving averages of it, and of 1.
type lhdOccupancy struct{ residents, weight float32 }

const (
	explorerShare    = 0.01             // of the capacity
	explorerChance   = 32               // one request of this many makes an explorer
	explorationEnds  = 50               // computations
	agesPerOccupancy = 100              // how many times the resident objects the ages must span
	overAge          = -math.MaxFloat32 // density of objects at the last age: below all others

	// With rule=authors:
	authorsShift    = 10 // of the ages at first
	authorsSamples  = 8  // drawn while few densities were computed
	fewComputations = 50
)

func newLHD(c policies.Config) *lhd {
	p := &lhd{
		slots:         dense.NewSlots[lhdInfo](c.Objects),
		charges:       dense.NewCharges(c.Objects, c.Unit),
		draws:         random.NewDraws(c.Seed),
		samples:       c.Params.Int("samples"),
		free:          c.Capacity,
		classes:       c.Params.Int("classes"),
		ages:          c.Params.Int("ages"),
		period:        c.Params.Int("period"),
		due:           c.Params.Int("period"),
		decay:         float32(c.Params.Float("decay")),
		candidates:    make([]uint32, c.Params.Int("samples")+c.Params.Int("recent")),
		recent:        make([]policies.Object, 0, c.Params.Int("recent")),
		exploreBudget: exploreLimit(c.Capacity),
		exploreLimit:  exploreLimit(c.Capacity),
	}
	cells := p.classes * p.ages
	p.hits, p.evictions, p.densities = make([]float32, cells), make([]float32, cells), make([]float32, cells)
	most := int(min(c.Capacity, int64(c.Objects)))
	if c.Grows {
		most = int(min(c.Capacity, math.MaxInt32))
	}
	p.ageShift = p.scaleFor(most)
	if c.Params.Text("rule") == lhdAuthors {
		p.authors, p.ageShift = &lhdOccupancy{}, authorsShift
		p.samples = min(authorsSamples, p.samples)
	}
	p.rankAtFirst()
	return p
}

// exploreLimit returns how much of the capacity explorers may use.
func exploreLimit(capacity int64) int64 { return int64(float64(capacity) * explorerShare) }

// Counters implements policies.Reporter.
func (p *lhd) Counters() []policies.Counter {
	return []policies.Counter{policies.Count(rankComputations, float64(p.computations))}
}

// Remark implements policies.Remarker: it says that the trace was too short to learn from.
func (p *lhd) Remark() string {
	if p.computations > 0 {
		return ""
	}
	return fmt.Sprintf("lhd has learned nothing: it computes its ranks every %d requests, and the trace is shorter; "+
		"until then ranks fall with the age of an object; lhd(period=N) learns sooner", p.period)
}

// Resize changes the capacity that explorers may use. The unit of the ages follows the number of residents by itself.
func (p *lhd) Resize(capacity int64) {
	p.exploreBudget += exploreLimit(capacity) - p.exploreLimit
	p.exploreLimit = exploreLimit(capacity)
}

// Resized implements policies.SizeFollower. An explorer uses as much of the budget as it is charged.
func (p *lhd) Resized(o policies.Object, size int64) {
	if by := p.charges.Change(o, size); p.slots.Info(o).explorer {
		p.exploreBudget -= by
	}
}

func (p *lhd) Grow(objects int) {
	p.slots.Grow(objects)
	p.charges.Grow(objects)
}

// scaleFor returns the shift at which the ages span agesPerOccupancy times that many resident objects.
func (p *lhd) scaleFor(resident int) (shift uint) {
	for p.ages<<shift < agesPerOccupancy*resident {
		shift++
	}
	return shift
}

// rankAtFirst sets the densities before the first computation: an object's rank falls with its age and is higher the
// closer its last requests were.
func (p *lhd) rankAtFirst() {
	for class := range p.classes {
		for age := range p.ages {
			p.densities[class*p.ages+age] = float32(class+1) / float32(age+1)
		}
		p.densities[(class+1)*p.ages-1] = overAge
	}
}

// age returns the coarse age at position now; the last one includes all higher ones.
func (p *lhd) age(info lhdInfo, now uint32) int {
	return min(int((now-info.last)>>p.ageShift), p.ages-1)
}

// classOf returns the class of an object by the sum of its last two ages at a hit: each class up halves the sum.
func (p *lhd) classOf(sum int) uint8 {
	// The smallest class for which sum << class reaches the number of ages.
	class := max(bits.Len(uint(p.ages))-bits.Len(uint(sum)), 0)
	if sum<<class < p.ages {
		class++
	}
	return uint8(min(class, p.classes-1))
}

// rank returns the hit density of a resident object.
func (p *lhd) rank(o policies.Object, info lhdInfo, now uint32) float32 {
	density := p.densities[int(info.class)*p.ages+p.age(info, now)]
	if p.charges != nil && density > 0 {
		density /= float32(p.charges[o])
	}
	// A computed density is at most 1, so explorers rank above the rest. At the last age 1 is lost in rounding:
	// explorers may be evicted there.
	if info.explorer {
		density++
	}
	return density
}

func (p *lhd) Hit(r policies.Request) { p.hit(r.Object, uint32(r.Pos)) }

func (p *lhd) hit(o policies.Object, now uint32) {
	info := p.slots.Info(o)
	age := p.age(*info, now)
	p.hits[int(info.class)*p.ages+age]++
	// The budget comes back first, so that the object may explore again.
	p.endExploration(o, info)
	*info = lhdInfo{
		last:     now,
		lastAge:  uint16(age),
		class:    p.classOf(age + int(info.lastAge)),
		explorer: p.drawExplorer() && p.explores(o),
	}
	p.countRequest()
}

func (p *lhd) Miss(policies.Request) {}

func (p *lhd) Insert(r policies.Request) {
	p.charges.Set(r.Object, r.Size)
	p.insert(r.Object, uint32(r.Pos), r.Reason == policies.Demand)
}

func (p *lhd) insert(o policies.Object, now uint32, asked bool) {
	chosen := asked && p.drawExplorer()
	info := lhdInfo{last: now, explorer: chosen && p.explores(o)}
	p.slots.Add(o, info)
	if !chosen && p.rank(o, info, now) < p.victimRank {
		p.noteRecent(o)
	}
	if asked {
		p.countRequest()
	}
}

// noteRecent keeps o among the recent objects, which every eviction considers.
func (p *lhd) noteRecent(o policies.Object) {
	switch {
	case len(p.recent) < cap(p.recent):
		p.recent = append(p.recent, o)
	case len(p.recent) > 0:
		p.recent[p.recentNext] = o
		p.recentNext = (p.recentNext + 1) % len(p.recent)
	}
}

// drawExplorer decides at random whether an object is to stay until its next hit.
func (p *lhd) drawExplorer() bool { return p.draws.Below(explorerChance) == 0 }

// explores reports whether the budget allows o to stay until its next hit, and charges it.
func (p *lhd) explores(o policies.Object) bool {
	if p.computations >= explorationEnds || p.exploreBudget <= 0 {
		return false
	}
	p.exploreBudget -= p.charges.Of(o)
	return true
}

func (p *lhd) endExploration(o policies.Object, info *lhdInfo) {
	if info.explorer {
		p.exploreBudget += p.charges.Of(o)
	}
}

func (p *lhd) Victim(r policies.Request) policies.Object { return p.victim(uint32(r.Pos)) }

func (p *lhd) victim(now uint32) policies.Object {
	infos := p.slots.Dense()
	candidates := p.draw(len(infos))
	least := int64(math.MaxInt64)
	if p.charges == nil && p.ageShift < 32 {
		least = p.leastDense(infos, candidates, now)
	} else {
		for i, slot := range candidates {
			rank := p.rank(p.slots.Objects[slot], infos[slot], now)
			least = min(least, int64(orderedBits(rank))<<32|int64(i))
		}
	}
	victim := candidates[uint32(least)]
	o, info := p.slots.Objects[victim], &infos[victim]
	p.victimRank = float32(0.9*p.victimRank) + float32(0.1*p.rank(o, *info, now))
	p.evictions[int(info.class)*p.ages+p.age(*info, now)]++
	p.endExploration(o, info)
	return p.slots.Empty(victim)
}

// draw returns the slots of a random sample of so many residents, and of the recent objects that still are.
func (p *lhd) draw(residents int) []uint32 {
	drawn := p.candidates[:p.samples]
	p.draws.Fill(drawn, uint64(residents))
	for _, o := range p.recent {
		if at := p.slots.At[o]; at != 0 {
			drawn = append(drawn, at-1)
		}
	}
	return drawn
}

// leastDense returns the lowest rank of the candidates, with its place among them, if all objects are charged 1. Ties
// go to the first. No branch of the loop depends on a rank, which the processor could not predict, so that its
// speculative loads are never in vain.
func (p *lhd) leastDense(infos []lhdInfo, candidates []uint32, now uint32) int64 {
	densities, last := p.densities, uint32(p.ages-1)
	shift := p.ageShift & 31 // spares the loop a comparison
	least := int64(math.MaxInt64)
	for i, slot := range candidates {
		info := infos[slot]
		age := min((now-info.last)>>shift, last)
		density := densities[uint32(info.class)*(last+1)+age]
		rank := int32(math.Float32bits(density)) // like orderedBits, since no density but overAge is negative
		if info.explorer {
			rank = orderedBits(density + 1)
		}
		least = min(least, int64(rank)<<32|int64(i))
	}
	return least
}

// orderedBits returns an integer such that integers compare as the numbers do.
func orderedBits(x float32) int32 {
	b := int32(math.Float32bits(x))
	return b ^ int32(uint32(b>>31)>>1)
}

func (p *lhd) Remove(o policies.Object) {
	p.endExploration(o, p.slots.Info(o))
	p.slots.Remove(o)
}

func (p *lhd) countRequest() {
	if p.due--; p.due == 0 {
		p.due = p.period
		p.forget()
		if p.authors != nil {
			p.adaptAsAuthors()
		} else {
			p.adapt()
		}
		p.computations++
		p.compute()
	}
}

func (p *lhd) forget() {
	for i := range p.hits {
		p.hits[i] = float32(p.hits[i] * p.decay)
		p.evictions[i] = float32(p.evictions[i] * p.decay)
	}
}

// adapt changes the unit of the ages if it no longer suits the number of resident objects, which with a capacity in
// bytes only becomes known during the replay. One step off is near enough.
func (p *lhd) adapt() {
	want := p.scaleFor(len(p.slots.Dense()))
	if want > p.ageShift+1 || want+1 < p.ageShift {
		p.rescale(want)
	}
}

// adaptAsAuthors changes the unit as the authors' program does: at two computations only, by an average of the numbers
// of resident objects so far. Soon after the last computation with few samples all are drawn.
func (p *lhd) adaptAsAuthors() {
	a := p.authors
	a.residents = float32(a.residents*p.decay) + float32(len(p.slots.Dense()))
	a.weight = float32(a.weight*p.decay) + 1
	if p.computations == 5 || p.computations == 25 {
		p.rescale(max(p.scaleFor(int(a.residents/a.weight)), 1))
		a.residents, a.weight = 8*a.residents, 8*a.weight
	}
	if p.computations == fewComputations {
		p.samples = cap(p.candidates) - cap(p.recent)
	}
}

// rescale changes the unit of the ages, and stretches or compresses the histograms. The last age stands for all higher
// ones: it keeps its count, and receives the counts beyond it.
func (p *lhd) rescale(shift uint) {
	was := p.ageShift
	p.ageShift = shift
	for class := range p.classes {
		from, to := class*p.ages, (class+1)*p.ages
		for _, histogram := range [][]float32{p.hits[from:to], p.evictions[from:to]} {
			if shift < was {
				stretch(histogram, was-shift)
			} else {
				compress(histogram, shift-was)
			}
		}
	}
}

// stretch spreads each age evenly over 2^by.
func stretch(histogram []float32, by uint) {
	last := len(histogram) - 1
	for age := last >> by; age < last; age++ {
		below := max(min(last-age<<by, 1<<by), 0) // how many of these are below the last age
		histogram[last] += float32(histogram[age] * float32(1<<by-below) / float32(int(1)<<by))
	}
	// Downwards: age>>by is read before it is overwritten.
	for age := last - 1; age >= 0; age-- {
		histogram[age] = histogram[age>>by] / float32(int(1)<<by)
	}
}

// compress joins 2^by ages to one.
func compress(histogram []float32, by uint) {
	last := len(histogram) - 1
	for age := range last {
		// Upwards: age>>by has been emptied already, or is age itself.
		n := histogram[age]
		histogram[age] = 0
		histogram[age>>by] += n
	}
}

// compute derives the hit densities from the histograms.
func (p *lhd) compute() {
	for class := range p.classes {
		from, to := class*p.ages, (class+1)*p.ages
		hits, evictions, densities := p.hits[from:to], p.evictions[from:to], p.densities[from:to]
		var later, laterHits, lifetime float32 // events and hits at this age or later; their time from this age on
		// From the highest age down each sum over all later ages only takes one more term.
		for age := p.ages - 1; age >= 0; age-- {
			laterHits += hits[age]
			later += hits[age] + evictions[age]
			lifetime += later
			densities[age] = 0
			// Decayed counts never reach 0; the remains of long ago are no evidence.
			if later > 1e-5 {
				densities[age] = laterHits / lifetime
			}
		}
		densities[p.ages-1] = overAge
	}
}

func (p *lhd) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
	for i, o := range objects {
		now := uint32(first + i)
		if p.slots.Has(o) {
			hits++
			p.hit(o, now)
			continue
		}
		if p.free > 0 {
			p.free--
		} else {
			p.victim(now)
			evictions++
		}
		p.insert(o, now, true)
	}
	return hits, evictions
}
