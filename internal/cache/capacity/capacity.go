// Package capacity parses capacities as users write them: objects, bytes, shares, lists and ranges.
package capacity

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/sizes"
)

// Capacity is the size of a cache: a number of objects or of bytes.
type Capacity struct {
	Spec   // as the user wrote it: "1%"
	Amount int64
	Bytes  bool // sizes of objects count
	// Block is set if all objects have this size in bytes: Amount is then in bytes, while the replay counts objects, which
	// is the same, and knows more of them.
	Block     int64
	Simulated int64 // capacity of the replayed cache, in objects if Block is set: less than Amount on a sampled trace
}

func (c Capacity) Unit() string {
	if c.Bytes || c.Block > 0 {
		return "bytes"
	}
	return "objects"
}

func Of(amount int64, bytes bool) Capacity {
	s := Spec{text: strconv.FormatInt(amount, 10), value: float64(amount)}
	if bytes {
		s.text, s.kind = s.text+"B", capacityBytes
	}
	return Capacity{Spec: s, Amount: amount, Bytes: bytes, Simulated: amount}
}

// OfBlocks returns the capacity of a number of objects that all have a size, as Block of Capacity.
func OfBlocks(n, block int64) Capacity {
	return Simulating(n, Capacity{Block: block}, 1)
}

// Simulating returns the capacity, in the unit of another, at which a replay has room for that many objects, bytes or
// blocks. For a sample it is the smallest such capacity of the whole trace.
func Simulating(units int64, like Capacity, rate float64) Capacity {
	amount := units * max(1, like.Block)
	if rate < 1 {
		amount = int64(math.Ceil(float64(amount) / rate * (1 - 1e-12)))
	}
	c := Of(amount, like.Bytes || like.Block > 0)
	c.Bytes, c.Block, c.Simulated = like.Bytes, like.Block, units
	return c
}

// OfBytes returns the capacity of a number of bytes, written in the largest unit that divides it.
func OfBytes(bytes int64) Capacity {
	c := Of(bytes, true)
	for _, unit := range []string{"TB", "TiB", "GB", "GiB", "MB", "MiB", "kB", "KiB"} {
		if size := int64(sizes.Units[unit]); bytes >= size && bytes%size == 0 {
			c.text = strconv.FormatInt(bytes/size, 10) + unit
			return c
		}
	}
	return c
}

// Share returns the capacity as a share of that many objects: exactly what was written, if that is a share.
func (c Capacity) Share(objects int) float64 {
	if c.kind == capacityShare {
		return c.value / 100
	}
	if c.Block > 0 {
		return float64(c.Amount) / (float64(c.Block) * float64(objects))
	}
	return float64(c.Amount) / float64(objects)
}

// Same reports whether two capacities are equal, whatever their spelling.
func (c Capacity) Same(other Capacity) bool { c.Spec = other.Spec; return c == other }

// InBlocksOf returns the same bytes for objects of another size, on a sample of that share of the keys.
func (c Capacity) InBlocksOf(block int64, rate float64) Capacity {
	c.Block, c.Simulated = block, int64(withoutRounding(float64(c.Amount)*rate/float64(block)))
	return c
}

// InJoinedBlocks returns a capacity in blocks of prompts for the blocks that these were joined to: the same bytes or,
// where these are unknown, at most as many tokens. rate is that of a sample of the keys.
func (c Capacity) InJoinedBlocks(joined *prompts.Columns, rate float64) Capacity {
	if c.Block > 0 {
		return c.InBlocksOf(joined.Memory.BlockBytes, rate)
	}
	c.Simulated = c.Simulated * int64(joined.Unjoined.BlockTokens) / int64(joined.BlockTokens)
	return c
}

// OnSample scales c to a sample of that share of the keys. ok is false if less than one object or byte remains.
func (c Capacity) OnSample(rate float64) (_ Capacity, ok bool) {
	amount := float64(c.Amount) * rate
	if c.Block > 0 {
		amount /= float64(c.Block)
	}
	c.Simulated = wholeUnits(amount)
	return c, withoutRounding(amount) >= 1
}

// Mode says which sizes count for a capacity without a unit.
type Mode int

