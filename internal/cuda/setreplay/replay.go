package setreplay

import (
	"math"
	"slices"
	search "sort"

	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/kernels"
	"github.com/cachesim/cachesim/internal/cuda/sort"
	"github.com/cachesim/cachesim/internal/policies/slabs"
)

// What the kernels are written for.
const (
	threads      = 256
	counters     = 8
	markBits     = 8192 // per set
	bytesOfPhase = 16
	wordsOfCell  = 25
	warpsOfBlock = 4                   // few: a block ends when its longest set does
	depths       = 2*slabs.MaxWays + 1 // counters of a stack
	longestChunk = 1 << 30
	leastChunk   = 1 << 20    // if memory allows: shorter ones are not worth their launches
	ofWarp       = 11_000_000 // requests that a warp looks up in a second, about
	warpsAtOnce  = 12         // of a multiprocessor, about: the limit of sets_predicted's registers
)

// replay is a replay of a trace in several caches.
type replay struct {
	scope       *cuda.Scope
	module      cuda.Module
	columns     *sort.Operations
	trace       Trace
	cells       []*cell     // all
	single      []*cell     // that no stacks replay; cells without predictions first
	unpredicted int         // how many these are
	divisions   []*division // in order of their first cells
	chunk       int         // most requests of a chunk
	length      int         // requests of the next chunk
	mostOfSet   int         // most lookups of a chunk in one set
	grouped     bool        // several requests may be in one batch
	firstBatch  uint32      // whose evictions count

	// Of all requests of a chunk.
	objects cuda.Pointer
	batches cuda.Pointer   // null if all batches have the same size
	nexts   []cuda.Pointer // per predictor
	lasts   cuda.Pointer   // null if every request is a batch
	// Scratch space.
	pairs         *sort.Pairs
	sums          *sort.Sums
	marks, places cuda.Pointer

	hashes, keys cuda.Pointer // per object
	descriptions cuda.Pointer // of the cells
	totals       cuda.Pointer

	met     []uint64 // a bit per object that was requested
	fresh   int64    // objects that were requested first after the warm-up
	starts  []uint32 // of sets
	numbers []uint32 // of batches, per request of a chunk
	next    []uint64
	levels  []uint32
}

// division is the requests of a chunk, divided among a number of sets.
type division struct {
	sets                                       int
	stacked                                    []*cell      // that the stacks replay; nil: no stacks
	stacks                                     cuda.Pointer // per set, slabs.MaxWays objects
	filled                                     cuda.Pointer // per set
	depths                                     cuda.Pointer // hits by depth, and loads by the number of objects
	objects, firsts, lasts, batches, lastBatch cuda.Pointer // per entry
	starts                                     cuda.Pointer // per set
}

// cell is a cache with its state.
type cell struct {
	Cell
	*division
	owners, counts, nexts cuda.Pointer // per slot
	unknown, old, phases  cuda.Pointer // per set
	missed                cuda.Pointer // a bit per entry
	marks                 cuda.Pointer // per object, or markBits per set
	levels                cuda.Pointer // per request
	candidates            cuda.Pointer
	confidences           []float64 // per level
	lambda                float64
	leveled               int64 // evictions that were added to it
	result                Result
}

func newReplay(d cuda.Device, t Trace, cells []Cell, o Options) (*replay, error) {
	r := &replay{scope: cuda.NewScope(d), trace: t, grouped: t.Groups != nil || t.Batch > 1,
		firstBatch: t.batchOf(t.Warmup), nexts: make([]cuda.Pointer, len(t.Predict))}
	bySets := map[int]*division{}
	for _, c := range cells {
		if bySets[c.Sets] == nil {
			bySets[c.Sets] = &division{sets: c.Sets}
			r.divisions = append(r.divisions, bySets[c.Sets])
		}
		r.cells = append(r.cells, &cell{Cell: c, division: bySets[c.Sets]})
	}
	r.chooseStacks()
	var err error
	if r.module, err = d.Load(kernels.Sets()); err != nil {
		return nil, err
	}
	if r.columns, err = sort.Load(d); err != nil {
		return nil, err
	}
	return r, r.setChunk(d, o)
}

