// Package tracestat describes a trace: how much is requested, how popularity, sizes and reuse are distributed.
package tracestat

import (
	"fmt"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Summary describes a trace. Pointers are nil, and null in JSON, if the trace does not have the data: no sizes, no
// clock.
//
// Counts of a sampled trace (SampleRate below 1) are the sample's own. Reuse distances, and reuse times in requests,
// are divided by SampleRate, so that they estimate the whole trace's (SHARDS, Waldspurger et al., FAST 2015).
type Summary struct {
	Counts
	Kind     Section // what the trace's kind of workload adds; nil for plain objects
	kindName string
	Shape
	popularity []uint32 // requests of each object, most first
}

// Counts are sums over the requests.
type Counts struct {
	Trace      string  `json:"trace"`
	SampleRate float64 `json:"sample_rate"`
	Requests   int64   `json:"requests"`
	Objects    int64   `json:"objects"`

	// Compulsory misses are the first requests of the objects: no cache can have fewer misses.
	CompulsoryMissRatio float64 `json:"compulsory_miss_ratio"` // Objects / Requests
	// One-hit wonders are objects that are requested exactly once.
	OneHitWonders      int64   `json:"one_hit_wonders"`
	OneHitObjectShare  float64 `json:"one_hit_object_share"`
	OneHitRequestShare float64 `json:"one_hit_request_share"`

	Bytes     *int64 `json:"bytes"`     // sum of the sizes of all requests
	Footprint *int64 `json:"footprint"` // sum of the first sizes above 0 of all objects, bytes
	// EmptyRequests have size 0: replays leave them out where capacities count bytes.
	EmptyRequests *int64 `json:"empty_requests"`
	// Sizes says where sizes come from that the files do not state; "" if they state all. The shares are of those that
	// were imputed from other objects.
	Sizes           string   `json:"sizes"`
	ImputedObjects  *float64 `json:"imputed_objects"`
	ImputedRequests *float64 `json:"imputed_requests"`
	ImputedBytes    *float64 `json:"imputed_bytes"`

	SpanSeconds       *float64 `json:"span_seconds"`        // from the earliest to the latest request
	RequestsPerSecond *float64 `json:"requests_per_second"` // (Requests-1) / SpanSeconds
	// OutOfOrder counts requests whose time is before the previous request's. Reuse times below 0 count as 0.
	OutOfOrder *int64 `json:"out_of_order"`

	Operations *Operations `json:"operations"`
}

// knowsObjects reports whether it is known which objects are requested; of prompts without contents it is not.
func (s *Summary) knowsObjects() bool { return s.popularity != nil }

// Shape is how the requests are distributed.
type Shape struct {
	Zipf      *ZipfFit   `json:"zipf"` // nil for fewer than two objects
	TopShares []TopShare `json:"top_shares"`

	ObjectSizes  *Distribution `json:"object_sizes"`  // bytes, (first) size of each object
	RequestSizes *Distribution `json:"request_sizes"` // bytes, size of each request
	// ReuseDistance counts the other distinct objects between two requests of an object: LRU hits with a larger capacity.
	ReuseDistance     *Distribution `json:"reuse_distance"`
	ReuseTimeRequests *Distribution `json:"reuse_time_requests"` // requests from a request to the next of the same object
	ReuseTimeSeconds  *Distribution `json:"reuse_time_seconds"`  // the same by the clock of the trace
}

// Operations counts requests by operation.
type Operations struct {
	Reads   int64 `json:"reads"`
	Writes  int64 `json:"writes"`
	Deletes int64 `json:"deletes"`
	Unknown int64 `json:"unknown"`
}

// TopShare is the share of the requests that go to the most requested objects.
type TopShare struct {
	Objects      int64   `json:"objects"`
	RequestShare float64 `json:"request_share"`
}

// Summarize describes t, with sizes, times and operations as far as t has them.
func Summarize(t *traces.Trace) (*Summary, error) {
	if len(t.Objects) == 0 {
		return nil, fmt.Errorf("%s: the trace has no requests", t.Name)
	}
	answered := t
	t = t.Requested()
	rate := t.SampleRate
	if rate == 0 {
		rate = 1
	}
	s := &Summary{Counts: Counts{Trace: t.Name, SampleRate: rate, Requests: int64(len(t.Objects)),
		Objects: int64(t.NumObjects)}}
	distances := make(chan *histogram, 1)
	go func() { distances <- reuseDistances(t) }() // takes as long as everything else together
	counts := s.scanReuse(t)
	if t.HasSizes() {
		if err := s.addSizes(t, counts); err != nil {
			return nil, err
		}
	}
	if t.Ops != nil {
		s.Operations = countOperations(t.Ops)
	}
	for _, k := range kinds {
		if s.Kind = k.describe(t); s.Kind != nil {
			s.kindName = k.name
			break
		}
	}
	if p, ok := s.Kind.(*PromptSummary); ok && answered != t {
		p.addAnswers(answered)
	}
	if prompts.IsLengthsOnly(t.Kind) { // objects stand for prompts, and say nothing
		s.ReuseTimeRequests, s.ReuseTimeSeconds = nil, nil
		return s, nil
	}
	s.addPopularity(counts)
	s.ReuseDistance = (<-distances).distribution(rate)
	return s, nil
}

// scanReuse goes through the requests once: counts per object, reuse times and the clock.
func (s *Summary) scanReuse(t *traces.Trace) (counts []uint32) {
	counts = make([]uint32, t.NumObjects)
	last := make([]uint32, t.NumObjects)
	inRequests := &histogram{}
	for pos, o := range t.Objects {
		if counts[o] > 0 {
			inRequests.add(int64(pos)-int64(last[o]), 1)
		}
		counts[o]++
		last[o] = uint32(pos)
	}
	s.ReuseTimeRequests = inRequests.distribution(s.SampleRate)
	if t.Times != nil {
		s.scanClock(t)
	}
	return counts
}

func (s *Summary) scanClock(t *traces.Trace) {
	const never = math.MinInt64
	last := slices.Repeat([]int64{never}, t.NumObjects)
	inNanoseconds := &histogram{}
	earliest, latest, previous, outOfOrder := t.Times[0], t.Times[0], t.Times[0], int64(0)
	for pos, o := range t.Objects {
		now := t.Times[pos]
		if last[o] != never {
			inNanoseconds.add(max(now-last[o], 0), 1)
		}
		last[o] = now
		if now < previous {
			outOfOrder++
		}
		previous = now
		earliest, latest = min(earliest, now), max(latest, now)
	}
	span := float64(latest-earliest) / 1e9
	s.SpanSeconds, s.OutOfOrder = &span, &outOfOrder
	if span > 0 {
		perSecond := float64(s.Requests-1) / span
		s.RequestsPerSecond = &perSecond
	}
	s.ReuseTimeSeconds = inNanoseconds.distribution(1e9)
}

func reuseDistances(t *traces.Trace) *histogram {
	stack := oracle.NewLRUStack(t.NumObjects)
	stack.Serve(t.Objects, true)
	h := &histogram{}
	for distance, n := range stack.Distances() {
		if n > 0 {
			h.add(int64(distance), n)
		}
	}
	return h
}

func (s *Summary) addSizes(t *traces.Trace, counts []uint32) error {
	perObject, perRequest := &histogram{}, &histogram{}
	for o, size := range t.ObjectSizes {
		perObject.add(size, 1)
		if t.RequestSizes == nil {
			perRequest.add(size, int64(counts[o]))
		}
	}
	for _, size := range t.RequestSizes {
		perRequest.add(size, 1)
	}
	if perRequest.sum >= math.MaxInt64 || perObject.sum >= math.MaxInt64 {
		return fmt.Errorf("%s: the sizes add up to more than 2^63 bytes; does another column hold the sizes?", t.Name)
	}
	var bytes int64
	for pos := range t.Objects {
		bytes += t.Size(pos)
	}
	s.Bytes, s.Footprint, s.EmptyRequests = &bytes, new(t.Footprint()), new(int64(t.EmptyRequests()))
	imputed := t.Sizing.Imputed()
	s.Sizes = t.Sizing.Text()
	s.ImputedObjects, s.ImputedRequests, s.ImputedBytes = &imputed.Objects, &imputed.Requests, &imputed.Bytes
	s.ObjectSizes, s.RequestSizes = perObject.distribution(1), perRequest.distribution(1)
	return nil
}

func countOperations(ops []stream.Op) *Operations {
	var counts [256]int64
	for _, op := range ops {
		if op.IsLookup() {
			op = stream.OpRead
		}
		counts[op]++
	}
	return &Operations{
		Reads:   counts[stream.OpRead],
		Writes:  counts[stream.OpWrite],
		Deletes: counts[stream.OpDelete],
		Unknown: counts[stream.OpUnknown],
	}
}

// addPopularity sorts counts and adds the figures that follow from them.
func (s *Summary) addPopularity(counts []uint32) {
	slices.Sort(counts)
	once, _ := slices.BinarySearch(counts, 2)
	slices.Reverse(counts)
	s.popularity = counts
	s.OneHitWonders = int64(once)
	s.CompulsoryMissRatio = float64(s.Objects) / float64(s.Requests)
	s.OneHitObjectShare = float64(once) / float64(s.Objects)
	s.OneHitRequestShare = float64(once) / float64(s.Requests)
	s.Zipf = fitZipf(counts)
	s.TopShares = s.topShares()
}

// topShares gives the shares of the top 1, 10, 100, ... objects.
func (s *Summary) topShares() []TopShare {
	var shares []TopShare
	var requests int64
	next := 1
	for i, c := range s.popularity {
		requests += int64(c)
		// The share of all objects is 1 and says nothing.
		if i+1 == next && (next == 1 || next < len(s.popularity)) {
			shares = append(shares, TopShare{int64(next), float64(requests) / float64(s.Requests)})
			next *= 10
		}
	}
	return shares
}