const (
	AsWritten Mode = iota // bare numbers and shares count objects, byte units count bytes
	UnitSize              // every object has size 1; byte units are an error
	Bytes                 // bare numbers and shares count bytes
	// Blocks and BlockBytes are AsWritten and Bytes for prompts with keys and values of known bytes: blocks, which are the
	// objects, have one size, so that all capacities are bytes, of which the replay counts blocks.
	Blocks
	BlockBytes
)

// OfBlocks returns the mode for prompts whose keys and values have known bytes.
func (m Mode) OfBlocks() Mode {
	switch m {
	case AsWritten:
		return Blocks
	case Bytes:
		return BlockBytes
	}
	return m
}

func (m Mode) ofBlocks() bool { return m == Blocks || m == BlockBytes }

// capacityModes are the names of the modes, as in the cells of an experiment.
var capacityModes = []string{AsWritten: "as-written", UnitSize: "unit", Bytes: "bytes", Blocks: "blocks",
	BlockBytes: "block-bytes"}

func (m Mode) String() string { return capacityModes[m] }

func ParseMode(text string) (Mode, error) {
	i := slices.Index(capacityModes, text)
	if i < 0 {
		return 0, suggest.Unknown("mode of capacities", text, capacityModes)
	}
	return Mode(i), nil
}

// Spec is a capacity as a user writes it, before the trace is known.
type Spec struct {
	text  string
	kind  capacityKind
	value float64 // objects, bytes or percent
}

func (s Spec) String() string { return s.text }

// Is reports whether the capacity is this number of bytes or of objects.
func (s Spec) Is(c Capacity) bool {
	unit := capacityBare
	if c.Bytes {
		unit = capacityBytes
	}
	return s.kind == unit && wholeUnits(s.value) == c.Amount
}

func (s Spec) IsShare() bool { return s.kind == capacityShare }

// IsBelow reports whether the capacity is certainly smaller than another one, whatever the trace.
func (s Spec) IsBelow(other Spec) bool { return s.kind == other.kind && s.value < other.value }

// Amount returns a capacity that is a number of objects or of bytes.
func (s Spec) Amount() Capacity {
	if s.kind == capacityBytes {
		return OfBytes(wholeUnits(s.value))
	}
	return Of(wholeUnits(s.value), false)
}

func (s Spec) CountsBytes(mode Mode) bool {
	return !mode.ofBlocks() && (s.kind == capacityBytes || mode == Bytes)
}

// InBytes reports whether results state the capacity in bytes.
func (s Spec) InBytes(mode Mode) bool { return mode.ofBlocks() || s.CountsBytes(mode) }

type capacityKind int

const (
	capacityBare capacityKind = iota
	capacityBytes
	capacityShare
)

// maxCapacities limits the number of capacities in a range.
const maxCapacities = 10000

// ParseList parses a comma-separated list of capacities and ranges:
//
//	100          objects (bytes in mode Bytes)
//	16777216B    bytes; also kB MB GB TB and KiB MiB GiB TiB
//	1%           a share of the distinct objects (of the footprint in bytes in mode Bytes)
//	1%..20%x2    from 1% on, each twice the one before, up to 20%
//	100..500+100 from 100 on, in steps of 100, up to 500
func ParseList(text string) ([]Spec, error) {
	var specs []Spec
	for _, item := range strings.Split(text, ",") {
		item = strings.TrimSpace(item)
		more, err := parseCapacityItem(item)
		if err != nil {
			return nil, fmt.Errorf("capacity %q: %w", item, err)
		}
		if specs = append(specs, more...); len(specs) > maxCapacities {
			return nil, fmt.Errorf("capacity %q: more than %d capacities; choose a larger step", item, maxCapacities)
		}
	}
	return specs, nil
}

// Parse parses a single capacity; a list or a range of several is an error.
func Parse(text string) (Spec, error) {
	specs, err := ParseList(text)
	if err != nil {
		return Spec{}, err
	}
	if len(specs) != 1 {
		return Spec{}, fmt.Errorf("capacity %q: want one capacity, not %d", text, len(specs))
	}
	return specs[0], nil
}