// setChunk sets the most requests of a chunk: as many as fit beside the state of the caches, but few enough for a
// second or so.
func (r *replay) setChunk(d cuda.Device, o Options) error {
	usable, err := cuda.Usable(d)
	if err != nil {
		return err
	}
	longest, first := r.trace.longestBatch()
	most := max(r.inASecond(d.Processors()), int64(longest))
	if r.mostOfSet = o.Set; o.Set == 0 {
		r.mostOfSet = ofWarp
	}
	r.chunk = int(min(most, longestChunk, int64(len(r.trace.Objects))))
	if o.Chunk > 0 {
		r.chunk = min(r.chunk, o.Chunk)
	}
	r.chunk = search.Search(r.chunk, func(n int) bool { return r.bytes(n+1) > usable })
	r.length = r.chunk
	switch {
	case r.chunk < 1:
		return cuda.TooLarge("caches of sets, %d of them, need at least %d MiB on the GPU, of which %d MiB are free; "+
			"replay fewer or smaller ones, or use --device cpu", len(r.cells), r.bytes(1)>>20+1, usable>>20)
	case r.chunk < longest:
		return cuda.TooLarge("a batch of %d requests, at position %d, needs %d MiB on the GPU beside the state of caches of "+
			"sets, %d of them, and %d MiB are free; use smaller batches, fewer or smaller caches, or --device cpu",
			longest, first, (r.bytes(longest)-r.bytes(0))>>20+1, len(r.cells), (usable-r.bytes(0))>>20)
	}
	return nil
}

// inASecond estimates how many requests a device serves in a second or so, if no set is much longer than others: many
// caches share the device. A replay is not interrupted meanwhile, and the driver of a GPU that has a display ends
// kernels after a few seconds.
func (r *replay) inASecond(processors int) int64 {
	replays := len(r.single)
	for _, d := range r.divisions {
		if d.stacked != nil {
			replays++
		}
	}
	return max(leastChunk, int64(ofWarp*float64(warpsAtOnce*processors)/float64(replays)))
}

// chooseStacks finds the cells that stacks replay: several that are LRU, with the same number of sets. Only if every
// request is a batch: otherwise an object in a smaller set need not be in a larger one.
func (r *replay) chooseStacks() {
	for _, c := range r.cells {
		if c.Candidates == nil && !r.grouped {
			c.stacked = append(c.stacked, c)
		} else {
			r.single = append(r.single, c)
		}
	}
	for _, d := range r.divisions {
		if len(d.stacked) == 1 {
			r.single = append(r.single, d.stacked[0])
			d.stacked = nil
		}
	}
	predicted := func(c *cell) int { return min(1, len(c.Candidates)) }
	slices.SortStableFunc(r.single, func(a, b *cell) int { return predicted(a) - predicted(b) })
	r.unpredicted, _ = slices.BinarySearchFunc(r.single, 1, func(c *cell, want int) int { return predicted(c) - want })
}

// bytes returns the memory for chunks of n requests.
func (r *replay) bytes(n int) int64 {
	const margin = 1 << 20 // for the candidates and descriptions of cells
	return cuda.BytesOf(r.memory(n)) + sort.PairsBytes(n, false) + sort.SumsBytes(n) + 12*int64(r.trace.Count) + margin
}

func (r *replay) bytesOfMarks(c *cell) int64 {
	if c.Confidence.Bits {
		return int64(c.Sets) * markBits / 8
	}
	return 4 * int64(r.trace.Count)
}

// allocate allocates all memory, and empties the caches.
func (r *replay) allocate() (err error) {
	if err := r.scope.AllocAll(r.memory(r.chunk)...); err != nil {
		return err
	}
	for _, c := range r.single {
		if err := r.writeCandidates(c); err != nil {
			return err
		}
	}
	if r.pairs, err = sort.NewPairs(r.scope, r.chunk, false); err != nil {
		return err
	}
	if r.sums, err = sort.NewSums(r.scope, r.chunk); err != nil {
		return err
	}
	if r.hashes, err = cuda.Upload(r.scope, r.trace.Hashes); err != nil {
		return err
	}
	r.keys, err = cuda.Upload(r.scope, r.trace.Keys)
	return err
}

