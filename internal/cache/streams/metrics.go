package streams

import (
	"math"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/metric"
)

// Metrics of every part with a tree. Nodes and streams are counted at the end of the replay, tests during all of it.
var (
	NodesMetric = metric.Metric{Name: "tree_nodes", Unit: metric.Count, Merge: metric.Max,
		Doc: "directories, files and blocks in the tree of recent accesses, at the end"}
	BytesMetric = metric.Metric{Name: "tree_bytes", Unit: metric.Bytes, Better: metric.Lower, Merge: metric.Max,
		Doc:    "memory of the tree of recent accesses, without the listing of the data set",
		Figure: metric.Figure{Axis: "memory of the tree"}}
	StreamsMetric = metric.Metric{Name: "streams", Unit: metric.Count,
		Doc: "directories and files whose pattern has been recognised, at the end"}
	SequentialMetric = metric.Metric{Name: "streams_sequential", Unit: metric.Count,
		Doc: "streams that are read in the order of the listing"}
	RandomMetric = metric.Metric{Name: "streams_random", Unit: metric.Count,
		Doc: "streams that are read in a random order"}
	SkewedMetric = metric.Metric{Name: "streams_skewed", Unit: metric.Count,
		Doc: "all other streams: some of their entries are read more often"}
	TestsMetric = metric.Metric{Name: "pattern_tests", Unit: metric.Count,
		Doc: "tests of the pattern of a directory or file"}
	SequentialTests = metric.Metric{Name: "tests_sequential", Unit: metric.Share, Digits: 2,
		Merge: metric.MeanBy(TestsMetric), Doc: "share of the tests with the verdict sequential"}
	RandomTests = metric.Metric{Name: "tests_random", Unit: metric.Share, Digits: 2, Merge: metric.MeanBy(TestsMetric),
		Doc: "share of the tests with the verdict random"}
	SkewedTests = metric.Metric{Name: "tests_skewed", Unit: metric.Share, Digits: 2, Merge: metric.MeanBy(TestsMetric),
		Doc: "share of the tests with the verdict skewed"}
	// GapsMetric and GapDistance are measured if Options.Gaps asks for them.
	GapsMetric = metric.Metric{Name: "gap_share", Unit: metric.Share, Digits: 2, Labels: "gap", Merge: metric.Apart,
		Doc: "share of the gaps in the tests that are as long as the labelled share of the entries, or up to a bin shorter"}
	GapDistance = metric.Metric{Name: "gap_distance", Unit: metric.Share, Digits: 2, Merge: metric.Apart,
		Doc: "largest difference, at the ends of the bins, between the gaps in all tests and the gaps of a random order"}
)

// Metrics are reported by every part that recognises how files are read.
var Metrics = []metric.Metric{NodesMetric, BytesMetric, StreamsMetric, SequentialMetric, RandomMetric, SkewedMetric,
	TestsMetric, SequentialTests, RandomTests, SkewedTests, GapsMetric, GapDistance}

func (t *Tree) countGaps(gaps []uint64, items float64) {
	bins := float64(len(t.gaps))
	if bins == 0 || items < 2 {
		return
	}
	for _, gap := range gaps {
		bin := math.Ceil(float64(gap)/(items-1)*bins) - 1
		t.gaps[int(min(max(bin, 0), bins-1))]++
	}
}

func (t *Tree) Measure() (v metric.Values) {
	v.SetInt(NodesMetric, int64(t.Nodes()))
	v.SetInt(BytesMetric, t.Bytes())
	v.SetInt(StreamsMetric, int64(t.Streams(Unknown)))
	v.SetInt(SequentialMetric, int64(t.Streams(Sequential)))
	v.SetInt(RandomMetric, int64(t.Streams(Random)))
	v.SetInt(SkewedMetric, int64(t.Streams(Skewed)))
	v.SetInt(TestsMetric, int64(t.tests[Unknown]))
	if all := float64(t.tests[Unknown]); all > 0 {
		v.Set(SequentialTests, float64(t.tests[Sequential])/all)
		v.Set(RandomTests, float64(t.tests[Random])/all)
		v.Set(SkewedTests, float64(t.tests[Skewed])/all)
	}
	t.measureGaps(&v)
	return v
}

// measureGaps adds the histogram of gaps, and its distance from a random order of many items. In a random order 2x - x²
// of the gaps are at most a share x of the items long.
func (t *Tree) measureGaps(v *metric.Values) {
	sum := int64(0)
	for _, n := range t.gaps {
		sum += n
	}
	if sum == 0 {
		return
	}
	distance, below := 0.0, int64(0)
	for bin, n := range t.gaps {
		below += n
		x := float64(bin+1) / float64(len(t.gaps))
		distance = max(distance, math.Abs(float64(below)/float64(sum)-float64(x*(2-x))))
		v.SetNamed(GapsMetric.Of(strconv.FormatFloat(x, 'g', 4, 64)), float64(n)/float64(sum))
	}
	v.Set(GapDistance, distance)
}