func parseCapacityItem(item string) ([]Spec, error) {
	from, rest, isRange := strings.Cut(item, "..")
	first, err := parseCapacity(from)
	if err != nil || !isRange {
		return []Spec{first}, err
	}
	at := strings.LastIndexAny(rest, "x+")
	if at < 0 {
		return nil, fmt.Errorf("a range needs a step: write FROM..TOxFACTOR or FROM..TO+STEP, for example 1%%..20%%x2")
	}
	last, err := parseCapacity(rest[:at])
	if err != nil {
		return nil, err
	}
	if first.kind != last.kind {
		return nil, fmt.Errorf("both ends of a range must be in the same unit")
	}
	if last.value < first.value {
		return nil, fmt.Errorf("the range ends below its start")
	}
	next, err := rangeStep(first.kind, rest[at], rest[at+1:])
	if err != nil {
		return nil, err
	}
	var specs []Spec
	// The tolerance keeps rounding from removing the end of 0.1%..0.3%+0.1%.
	for v := first.value; v <= last.value*(1+1e-9); v = next(v) {
		specs = append(specs, Spec{text: writeCapacity(first.kind, v), kind: first.kind, value: v})
		if len(specs) > maxCapacities {
			return nil, fmt.Errorf("the range has more than %d steps; choose a larger step", maxCapacities)
		}
	}
	return specs, nil
}

// writeCapacity formats one value of a range. Fractions of an object or byte are dropped, as in Resolve.
func writeCapacity(kind capacityKind, v float64) string {
	switch kind {
	case capacityShare:
		return strconv.FormatFloat(roundTo(v, 9), 'f', -1, 64) + "%"
	case capacityBytes:
		return OfBytes(wholeUnits(v)).text
	}
	return strconv.FormatInt(wholeUnits(v), 10)
}

// rangeStep returns the function from one value of a range to the next.
func rangeStep(kind capacityKind, op byte, text string) (func(float64) float64, error) {
	if op == 'x' {
		factor, err := strconv.ParseFloat(text, 64)
		if err != nil || !(factor > 1) || math.IsInf(factor, 0) {
			return nil, fmt.Errorf("range factor %q: want a number above 1", text)
		}
		return func(v float64) float64 { return v * factor }, nil
	}
	step, err := parseCapacity(text)
	if err != nil {
		return nil, fmt.Errorf("range step: %w", err)
	}
	if step.kind != kind {
		return nil, fmt.Errorf("range step %q: must be in the unit of the range", text)
	}
	return func(v float64) float64 { return v + step.value }, nil
}

func parseCapacity(text string) (Spec, error) {
	text = strings.TrimSpace(text)
	digits := strings.TrimLeft(text, "0123456789.")
	number, unit := text[:len(text)-len(digits)], strings.TrimSpace(digits)
	if number == "" {
		return Spec{}, fmt.Errorf("want objects (100), bytes (64MiB) or a share (1%%)")
	}
	value, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return Spec{}, fmt.Errorf("%q is not a number", number)
	}
	spec := Spec{text: text, value: value}
	switch factor, known := sizes.Units[unit]; {
	case unit == "":
		if strings.Contains(number, ".") {
			return Spec{}, fmt.Errorf("%s is not a whole number of objects; for a share of the distinct objects write %v%%",
				number, roundTo(value*100, 6))
		}
	case unit == "%":
		spec.kind = capacityShare
	case known:
		spec.kind, spec.value = capacityBytes, value*factor
	default:
		return Spec{}, sizes.UnknownUnit(number, unit)
	}
	if !(spec.value > 0) {
		return Spec{}, fmt.Errorf("a capacity must be above 0")
	}
	if spec.kind == capacityBytes && spec.value < 1 {
		return Spec{}, fmt.Errorf("is less than one byte")
	}
	if spec.value > math.MaxInt64/2 {
		return Spec{}, fmt.Errorf("%s is too large", text)
	}
	return spec, nil
}

// ParseBytes parses a number of bytes with its unit, such as 8GiB.
func ParseBytes(text string) (int64, error) {
	spec, err := parseCapacity(text)
	if err == nil && spec.kind == capacityBytes {
		return wholeUnits(spec.value), nil
	}
	if err != nil && strings.ContainsAny(text, "0123456789") { // there is a number, and err says what is wrong with it
		return 0, fmt.Errorf("%q: %w; want bytes with their unit, such as 8GiB", text, err)
	}
	return 0, fmt.Errorf("%q: want bytes with their unit, such as 8GiB; units are %s", text, sizes.UnitNames)
}