// resized returns a slice of n elements of any value, in the same memory if that has room.
func resized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// memory returns the columns for chunks of so many requests, for all of a chunk, of divisions and of cells.
func (r *replay) memory(chunk int) []cuda.Allocation {
	n := int64(chunk)
	all := []cuda.Allocation{cuda.Undefined(&r.objects, 4*n), cuda.Undefined(&r.marks, 4*(n+1)),
		cuda.Undefined(&r.places, 4*n), cuda.Zeros(&r.totals, 8*counters*int64(max(1, len(r.single))))}
	if r.trace.Groups != nil {
		all = append(all, cuda.Undefined(&r.batches, 4*n))
	}
	if r.grouped {
		all = append(all, cuda.Undefined(&r.lasts, 4*n))
	}
	for i := range r.nexts {
		all = append(all, cuda.Undefined(&r.nexts[i], 8*n))
	}
	for _, d := range r.divisions {
		all = append(all, d.columns(n)...)
	}
	for _, c := range r.single {
		all = append(all, r.stateOf(c, n)...)
	}
	return all
}

// columns returns the memory for the requests of a chunk divided among sets, and for stacks, which are empty.
func (d *division) columns(chunk int64) (all []cuda.Allocation) {
	for _, column := range []*cuda.Pointer{&d.objects, &d.firsts, &d.lasts, &d.batches, &d.lastBatch} {
		all = append(all, cuda.Undefined(column, 4*chunk))
	}
	all = append(all, cuda.Undefined(&d.starts, 4*int64(d.sets+1)))
	if d.stacked != nil {
		all = append(all, cuda.Ones(&d.stacks, 4*slabs.MaxWays*int64(d.sets)),
			cuda.Zeros(&d.filled, 4*int64(d.sets)), cuda.Zeros(&d.depths, 8*depths))
	}
	return all
}

// stateOf returns the memory of a cache that is empty.
func (r *replay) stateOf(c *cell, chunk int64) []cuda.Allocation {
	slots, sets := int64(c.Sets)*int64(c.Ways), int64(c.Sets)
	all := []cuda.Allocation{cuda.Ones(&c.owners, 4*slots), cuda.Zeros(&c.counts, 4*slots),
		cuda.Undefined(&c.missed, 4*(chunk/32+sets+1))}
	if c.Candidates != nil {
		all = append(all, cuda.Zeros(&c.nexts, 8*slots), cuda.Zeros(&c.unknown, 8*sets))
	}
	if c.Confidence != nil {
		all = append(all, cuda.Zeros(&c.old, 8*sets), cuda.Zeros(&c.phases, bytesOfPhase*sets),
			cuda.Zeros(&c.marks, r.bytesOfMarks(c)), cuda.Undefined(&c.levels, 4*chunk))
	}
	return all
}

// writeCandidates writes the candidates of a cell, and computes its confidence per level.
func (r *replay) writeCandidates(c *cell) (err error) {
	if c.Candidates == nil {
		return nil
	}
	numbers := make([]uint32, len(c.Candidates))
	for i, n := range c.Candidates {
		numbers[i] = uint32(n)
	}
	c.candidates, err = cuda.Upload(r.scope, numbers)
	if c.Confidence == nil {
		return err
	}
	for power := 1.0; len(c.confidences) == 0 || c.confidences[len(c.confidences)-1] > 0; power *= c.Confidence.Base {
		c.confidences = append(c.confidences, 1/power)
	}
	return err
}

// serve replays a chunk that begins at a position, and returns its end.
func (r *replay) serve(from int) (to int, err error) {
	to = r.chunkEnd(from, r.length)
	if err := r.write(from, to); err != nil {
		return 0, err
	}
	if to, err = r.shorten(from, to); err != nil {
		return 0, err
	}
	if err := r.replayWritten(from, to); err != nil {
		return 0, err
	}
	r.meet(from, to) // while the device is busy
	return to, r.addLambda(to - from)
}

