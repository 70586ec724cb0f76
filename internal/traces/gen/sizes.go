package gen

import (
	"fmt"
	"math"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/suggest"
)

// A sizer decides the size of each object in bytes, at least 1. Objects keep their size for the whole trace. rank is
// the object's rank by popularity in its generator, 1 to n; it is n for objects that are requested once.
type sizer func(key uint64, rank, n int) int64

// sizeKind is one way to give sizes, as the user names it.
type sizeKind struct {
	name    string
	summary string
	params  []params.Param
	build   func(v params.Values, seed uint64) (sizer, error)
}

const maxSize = math.MaxUint32 // bytes; the largest that oracleGeneral can hold

var sizeKinds = []sizeKind{
	{name: "none", summary: "the trace has no sizes",
		build: func(params.Values, uint64) (sizer, error) { return nil, nil }},
	{name: "fixed", summary: "every object has the same size; a bare number means the same",
		params: []params.Param{{Name: "bytes", Default: 4096, Min: 1, Max: maxSize, Doc: "size in bytes"}},
		build:  fixedSizes},
	{name: "lognormal", summary: "each object draws e^(mu + sigma z), z normal, mu = ln(mean) - sigma^2/2, rounded",
		params: []params.Param{
			{Name: "mean", Default: 4096.0, Min: 1, Max: maxSize, Doc: "mean size in bytes before the limits below"},
			{Name: "sigma", Default: 1.0, Min: 0, Max: 10, Doc: "standard deviation of the natural logarithm of the size"},
			{Name: "min", Default: 1, Min: 1, Max: maxSize, Doc: "smaller draws are raised to this size in bytes"},
			{Name: "max", Default: 1 << 30, Min: 1, Max: maxSize, Doc: "larger draws are lowered to this size in bytes"},
		},
		build: lognormalSizes},
	{name: "popularity", summary: "a power law between the most and the least popular object: first rank^b, b = " +
		"ln(last/first)/ln(objects), rounded",
		params: []params.Param{
			{Name: "first", Default: 1024, Min: 1, Max: maxSize, Doc: "size of the most popular object in bytes"},
			{Name: "last", Default: 1 << 20, Min: 1, Max: maxSize, Doc: "size of the least popular object in bytes"},
		},
		build: popularitySizes},
}

// SizeKinds describes the ways to give sizes, one line each.
func SizeKinds() []string {
	lines := make([]string, len(sizeKinds))
	for i, kind := range sizeKinds {
		lines[i] = params.Signature(kind.name, kind.params) + ": " + kind.summary
	}
	return lines
}

// parseSizes reads a size specification such as "lognormal(mean=4096)". The sizer is nil for "none".
func parseSizes(text string, seed uint64) (sizer, error) {
	if _, err := strconv.Atoi(text); err == nil {
		text = "fixed(bytes=" + text + ")"
	}
	name, args, err := params.SplitCall(text)
	if err != nil {
		return nil, fmt.Errorf("sizes %w", err)
	}
	var names []string
	for _, kind := range sizeKinds {
		if kind.name == name {
			v, err := params.ParseArgs(kind.params, args)
			if err != nil {
				return nil, fmt.Errorf("sizes %s: %w", name, err)
			}
			return kind.build(v, seed)
		}
		names = append(names, kind.name)
	}
	return nil, suggest.Unknown("kind of sizes", name, names)
}

func fixedSizes(v params.Values, _ uint64) (sizer, error) {
	bytes := int64(v.Int("bytes"))
	return func(uint64, int, int) int64 { return bytes }, nil
}

func lognormalSizes(v params.Values, seed uint64) (sizer, error) {
	sigma := v.Float("sigma")
	mu := random.Log(v.Float("mean")) - float64(float64(sigma*sigma)/2)
	low, high := int64(v.Int("min")), int64(v.Int("max"))
	if low > high {
		return nil, fmt.Errorf("sizes lognormal: min=%d is above max=%d", low, high)
	}
	return func(key uint64, _, _ int) int64 {
		z := random.Normal(random.Stream(seed, random.Scramble(key)))
		logSize := mu + float64(sigma*z)
		if logSize > 40 { // e^40 is far above every limit; this keeps the conversion below in range
			return high
		}
		return min(max(round(random.Exp(logSize)), low), high)
	}, nil
}

func popularitySizes(v params.Values, _ uint64) (sizer, error) {
	first, last := float64(v.Int("first")), float64(v.Int("last"))
	logRatio := random.Log(last / first)
	return func(_ uint64, rank, n int) int64 {
		if n == 1 {
			return round(first)
		}
		exponent := logRatio * random.Log(float64(rank)) / random.Log(float64(n))
		return round(first * random.Exp(exponent))
	}, nil
}

func round(x float64) int64 { return int64(math.Floor(float64(x) + 0.5)) } // the conversion keeps a product unfused
