// Package gen makes synthetic traces from a seed. The same specification gives the same trace on every machine.
//
// A trace is written as a generator with parameters, "zipf(alpha=0.9,objects=1000000)". A generator takes its own
// parameters and, unless it makes prompts, queries or reads of files, the common ones: requests, seed, size, rate and
// keys. docs/generators.md describes them all.
package gen

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/traces/attention"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Purposes of independent streams of random bits.
const (
	requestBits = iota + 1
	sizeBits
	keyBits
	driftBits
	turnBits
	lengthBits
	systemBits
	orderBits
	familyBits
	topicBits
	repeatBits
	paraphraseBits
	directionBits
	arrivalBits
	scatterBits
)

var seedParam = params.Param{Name: "seed", Default: 0, Min: 0, Doc: "seed of all random choices"}

// rateParam is how many per second of what a trace has.
func rateParam(rate float64, what string) params.Param {
	return params.Param{Name: "rate", Default: rate, Min: 0, Max: 1e9, Doc: what + " per second of the trace's clock, " +
		"evenly spaced from 0 on; 0: no clock"}
}

// Common are the parameters of every generator that makes plain requests.
var Common = []params.Param{
	{Name: "requests", Default: 1_000_000, Min: 1, Doc: "length of the trace"},
	seedParam,
	{Name: "size", Default: "none", Doc: "sizes of the objects: none, fixed(bytes=...), lognormal(mean=...,sigma=...) " +
		"or popularity(first=...,last=...)"},
	rateParam(1000, "requests"),
	{Name: "keys", Default: "plain", Choices: []string{"plain", "hashed"}, Doc: "plain: 1 is the most popular object; " +
		"hashed: numbers of 64 bits without order"},
}

func All() []Entry { return slices.Clone(entries()) }

// Params returns every parameter of any generator, each once: the generators' own first, then the common ones.
func Params() []params.Param {
	var all []params.Param
	seen := map[string]bool{}
	for _, p := range Common {
		seen[p.Name] = true
	}
	for _, e := range entries() {
		for _, p := range e.Params {
			if !seen[p.Name] {
				all = append(all, p)
			}
			seen[p.Name] = true
		}
	}
	return append(all, Common...)
}

func find(name string) (Entry, error) {
	for _, e := range entries() {
		if e.Name == name {
			return e, nil
		}
	}
	return Entry{}, suggest.Unknown("generator", name, Names())
}

// Spec is a generator with all its parameters.
type Spec struct {
	Entry  Entry
	Params params.Values // the entry's and the common ones
}

// objectBytes is the most memory per object that a generator needs: a weight, and a place in a random order.
const objectBytes = 16

// Bytes estimates the memory that the generator needs.
func (s Spec) Bytes() int64 {
	if s.Entry.Bytes != nil {
		return s.Entry.Bytes(s.Params)
	}
	if !s.Entry.takes(objectsParam.Name) {
		return 0
	}
	return objectBytes * int64(s.Params.Int(objectsParam.Name))
}

// Parse reads a specification such as "zipf(alpha=0.9,requests=1000)". extra, of the form "name=value,name=value", is
// read as if it were in the parentheses, too.
func Parse(text, extra string) (Spec, error) {
	name, args, err := params.SplitCall(text)
	if err != nil {
		return Spec{}, err
	}
	e, err := find(name)
	if err != nil {
		return Spec{}, err
	}
	if strings.TrimSpace(args) != "" && extra != "" {
		args += ","
	}
	v, err := params.ParseArgs(e.AllParams(), args+extra)
	if err != nil {
		return Spec{}, err
	}
	if e.build != nil {
		if _, err := parseSizes(v.Text("size"), 0); err != nil {
			return Spec{}, err
		}
	}
	return Spec{e, v}, nil
}

// ParseSeeded is Parse for a generator that gets this seed, unless text has its own or the generator makes no random
// choice.
func ParseSeeded(text string, seed uint64) (Spec, error) {
	if FixesSeed(text) {
		return Parse(text, "")
	}
	return Parse(text, fmt.Sprintf("seed=%d", seed))
}

// FixesSeed reports whether a seed for the generator would change nothing: text sets one, or it makes no random choice.
func FixesSeed(text string) bool {
	name, args, _ := params.SplitCall(text)
	e, err := find(name)
	return params.Has(args, "seed") || err == nil && !e.takes("seed")
}

func (e Entry) takes(name string) bool {
	return slices.ContainsFunc(e.AllParams(), func(p params.Param) bool { return p.Name == name })
}

// AllParams returns the parameters of the generator: its own, then the common ones unless it has records of its own.
func (e Entry) AllParams() []params.Param {
	if e.build == nil {
		return e.Params
	}
	return append(e.Params[:len(e.Params):len(e.Params)], Common...)
}

// String returns the spec with the parameters that differ from their defaults.
func (s Spec) String() string { return params.FormatCall(s.Entry.Name, s.Entry.AllParams(), s.Params) }

// Full returns the spec with all of its parameters, so that it keeps its meaning when a default changes.
func (s Spec) Full() string {
	return s.Entry.Name + "(" + params.Format(s.Entry.AllParams(), s.Params) + ")"
}

// HasSizes reports whether the objects of the trace have sizes.
func (s Spec) HasSizes() bool {
	return s.Entry.sized || s.Entry.build != nil && s.Params.Text("size") != "none"
}

