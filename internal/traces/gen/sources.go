package gen

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/attention"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// A source chooses the object of the next request. Objects are keys from 1 on.
type source func() (key uint64)

// keyspace hands out keys. Each source reserves the keys of the objects that it requests repeatedly, one block after
// another from 1 on. Objects that are requested once get the keys after all blocks, one by one.
type keyspace struct {
	reserved []block
	last     uint64 // greatest key in use
}

// block is the keys first to first+n-1; first is the most popular object of its source.
type block struct {
	first uint64
	n     int
}

func (k *keyspace) reserve(n int) (first uint64, err error) {
	if k.last+uint64(n) > maxObjects {
		return 0, fmt.Errorf("more than %d objects in total, which need 8 to 16 bytes each; use fewer", maxObjects)
	}
	first = k.last + 1
	k.reserved = append(k.reserved, block{first, n})
	k.last += uint64(n)
	return first, nil
}

// fresh returns a key that was never used. Sources call it only after every source has reserved its keys.
func (k *keyspace) fresh() uint64 {
	k.last++
	return k.last
}

// Entry describes one generator.
type Entry struct {
	Name    string
	Summary string // one line: which object comes next
	Params  []params.Param
	build   func(v params.Values, keys *keyspace, seed uint64) (source, error)
	group   func(v params.Values) int // requests that come together; nil: each comes alone
	Records Prepare                   // instead of build, and without the common parameters
	// Attention is set instead of Records for attention traces, which have no requests.
	Attention func(v params.Values) (attention.Maker, error)
	sized     bool                        // the records have sizes
	Bytes     func(v params.Values) int64 // estimates the memory; nil: what its objects need
}

// Prepare makes a RecordSource. It ends with ctx, and calls progress, unless that is nil, from time to time.
type Prepare func(ctx context.Context, v params.Values, progress func(done, total int64)) (RecordSource, error)

// quick is Prepare for a RecordSource that is made too fast for progress to matter.
func quick(build func(v params.Values) (RecordSource, error)) Prepare {
	return func(_ context.Context, v params.Values, _ func(done, total int64)) (RecordSource, error) {
		return build(v)
	}
}

// A RecordSource makes requests that carry more than an object: prompts, queries, reads of files.
type RecordSource interface {
	Fields() stream.Fields
	Requests() int
	Read(rec *stream.Record) error // io.EOF after the last
}

// Measured is implemented by RecordSources that aim at targets.
type Measured interface {
	// Measured returns a line that says how near they came.
	Measured() string
}

// Register adds generators that make records. They are listed before mixed, which stays the last one.
func Register(added ...Entry) {
	for _, e := range added {
		if _, err := find(e.Name); err == nil {
			panic("gen: two generators are called " + e.Name)
		}
		all := entries()
		allEntries = slices.Insert(slices.Clone(all), len(all)-1, e)
	}
}

// entries returns every generator in the order in which help prints them. It is a function because mixed refers back to
// it, and makes them once: an experiment calls it for every cell.
func entries() []Entry {
	makeEntries.Do(func() { allEntries = newEntries() })
	return allEntries
}

var (
	makeEntries sync.Once
	allEntries  []Entry
)

func newEntries() []Entry {
	return []Entry{
		{Name: "zipf",
			Summary: "object r is drawn with probability proportional to 1/r^alpha",
			Params:  []params.Param{objectsParam, alphaParam}, build: buildZipf},
		{Name: "uniform",
			Summary: "every object is drawn with the same probability",
			Params:  []params.Param{objectsParam}, build: buildUniform},
		{Name: "scan",
			Summary: "every request is for a new object",
			build:   buildScan},
		{Name: "loop",
			Summary: "objects 1, 2, ..., objects, repeatedly",
			Params:  []params.Param{objectsParam}, build: buildLoop},
		{Name: "zigzag",
			Summary: "objects 1, 2, ..., objects, then back to 1, repeatedly; the ends are requested once per turn",
			Params:  []params.Param{objectsParam}, build: buildZigzag},
		{Name: "sequence",
			Summary: "a given list of objects, repeatedly",
			Params:  []params.Param{orderParam}, build: buildSequence},
		{Name: "zipf-drift",
			Summary: "zipf whose ranks move: after each period of requests, rank r belongs to the object that had rank " +
				"r+shift",
			Params: []params.Param{objectsParam, alphaParam, periodParam, shiftParam}, build: buildDrift},
		{Name: "zipf-scan",
			Summary: "zipf interrupted by scans: runs of requests for new objects, or for a cycle of scan-objects " +
				"others",
			Params: []params.Param{objectsParam, alphaParam, scanShareParam, scanLengthParam, scanObjectsParam},
			build:  buildZipfScan},
		{Name: "dlrm",
			Summary: "batches of lookups into embedding tables: samples of pooling keys, the keys of each table by Zipf's " +
				"law; each day part of the ranks moves",
			Params: []params.Param{rowsParam, tablesParam, skewParam, poolingParam, batchParam, dayParam, driftParam},
			build:  buildDLRM, group: groupOfDLRM},
		{Name: "llm",
			Summary: "prompts of conversations with a language model, as chains of blocks: each repeats the turns before it; " +
				"shapes of published workloads",
			Params: llmParams, Records: quick(newLLMTrace)},
		{Name: "dialogue",
			Summary: "queries of dialogues, with embeddings: whole sessions, their topics by Zipf's law, some repeated " +
				"soon and some long after",
			Params: dialogueParams, Records: quick(newDialogueTrace)},
		{Name: "rac-example",
			Summary: "the 24 queries of Example 1 of the RAC paper: two topics that recur, each with one query that " +
				"recurs itself",
			Params: racExampleParams, Records: quick(newRACExample)},
		{Name: "cluster",
			Summary: "reads of files by the 18 jobs of the IGTCache paper: training, tests, queries and analyses that share " +
				"a cache",
			Params: clusterParams, Records: quick(newClusterTrace), sized: true, Bytes: clusterBytes},
		{Name: "readers",
			Summary: "reads of files by streams that take turns: forward, backward, strided, shuffled, skewed; epochs, copies",
			Params:  readersParams, Records: quick(newReadersTrace), sized: true, Bytes: readersBytes},
		{Name: "attention",
			Summary: "queries, keys and values of a language model at its decode steps, like those of a real one; no requests",
			Params:  attentionParams, Attention: newAttentionTrace},
		{Name: "mixed",
			Summary: "phases of other generators in turn, repeatedly",
			Params:  []params.Param{phasesParam}, build: buildMixed},
	}
}