// shorten divides the written requests [from, to) among the sets, and returns the end of a chunk without too many
// lookups in any set: a warp serves them one after another, even if all other warps are idle.
func (r *replay) shorten(from, to int) (end int, err error) {
	for {
		longest, err := r.divideAll(from, to-from)
		if err != nil {
			return 0, err
		}
		shorter := to
		if longest > r.mostOfSet {
			shorter = r.chunkEnd(from, int(float64(to-from)*float64(r.mostOfSet)/float64(longest)))
		}
		if shorter >= to { // short enough, or a single batch
			r.length = min(r.chunk, 2*(to-from))
			return to, nil
		}
		to = shorter
	}
}

// divideAll divides n requests among all numbers of sets, and returns the number of lookups of the longest set.
func (r *replay) divideAll(from, n int) (longest int, err error) {
	lookups, err := r.lookUps(from, n)
	if err != nil {
		return 0, err
	}
	for _, d := range r.divisions {
		if err := r.divide(d, lookups, from); err != nil {
			return 0, err
		}
		of, err := r.longestOf(d, lookups)
		if err != nil {
			return 0, err
		}
		longest = max(longest, of)
	}
	return longest, nil
}

// longestOf returns how many of some lookups the longest set has, apart from those that were left out.
func (r *replay) longestOf(d *division, lookups int) (longest int, err error) {
	r.starts = resized(r.starts, d.sets+1)
	if err := cuda.Download(r.scope, r.starts, d.starts); err != nil {
		return 0, err
	}
	last := r.starts[d.sets]
	if r.starts[0] != 0 || last < 1 || int(last) > lookups {
		return 0, cuda.Wrong("sets have the lookups from %d to %d of %d", r.starts[0], last, lookups)
	}
	for set := range d.sets {
		begin, end := r.starts[set], r.starts[set+1]
		if end < begin {
			return 0, cuda.Wrong("set %d has the lookups from %d to %d", set, begin, end)
		}
		longest = max(longest, int(end-begin))
	}
	return longest, nil
}

// replayWritten replays the requests [from, to), which have been written and divided, in all caches.
func (r *replay) replayWritten(from, to int) error {
	if err := r.predict(from, to); err != nil {
		return err
	}
	for _, d := range r.divisions {
		if d.stacked == nil {
			continue
		}
		if err := r.module.Launch("sets_stacks", gridOf(d.sets), uint32(d.sets), d.starts, d.objects, d.firsts,
			uint32(max(0, r.trace.Warmup-from)), d.stacks, d.filled, d.depths,
			d.depths+8*slabs.MaxWays); err != nil {
			return err
		}
	}
	if len(r.single) == 0 {
		return nil
	}
	if err := r.describe(from); err != nil {
		return err
	}
	for _, c := range r.single {
		if c.Confidence != nil {
			if err := r.scope.Fill(c.levels, 0, 4*int64(to-from)); err != nil {
				return err
			}
		}
	}
	if err := r.launchCells("sets_lru", 0, r.unpredicted); err != nil {
		return err
	}
	return r.launchCells("sets_predicted", r.unpredicted, len(r.single))
}

// launchCells replays the cells [from, to), a warp for each of their sets.
func (r *replay) launchCells(kernel string, from, to int) error {
	if from == to {
		return nil
	}
	warps := 0
	for _, c := range r.single[from:to] {
		warps += c.Sets
	}
	return r.module.Launch(kernel, gridOf(warps), r.descriptions+cuda.Pointer(8*wordsOfCell*from), uint32(to-from))
}

// gridOf returns a grid of at least that number of warps.
func gridOf(warps int) cuda.Grid {
	return cuda.Grid{Blocks: (warps + warpsOfBlock - 1) / warpsOfBlock, Threads: 32 * warpsOfBlock}
}

// write writes the requests to the device, and their batches.
func (r *replay) write(from, to int) error {
	if err := cuda.Put(r.scope, r.objects, r.trace.Objects[from:to]); err != nil {
		return err
	}
	if r.trace.Groups != nil {
		number, groups := r.trace.batchOf(from), r.trace.Groups
		r.numbers = resized(r.numbers, to-from)
		for pos := from; pos < to; pos++ {
			for int(number) <= len(groups) && groups[number-1] <= pos {
				number++
			}
			r.numbers[pos-from] = number
		}
		return cuda.Put(r.scope, r.batches, r.numbers)
	}
	return nil
}

