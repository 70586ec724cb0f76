package streams

import "github.com/cachesim/cachesim/internal/metric"

// Metrics of every part with a tree. All describe the end of the replay.
var (
	NodesMetric = metric.Metric{Name: "tree_nodes", Unit: metric.Count, Merge: metric.Max,
		Doc: "directories, files and blocks in the tree of recent accesses, at the end"}
	BytesMetric = metric.Metric{Name: "tree_bytes", Unit: metric.Bytes, Better: metric.Lower, Merge: metric.Max,
		Doc: "memory of that tree, without the listing of the data set"}
	StreamsMetric = metric.Metric{Name: "streams", Unit: metric.Count,
		Doc: "directories and files whose pattern has been recognised, at the end"}
	SequentialMetric = metric.Metric{Name: "streams_sequential", Unit: metric.Count,
		Doc: "of these, those that are read in the order of the listing"}
	RandomMetric = metric.Metric{Name: "streams_random", Unit: metric.Count,
		Doc: "of these, those that are read in a random order"}
	SkewedMetric = metric.Metric{Name: "streams_skewed", Unit: metric.Count,
		Doc: "of these, all others: some of their entries are read more often"}
)

func init() {
	metric.Register("parts that recognise how files are read", NodesMetric, BytesMetric, StreamsMetric, SequentialMetric,
		RandomMetric, SkewedMetric)
}

// Measure returns the metrics of a tree, as they are now.
func (t *Tree) Measure() (v metric.Values) {
	v.SetInt(NodesMetric, int64(t.Nodes()))
	v.SetInt(BytesMetric, t.Bytes())
	v.SetInt(StreamsMetric, int64(t.Streams(Unknown)))
	v.SetInt(SequentialMetric, int64(t.Streams(Sequential)))
	v.SetInt(RandomMetric, int64(t.Streams(Random)))
	v.SetInt(SkewedMetric, int64(t.Streams(Skewed)))
	return v
}