// maxObjects bounds the memory of a generator: 8 bytes per object for a table of popularity, 8 for sizes.
const maxObjects = 1 << 28

var (
	objectsParam = params.Param{Name: "objects", Default: 100_000, Min: 1, Max: maxObjects, Doc: "number of objects"}
	alphaParam   = params.Param{Name: "alpha", Default: 1.0, Min: 0, Max: 10, Doc: "exponent of the popularity; 0 is " +
		"uniform"}
	periodParam = params.Param{Name: "period", Default: 10_000, Min: 1, Doc: "requests between two moves of the ranks"}
	shiftParam  = params.Param{Name: "shift", Default: 100, Min: 1, Max: maxObjects, Doc: "number of ranks by which " +
		"each move shifts; the top objects go to the end"}

	scanShareParam = params.Param{Name: "scan-share", Default: 0.2, Min: 0, Max: 1, Doc: "expected share of requests " +
		"that belong to scans"}
	scanLengthParam  = params.Param{Name: "scan-length", Default: 1000, Min: 1, Doc: "requests in each scan"}
	scanObjectsParam = params.Param{Name: "scan-objects", Default: 0, Min: 0, Max: maxObjects,
		Doc: "number of objects that the scans cycle through, each scan from where the last stopped; 0: always new objects"}

	orderParam = params.Param{Name: "order", Default: "1 2 3", Doc: "numbers of objects from 1 on, separated by spaces; " +
		"at most 100,000 of them"}

	phasesParam = params.Param{Name: "phases", Default: "zipf:50000;scan:10000",
		Doc: "generator:requests, separated by semicolons; identical generators continue each other"}
)

// zipfObjects are objects with a popularity by Zipf's law.
type zipfObjects struct {
	first uint64
	table random.Zipf
	bits  *rand.PCG
}

func newZipf(v params.Values, keys *keyspace, seed uint64) (*zipfObjects, error) {
	first, err := keys.reserve(v.Int("objects"))
	if err != nil {
		return nil, err
	}
	return &zipfObjects{first, random.NewZipf(v.Int("objects"), v.Float("alpha")), random.Stream(seed, requestBits)}, nil
}

func (z *zipfObjects) draw() uint64 { return z.first + uint64(z.table.Draw(z.bits)) }

func buildZipf(v params.Values, keys *keyspace, seed uint64) (source, error) {
	z, err := newZipf(v, keys, seed)
	return z.draw, err
}

func buildUniform(v params.Values, keys *keyspace, seed uint64) (source, error) {
	n, bits := v.Int("objects"), random.Stream(seed, requestBits)
	first, err := keys.reserve(n)
	return func() uint64 {
		i, _ := random.Below(bits, n)
		return first + uint64(i)
	}, err
}

func buildScan(_ params.Values, keys *keyspace, _ uint64) (source, error) { return keys.fresh, nil }

// cycle requests key(0) to key(period-1), repeatedly.
func cycle(period int, key func(i int) uint64) source {
	i := -1
	return func() uint64 {
		if i++; i == period {
			i = 0
		}
		return key(i)
	}
}

func newLoop(n int, keys *keyspace) (source, error) {
	first, err := keys.reserve(n)
	return cycle(n, func(i int) uint64 { return first + uint64(i) }), err
}

func buildLoop(v params.Values, keys *keyspace, _ uint64) (source, error) {
	return newLoop(v.Int("objects"), keys)
}