// predict writes the predictions for the requests [from, to). Predictors see each request once.
func (r *replay) predict(from, to int) error {
	for i, predict := range r.trace.Predict {
		r.next = resized(r.next, to-from)
		predict(from, r.next)
		if err := cuda.Put(r.scope, r.nexts[i], r.next); err != nil {
			return err
		}
	}
	return nil
}

// launch runs a kernel with a thread for each of n elements.
func (r *replay) launch(kernel string, n int, arguments ...any) error {
	return r.module.Launch(kernel, cuda.Grid{Blocks: max(1, (n+threads-1)/threads), Threads: threads}, arguments...)
}

// lookUps finds the first request of each object in each batch, and returns how many there are; places has their
// positions, and lasts the last request of the object in the batch.
func (r *replay) lookUps(from, n int) (count int, err error) {
	if !r.grouped {
		return n, r.columns.Iota(r.places, n)
	}
	const null = cuda.Pointer(0)
	p := r.pairs
	if err := r.launch("sets_of", n, r.objects, null, uint32(n), null, uint32(0), p.Keys, p.Values); err != nil {
		return 0, err
	}
	if err := r.columns.Sort(p, n, bitsOf(r.trace.Count)); err != nil {
		return 0, err
	}
	if err := r.launch("sets_lookups", n, p.Keys, p.Values, uint32(n), r.batches, uint32(r.trace.Batch), uint32(from),
		r.marks); err != nil {
		return 0, err
	}
	if count, err = r.compact(n); err != nil {
		return 0, err
	}
	if err := r.scope.Fill(r.marks, 0, 4*int64(n)); err != nil {
		return 0, err
	}
	if err := r.launch("sets_lasts", count, r.places, uint32(count), p.Values, uint32(n), r.marks, r.lasts); err != nil {
		return 0, err
	}
	again, err := r.compact(n)
	if err == nil && again != count {
		err = cuda.Wrong("%d lookups have %d places", count, again)
	}
	return count, err
}

// compact writes the indices of marks to places, and returns how many there are.
func (r *replay) compact(n int) (count int, err error) {
	if err := r.columns.PrefixSum(r.marks, n, r.sums); err != nil {
		return 0, err
	}
	if err := r.launch("sets_places", n, r.marks, uint32(n), r.places); err != nil {
		return 0, err
	}
	var total [1]uint32
	if err := cuda.Download(r.scope, total[:], r.marks+cuda.Pointer(4*n)); err != nil {
		return 0, err
	}
	if total[0] < 1 || int64(total[0]) > int64(n) {
		return 0, cuda.Wrong("%d requests have %d lookups", n, total[0])
	}
	return int(total[0]), nil
}

// divide divides n lookups of a chunk among sets.
func (r *replay) divide(d *division, n, from int) error {
	p := r.pairs
	if err := r.launch("sets_of", n, r.objects, r.places, uint32(n), r.hashes, uint32(d.sets), p.Keys,
		p.Values); err != nil {
		return err
	}
	if err := r.columns.Sort(p, n, bitsOf(d.sets)); err != nil {
		return err
	}
	if err := r.columns.Starts(p.Keys, n, d.starts, d.sets); err != nil {
		return err
	}
	size, begin := uint32(r.trace.Batch), uint32(from)
	if err := r.launch("sets_chains", n, p.Keys, p.Values, uint32(n), r.objects, r.batches, size, begin,
		r.marks); err != nil {
		return err
	}
	if err := r.columns.PrefixSum(r.marks, n, r.sums); err != nil {
		return err
	}
	if err := r.launch("sets_entries", n, p.Values, r.marks, uint32(n), r.objects, r.lasts, r.batches, size, begin,
		d.objects, d.firsts, d.lasts, d.batches, d.lastBatch); err != nil {
		return err
	}
	return r.launch("sets_starts", d.sets+1, d.starts, uint32(d.sets+1), r.marks)
}