func roundTo(x float64, digits int) float64 {
	f := math.Pow10(digits)
	return math.Round(x*f) / f
}

// Resolve returns the capacities for a trace in the given order. Two that come to the same amount are listed once.
func Resolve(specs []Spec, mode Mode, t *traces.Trace) ([]Capacity, error) {
	var out []Capacity
	for _, s := range specs {
		c, err := s.On(t, mode)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(out, c.Same) {
			out = append(out, c)
		}
	}
	return out, nil
}

// On returns the capacity for a trace. On a trace sampled at rate R the simulated cache has R times the capacity, as in
// SHARDS; a share refers to the estimated whole trace.
func (s Spec) On(t *traces.Trace, mode Mode) (Capacity, error) {
	if mode.ofBlocks() {
		return s.inBlocks(t, mode)
	}
	c := Capacity{Spec: s, Bytes: s.CountsBytes(mode)}
	if s.kind == capacityBytes && mode == UnitSize {
		return c, fmt.Errorf("capacity %q: counts bytes, but --unit-size ignores sizes; write a number of objects, or "+
			"remove --unit-size", s)
	}
	if c.Bytes && !t.HasSizes() && prompts.Of(t.Kind) != nil {
		return c, fmt.Errorf("capacity %q: counts bytes, but the model behind the prompts of %s is unknown; add --kv "+
			"model=llama-3.1-70b (kv in an experiment), or count blocks", s, t.Name)
	}
	if c.Bytes && !t.HasSizes() {
		return c, fmt.Errorf("capacity %q: counts bytes, but %s has no sizes; add them, such as --object-size 475B",
			s, t.Name)
	}
	amount := s.value
	if s.kind == capacityShare {
		whole := float64(t.NumObjects)
		if c.Bytes {
			whole = float64(t.Footprint())
		}
		amount = s.value / 100 * whole / t.SampleRate
	}
	if amount > math.MaxInt64/2 {
		return c, fmt.Errorf("capacity %q: is too large", s)
	}
	c.Amount = wholeUnits(amount)
	c.Simulated = wholeUnits(float64(c.Amount) * t.SampleRate)
	return c, nil
}

// inBlocks is On for prompts whose blocks all have the same bytes.
func (s Spec) inBlocks(t *traces.Trace, mode Mode) (Capacity, error) {
	p := prompts.Of(t.Kind)
	if p == nil || p.Memory.BlockBytes == 0 {
		return Capacity{}, fmt.Errorf("capacity %q: counts blocks of known bytes, but %s has none", s, t.Name)
	}
	c := Capacity{Spec: s, Block: p.Memory.BlockBytes}
	blocks, inBytes := s.value, s.kind == capacityBytes || s.kind == capacityBare && mode == BlockBytes
	switch {
	case s.kind == capacityShare:
		blocks = s.value / 100 * float64(t.NumObjects) / t.SampleRate
	case inBytes:
		blocks = s.value / float64(c.Block)
	}
	switch {
	case blocks > math.MaxInt64/2/float64(c.Block):
		return c, fmt.Errorf("capacity %q: is too large", s)
	case inBytes && blocks < 1:
		return c, fmt.Errorf("capacity %q: is less than a block of %d tokens, whose keys and values have %d bytes (%s)", s,
			p.BlockTokens, c.Block, p.Memory.Source)
	case inBytes:
		c.Amount = wholeUnits(s.value)
	default:
		c.Amount = wholeUnits(blocks) * c.Block
	}
	c.Simulated = wholeUnits(blocks * t.SampleRate)
	return c, nil
}

// wholeUnits rounds down to whole objects or bytes, at least 1.
func wholeUnits(amount float64) int64 { return max(1, int64(withoutRounding(amount))) }

// withoutRounding corrects a share such as 7% of 100 objects, which may become 6.999999999999999, to 7. Whole numbers
// stay as they are, however large.
func withoutRounding(amount float64) float64 {
	if amount == math.Trunc(amount) {
		return amount
	}
	return amount * (1 + 1e-12)
}

// NeedBytes reports whether any of the capacities counts bytes, so that sizes must be loaded.
func NeedBytes(specs []Spec, mode Mode) bool {
	return mode == Bytes || slices.ContainsFunc(specs, func(s Spec) bool { return s.CountsBytes(mode) })
}
