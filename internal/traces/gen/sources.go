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

// A source chooses the object of each request. Objects are keys from 1 on.
type source interface {
	next() (key uint64)
}

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
	Records Prepare // instead of build, and without the common parameters
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
			build:  buildDLRM},
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

// zipfSource draws by Zipf's law from n objects.
type zipfSource struct {
	first uint64
	table random.Zipf
	bits  *rand.PCG
}

func newZipf(v params.Values, keys *keyspace, seed uint64) (*zipfSource, error) {
	n := v.Int("objects")
	first, err := keys.reserve(n)
	if err != nil {
		return nil, err
	}
	return &zipfSource{first, random.NewZipf(n, v.Float("alpha")), random.Stream(seed, requestBits)}, nil
}

func buildZipf(v params.Values, keys *keyspace, seed uint64) (source, error) {
	return newZipf(v, keys, seed)
}

func (z *zipfSource) next() uint64 { return z.first + uint64(z.table.Draw(z.bits)) }

type uniformSource struct {
	first uint64
	n     int
	bits  *rand.PCG
}

func buildUniform(v params.Values, keys *keyspace, seed uint64) (source, error) {
	n := v.Int("objects")
	first, err := keys.reserve(n)
	return &uniformSource{first, n, random.Stream(seed, requestBits)}, err
}

func (u *uniformSource) next() uint64 {
	i, _ := random.Below(u.bits, u.n)
	return u.first + uint64(i)
}

type scanSource struct{ keys *keyspace }

func buildScan(_ params.Values, keys *keyspace, _ uint64) (source, error) {
	return scanSource{keys}, nil
}

func (s scanSource) next() uint64 { return s.keys.fresh() }

type loopSource struct {
	first, n, i uint64
}

func newLoop(n int, keys *keyspace) (*loopSource, error) {
	first, err := keys.reserve(n)
	return &loopSource{first: first, n: uint64(n)}, err
}

func buildLoop(v params.Values, keys *keyspace, _ uint64) (source, error) {
	return newLoop(v.Int("objects"), keys)
}

func (l *loopSource) next() uint64 {
	key := l.first + l.i
	if l.i++; l.i == l.n {
		l.i = 0
	}
	return key
}

// zigzagSource goes through its objects and back.
type zigzagSource struct {
	first, n, i uint64 // i counts the requests of a period, which is one way and back
}

func buildZigzag(v params.Values, keys *keyspace, _ uint64) (source, error) {
	n := v.Int("objects")
	first, err := keys.reserve(n)
	return &zigzagSource{first: first, n: uint64(n)}, err
}

func (z *zigzagSource) next() uint64 {
	period := max(2*(z.n-1), 1)
	key := z.first + min(z.i, period-z.i)
	if z.i++; z.i == period {
		z.i = 0
	}
	return key
}

// sequenceSource repeats a given list of keys.
type sequenceSource struct {
	keys []uint64
	i    int
}

// maxSequence bounds the numbers of a sequence, and its greatest number.
const maxSequence = 100_000

func buildSequence(v params.Values, keys *keyspace, _ uint64) (source, error) {
	words := strings.Fields(v.Text("order"))
	if len(words) == 0 || len(words) > maxSequence {
		return nil, fmt.Errorf("order has %d numbers, want 1 to %d", len(words), maxSequence)
	}
	s := &sequenceSource{}
	for _, word := range words {
		n, err := strconv.ParseUint(word, 10, 32)
		if err != nil || n < 1 || n > maxSequence {
			return nil, fmt.Errorf("order: %q: want the number of an object, from 1 to %d", word, maxSequence)
		}
		s.keys = append(s.keys, n)
	}
	first, err := keys.reserve(int(slices.Max(s.keys)))
	for i := range s.keys {
		s.keys[i] += first - 1
	}
	return s, err
}

func (s *sequenceSource) next() uint64 {
	key := s.keys[s.i]
	if s.i++; s.i == len(s.keys) {
		s.i = 0
	}
	return key
}

// driftSource is a zipfSource whose rank r belongs to object (r + moves*shift) mod n, both counted from 0.
type driftSource struct {
	zipf          *zipfSource
	period, shift int
	untilMove     int
	offset        int // moves*shift mod n
}

func buildDrift(v params.Values, keys *keyspace, seed uint64) (source, error) {
	zipf, err := newZipf(v, keys, seed)
	period := v.Int("period")
	return &driftSource{zipf: zipf, period: period, shift: v.Int("shift") % v.Int("objects"), untilMove: period}, err
}

func (d *driftSource) next() uint64 {
	n := len(d.zipf.table)
	if d.untilMove == 0 {
		d.untilMove = d.period
		d.offset = (d.offset + d.shift) % n
	}
	d.untilMove--
	i := d.zipf.table.Draw(d.zipf.bits) + d.offset
	if i >= n {
		i -= n
	}
	return d.zipf.first + uint64(i)
}

// zipfScanSource decides before each request outside a scan whether a scan starts.
type zipfScanSource struct {
	zipf   *zipfSource
	scan   source
	length int
	start  float64 // probability that a scan starts
	left   int     // requests left of the current scan
}

func buildZipfScan(v params.Values, keys *keyspace, seed uint64) (source, error) {
	zipf, err := newZipf(v, keys, seed)
	if err != nil {
		return nil, err
	}
	share, length := v.Float("scan-share"), v.Int("scan-length")
	s := &zipfScanSource{zipf: zipf, scan: scanSource{keys}, length: length}
	// A decision yields length requests of a scan with probability start, else one outside: share = start*length /
	// (start*length + 1 - start).
	s.start = share / (float64(float64(length)*(1-share)) + share)
	if n := v.Int("scan-objects"); n > 0 {
		s.scan, err = newLoop(n, keys)
	}
	return s, err
}

func (s *zipfScanSource) next() uint64 {
	if s.left == 0 && random.Unit(s.zipf.bits) < s.start {
		s.left = s.length
	}
	if s.left == 0 {
		return s.zipf.next()
	}
	s.left--
	return s.scan.next()
}

// mixedSource runs its phases in turn, without end.
type mixedSource struct {
	phases  []phase
	current int
	left    int // requests left of the current phase
}

type phase struct {
	source   source
	requests int
}

func buildMixed(v params.Values, keys *keyspace, seed uint64) (source, error) {
	m := &mixedSource{}
	started := map[string]source{}
	for part := range strings.SplitSeq(v.Text("phases"), ";") {
		text, requests, err := splitPhase(part)
		if err != nil {
			return nil, err
		}
		src := started[text]
		if src == nil {
			if src, err = buildPhase(text, keys, random.Scramble(seed+uint64(len(started)))); err != nil {
				return nil, err
			}
			started[text] = src
		}
		m.phases = append(m.phases, phase{src, requests})
	}
	m.left = m.phases[0].requests
	return m, nil
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
	src, err := e.build(v, keys, seed)
	if _, isGrouped := src.(*dlrmSource); isGrouped {
		return nil, fmt.Errorf("phase %q: generators of groups of requests cannot be phases", text)
	}
	return src, err
}

func (m *mixedSource) next() uint64 {
	if m.left == 0 {
		m.current = (m.current + 1) % len(m.phases)
		m.left = m.phases[m.current].requests
	}
	m.left--
	return m.phases[m.current].source.next()
}