// buildZigzag goes through its objects and back.
func buildZigzag(v params.Values, keys *keyspace, _ uint64) (source, error) {
	first, err := keys.reserve(v.Int("objects"))
	period := max(2*(v.Int("objects")-1), 1) // one way and back
	return cycle(period, func(i int) uint64 { return first + uint64(min(i, period-i)) }), err
}

// maxSequence bounds the numbers of a sequence, and its greatest number.
const maxSequence = 100_000

func buildSequence(v params.Values, keys *keyspace, _ uint64) (source, error) {
	words := strings.Fields(v.Text("order"))
	if len(words) == 0 || len(words) > maxSequence {
		return nil, fmt.Errorf("order has %d numbers, want 1 to %d", len(words), maxSequence)
	}
	numbers := make([]uint64, len(words))
	for i, word := range words {
		var err error
		if numbers[i], err = strconv.ParseUint(word, 10, 32); err != nil || numbers[i] < 1 || numbers[i] > maxSequence {
			return nil, fmt.Errorf("order: %q: want the number of an object, from 1 to %d", word, maxSequence)
		}
	}
	first, err := keys.reserve(int(slices.Max(numbers)))
	return cycle(len(numbers), func(i int) uint64 { return first - 1 + numbers[i] }), err
}

// buildDrift makes rank r belong to object (r + moves*shift) mod n, both counted from 0.
func buildDrift(v params.Values, keys *keyspace, seed uint64) (source, error) {
	zipf, err := newZipf(v, keys, seed)
	n, period := v.Int("objects"), v.Int("period")
	shift, untilMove := v.Int("shift")%n, period
	offset := 0 // moves*shift mod n
	return func() uint64 {
		if untilMove == 0 {
			untilMove = period
			offset = (offset + shift) % n
		}
		untilMove--
		i := zipf.table.Draw(zipf.bits) + offset
		if i >= n {
			i -= n
		}
		return zipf.first + uint64(i)
	}, err
}

// buildZipfScan decides before each request outside a scan whether a scan starts.
func buildZipfScan(v params.Values, keys *keyspace, seed uint64) (source, error) {
	zipf, err := newZipf(v, keys, seed)
	if err != nil {
		return nil, err
	}
	scan := source(keys.fresh)
	if n := v.Int("scan-objects"); n > 0 {
		scan, err = newLoop(n, keys)
	}
	share, length := v.Float("scan-share"), v.Int("scan-length")
	// A decision yields length requests of a scan with probability start, else one outside: share = start*length /
	// (start*length + 1 - start).
	start := share / (float64(float64(length)*(1-share)) + share)
	left := 0 // requests of the current scan
	return func() uint64 {
		if left == 0 && random.Unit(zipf.bits) < start {
			left = length
		}
		if left == 0 {
			return zipf.draw()
		}
		left--
		return scan()
	}, err
}

// buildMixed runs its phases in turn, without end.
func buildMixed(v params.Values, keys *keyspace, seed uint64) (source, error) {
	type phase struct {
		source   source
		requests int
	}
	var phases []phase
	started := map[string]source{}
	for part := range strings.SplitSeq(v.Text("phases"), ";") {
		text, requests, err := splitPhase(part)
		if err != nil {
			return nil, err
		}
		if started[text] == nil {
			started[text], err = buildPhase(text, keys, random.Scramble(seed+uint64(len(started))))
			if err != nil {
				return nil, err
			}
		}
		phases = append(phases, phase{started[text], requests})
	}
	current, left := 0, phases[0].requests // left of the current phase
	return func() uint64 {
		if left == 0 {
			current = (current + 1) % len(phases)
			left = phases[current].requests
		}
		left--
		return phases[current].source()
	}, nil
}

// splitPhase cuts "generator(...):requests".
func splitPhase(text string) (generator string, requests int, err error) {
	text = strings.TrimSpace(text)
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 {
		return "", 0, fmt.Errorf("phase %q: want generator:requests, for example zipf(alpha=0.9):50000", text)
	}
	requests, err = strconv.Atoi(strings.TrimSpace(text[colon+1:]))
	if err != nil || requests < 1 {
		return "", 0, fmt.Errorf("phase %q: want a whole number of requests, at least 1, after the colon", text)
	}
	return strings.TrimSpace(text[:colon]), requests, nil
}

func buildPhase(text string, keys *keyspace, seed uint64) (source, error) {
	name, args, err := params.SplitCall(text)
	if err != nil {
		return nil, fmt.Errorf("phase %w", err)
	}
	e, err := find(name)
	if err != nil {
		return nil, fmt.Errorf("phase %q: %w", text, err)
	}
	if e.build == nil {
		return nil, fmt.Errorf("phase %q: generators of prompts, queries or reads of files cannot be phases", text)
	}
	if name == "mixed" {
		return nil, fmt.Errorf("phase %q: phases cannot be nested; list the inner phases instead", text)
	}
	v, err := params.ParseArgs(e.Params, args)
	if err != nil {
		return nil, fmt.Errorf("phase %q: %w", text, err)
	}
	if e.group != nil {
		return nil, fmt.Errorf("phase %q: generators of groups of requests cannot be phases", text)
	}
	return e.build(v, keys, seed)
}