// describe writes the cells to the device for the chunk from a position on.
func (r *replay) describe(from int) (err error) {
	words, warps := make([]uint64, 0, wordsOfCell*len(r.single)), 0
	pair := func(low, high int) uint64 { return uint64(uint32(low)) | uint64(uint32(high))<<32 }
	for i, c := range r.single {
		d := c.division
		var predictions cuda.Pointer
		if c.Candidates != nil {
			predictions = r.nexts[c.Predictor]
		}
		// Cells with predictions are a launch of their own, whose warps count from 0.
		if i == r.unpredicted {
			warps = 0
		}
		words = append(words, uint64(warps))
		for _, p := range []cuda.Pointer{
			d.objects, d.firsts, d.lasts, d.batches, d.lastBatch, d.starts, r.keys, c.owners, c.counts, c.nexts, c.unknown,
			c.old, c.missed, predictions, c.phases, c.marks, c.levels, c.candidates,
			r.totals + cuda.Pointer(8*counters*i),
		} {
			words = append(words, uint64(p))
		}
		decay, marksAreBits := 0, 0
		if c.Confidence != nil {
			decay = min(c.Confidence.Fallbacks, math.MaxInt32)
			if c.Confidence.Bits {
				marksAreBits = 1
			}
		}
		words = append(words, pair(c.Sets, c.Ways), pair(c.Slabs, c.Lanes), pair(max(0, r.trace.Warmup-from),
			int(r.firstBatch)), pair(max(0, len(c.Candidates)-1), decay), pair(marksAreBits, 0))
		warps += c.Sets
	}
	if r.descriptions != 0 {
		return cuda.Put(r.scope, r.descriptions, words)
	}
	r.descriptions, err = cuda.Upload(r.scope, words)
	cuda.Opaque(r.scope, r.descriptions)
	return err
}

// addLambda adds the confidences of the evictions of a chunk of n requests, in order: sums of floating-point numbers
// depend on it.
func (r *replay) addLambda(n int) error {
	for _, c := range r.single {
		if c.Confidence == nil {
			continue
		}
		r.levels = resized(r.levels, n)
		if err := cuda.Download(r.scope, r.levels, c.levels); err != nil {
			return err
		}
		for _, level := range r.levels {
			if level != 0 {
				c.leveled++
				c.lambda += c.confidences[min(int(level), len(c.confidences))-1]
			}
		}
	}
	return nil
}

// results copies the counts from the device.
func (r *replay) results() ([]Result, error) {
	totals := make([]int64, counters*max(1, len(r.single)))
	if err := cuda.Download(r.scope, totals, r.totals); err != nil {
		return nil, err
	}
	for i, c := range r.single {
		n := totals[counters*i:]
		tally := slabs.Tally{Phases: n[2], ByPrediction: n[3], Fallbacks: n[4], ByRecency: n[5], Lambda: c.lambda}
		c.result = Result{Misses: n[0], Evictions: n[1], Tally: tally, Calls: n[6], Predictions: n[7]}
	}
	for _, d := range r.divisions {
		if err := r.resultsOfStacks(d); err != nil {
			return nil, err
		}
	}
	results := make([]Result, len(r.cells))
	for i, c := range r.cells {
		if err := r.trace.plausible(c, r.fresh); err != nil {
			return nil, err
		}
		results[i] = c.result
	}
	return results, nil
}

// resultsOfStacks sets the results of the cells that the stacks of a division replay. A set with fewer ways than an
// object's depth misses, and evicts, since it is full.
func (r *replay) resultsOfStacks(d *division) error {
	if d.stacked == nil {
		return nil
	}
	var counted [depths]int64
	if err := cuda.Download(r.scope, counted[:], d.depths); err != nil {
		return err
	}
	for _, n := range counted {
		if n < 0 || n > int64(len(r.trace.Objects)) {
			return cuda.Wrong("%d of %d requests have one depth", n, len(r.trace.Objects))
		}
	}
	hits, loads := counted[:slabs.MaxWays], counted[slabs.MaxWays:]
	for _, c := range d.stacked {
		for depth, n := range hits {
			if depth >= c.Ways {
				c.result.Misses += n
				c.result.Evictions += n
			}
		}
		for objects, n := range loads {
			c.result.Misses += n
			if objects >= c.Ways {
				c.result.Evictions += n
			}
		}
	}
	return nil
}