// Files returns the paths of the files that the generator reads.
func (s Spec) Files() (paths []string) {
	s.WithFiles(func(path string) (string, error) {
		paths = append(paths, path)
		return path, nil
	})
	return paths
}

// WithFiles returns the spec with other paths of the files that it reads.
func (s Spec) WithFiles(other func(path string) (string, error)) (Spec, error) {
	values := maps.Clone(s.Params)
	for _, p := range s.Entry.AllParams() {
		path := p.Path(s.Params)
		if path == "" {
			continue
		}
		path, err := other(path)
		if err != nil {
			return s, err
		}
		values[p.Name] = path
	}
	return Spec{s.Entry, values}, nil
}

// Attention returns the attention of a language model if that is what s makes, otherwise nil.
func (s Spec) Attention() (attention.Maker, error) {
	if s.Entry.Attention == nil {
		return nil, nil
	}
	return s.Entry.Attention(s.Params)
}

// Generator makes the requests of one trace. It is a stream.Reader.
type Generator struct {
	// Fields are the fields of its records.
	Fields stream.Fields

	source   source
	requests int
	made     int
	rate     float64
	hash     bool
	hashSeed uint64
	sizes    sizer
	known    []int64 // size of key i+1, for the keys that are requested repeatedly
	group    int     // requests that come together; 0: each comes alone

	records RecordSource // if set, makes the records instead
}

// New prepares the generator of s; it computes tables of popularity and sizes. If that takes long, it ends with ctx,
// and calls progress, unless that is nil, from time to time.
func New(ctx context.Context, s Spec, progress func(done, total int64)) (*Generator, error) {
	if s.Entry.Attention != nil {
		return nil, attention.ErrNoRequests
	}
	if s.Entry.Records != nil {
		r, err := s.Entry.Records(ctx, s.Params, progress)
		if err != nil {
			return nil, err
		}
		return &Generator{Fields: r.Fields(), records: r, requests: r.Requests()}, nil
	}
	seed := uint64(s.Params.Int("seed"))
	if err := checkClock(s.Params.Int("requests"), s.Params.Float("rate")); err != nil {
		return nil, err
	}
	sizes, err := parseSizes(s.Params.Text("size"), random.Scramble(seed+sizeBits))
	if err != nil {
		return nil, err
	}
	keys := &keyspace{}
	src, err := s.Entry.build(s.Params, keys, seed)
	if err != nil {
		return nil, err
	}
	g := &Generator{
		source: src, requests: s.Params.Int("requests"), rate: s.Params.Float("rate"), sizes: sizes,
		hash: s.Params.Text("keys") == "hashed", hashSeed: random.Scramble(seed + keyBits),
	}
	if s.Entry.group != nil {
		g.group = s.Entry.group(s.Params)
	}
	g.Fields = stream.Fields{Time: g.rate > 0, Size: sizes != nil, Groups: g.group > 0}
	if sizes != nil {
		g.known = sizeTable(sizes, keys)
	}
	return g, nil
}

// timeOf returns the time of a request, counted from 0, in nanoseconds: 0 without a clock.
func timeOf(number int, rate float64) int64 {
	if rate == 0 {
		return 0
	}
	return int64(float64(number) * 1e9 / rate)
}

// checkClock refuses a trace whose last time would not fit: 2^63 ns are 292 years.
func checkClock(requests int, rate float64) error {
	if rate > 0 && float64(requests)*1e9/rate >= math.MaxInt64 {
		return fmt.Errorf("rate=%v: %d requests would last more than 292 years; raise the rate", rate, requests)
	}
	return nil
}

func sizeTable(sizes sizer, keys *keyspace) []int64 {
	table := make([]int64, 0, keys.last)
	for _, b := range keys.reserved {
		for i := range b.n {
			table = append(table, sizes(b.first+uint64(i), i+1, b.n))
		}
	}
	return table
}

func (g *Generator) Requests() int { return g.requests }

// Geometry returns how similar the queries of generated dialogues are; false for other traces.
func (g *Generator) Geometry() (Geometry, bool) {
	if t, ok := g.records.(*dialogueTrace); ok {
		return t.space.geometry(), true
	}
	return Geometry{}, false
}

// Measured returns a line that says how near the trace comes to its targets, "" if it has none.
func (g *Generator) Measured() string {
	if m, ok := g.records.(Measured); ok {
		return m.Measured()
	}
	return ""
}

func (g *Generator) Read(rec *stream.Record) error {
	if g.records != nil {
		return g.records.Read(rec)
	}
	if g.made == g.requests {
		return io.EOF
	}
	key := g.source()
	*rec = stream.Record{Num: key, Time: timeOf(g.made, g.rate), Begins: g.group > 0 && g.made%g.group == 0}
	if g.hash {
		rec.Num = random.Scramble(key ^ g.hashSeed)
	}
	switch {
	case key <= uint64(len(g.known)):
		rec.Size = g.known[key-1]
	case g.sizes != nil:
		rec.Size = g.sizes(key, onceOnly, onceOnly)
	}
	g.made++
	return nil
}

// onceOnly is the rank, and the number of objects, that a sizer gets for objects that are requested once: the least
// popular of several.
const onceOnly = 2
