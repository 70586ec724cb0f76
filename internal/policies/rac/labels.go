package rac

import (
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/policies"
)

// Metrics of topics that were found by similarity, beside the labels of the trace. No decision depends on labels.
var (
	labelledTopics = metric.Metric{Name: "labelled_topics", Unit: metric.Count,
		Doc: "topics known at the end, with resident entries or without, whose representative has a label in the trace"}
	topicLabels = metric.Metric{Name: "topic_labels", Unit: metric.Count,
		Doc: "different labels of the representatives of topics known at the end"}
	topicsPerLabel = metric.Metric{Name: "topics_per_label", Unit: metric.Ratio, Digits: 2,
		Merge: metric.Quotient(labelledTopics, topicLabels),
		Column: metric.Column{At: 76, Head: "topics/label", Weight: 42, IfAny: true,
			Note: "topics/label: topics that the policy sees for each label of the trace; far above 1, tau-route is too high"},
		Doc: "labelled_topics / topic_labels: how many topics share a label. Far above 1 the policy sees fragments of " +
			"topics: tau-route is above the similarity within a topic"}
	routedAcross = metric.Metric{Name: "routed_across_labels", Unit: metric.Count,
		Doc: "entries that joined a topic whose representative has another label: many of them mean that tau-route is " +
			"too low"}
)

// labelMetrics are the metrics of topics beside labels.
var labelMetrics = []metric.Metric{labelledTopics, topicLabels, topicsPerLabel, routedAcross}

// comparison compares topics that are found by similarity with the labels of the trace.
type comparison struct {
	labels []int32 // per object, -1 for none; nil: there is nothing to compare
	across int64
}

// newComparison returns one for objects with these labels, without any if they are the topics.
func newComparison(relations *policies.Relations, index *topicIndex) comparison {
	if relations == nil || index.byLabel != nil {
		return comparison{}
	}
	return comparison{labels: relations.Topics}
}

func (c *comparison) of(o policies.Object) int32 {
	if int(o) < len(c.labels) {
		return c.labels[o]
	}
	return -1
}

// join counts a query that joins the topic of a representative.
func (c *comparison) join(q, representative policies.Object) {
	if a, b := c.of(q), c.of(representative); a >= 0 && b >= 0 && a != b {
		c.across++
	}
}

// counters compares the topics that are known now.
func (c *comparison) counters(topics []topic) []policies.Counter {
	if c.labels == nil {
		return nil
	}
	different := map[int32]bool{}
	labelled := 0
	for _, t := range topics {
		if t.representative == none { // forgotten
			continue
		}
		if label := c.of(t.representative); label >= 0 {
			labelled++
			different[label] = true
		}
	}
	all := []policies.Counter{
		policies.Count(labelledTopics, float64(labelled)), policies.Count(topicLabels, float64(len(different))),
		policies.Count(routedAcross, float64(c.across)),
	}
	if labelled > 0 {
		all = append(all, policies.Count(topicsPerLabel, float64(labelled)/float64(len(different))))
	}
	return all
}
