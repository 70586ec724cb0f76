// Package bylabel has the hits of one cache by a label of the requests, such as who sent them: as metrics of records,
// as a table below that of a run, and as one on its page. The table has tenants in the same way, whose metrics are
// those of caches and of models of time.
package bylabel

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/records"
)

const kind = "label"

var (
	requests = metric.Metric{Name: "label_requests", Unit: metric.Count, Labels: kind,
		Doc: "counted requests with a label (--by); their sum is that of all"}
	hits = metric.Metric{Name: "label_hits", Unit: metric.Count, Labels: kind, Better: metric.Higher,
		Doc: "requests with a label that the cache answers, whoever loaded the object"}
	misses = metric.Metric{Name: "label_misses", Unit: metric.Count, Labels: kind, Better: metric.Lower,
		Doc: "requests with a label that the cache does not answer"}
	hitRatio = metric.Metric{Name: "label_hit_ratio", Unit: metric.Share, Digits: 2, Labels: kind, Better: metric.Higher,
		Merge: metric.Quotient(hits, requests), Doc: "label_hits / label_requests"}
	bytes = metric.Metric{Name: "label_bytes", Unit: metric.Bytes, Labels: kind,
		Doc: "sum of the sizes of the requests with a label"}
	hitBytes = metric.Metric{Name: "label_hit_bytes", Unit: metric.Bytes, Labels: kind, Better: metric.Higher,
		Doc: "sum of the sizes of the hits with a label"}
	byteHitRatio = metric.Metric{Name: "label_byte_hit_ratio", Unit: metric.Share, Digits: 2, Labels: kind,
		Better: metric.Higher, Merge: metric.Quotient(hitBytes, bytes), Doc: "label_hit_bytes / label_bytes"}
	tokens = metric.Metric{Name: "label_tokens", Unit: metric.Count, Labels: kind,
		Doc: "tokens of the prompts with a label"}
	hitTokens = metric.Metric{Name: "label_hit_tokens", Unit: metric.Count, Labels: kind, Better: metric.Higher,
		Doc: "tokens of the prompts with a label that hit, whoever computed them"}
	tokenHitRatio = metric.Metric{Name: "label_token_hit_ratio", Unit: metric.Share, Digits: 2, Labels: kind,
		Better: metric.Higher, Merge: metric.Quotient(hitTokens, tokens), Doc: "label_hit_tokens / label_tokens"}
)

func init() {
	metric.Register("run --by", requests, hits, misses, hitRatio, bytes, hitBytes, byteHitRatio, tokens, hitTokens,
		tokenHitRatio)
}

// Counts is what happened to the requests with a label.
type Counts struct{ Requests, Hits, Bytes, HitBytes, Tokens, HitTokens int64 }

// Add sets the metrics of a label.
func Add(v *metric.Values, label string, n Counts) {
	count := func(m metric.Metric, x int64) { v.SetNamed(m.Of(label), float64(x)) }
	ratio := func(m metric.Metric, part, of int64) {
		if of > 0 {
			v.SetNamed(m.Of(label), float64(part)/float64(of))
		}
	}
	count(requests, n.Requests)
	count(hits, n.Hits)
	count(misses, n.Requests-n.Hits)
	ratio(hitRatio, n.Hits, n.Requests)
	if n.Bytes > 0 {
		count(bytes, n.Bytes)
		count(hitBytes, n.HitBytes)
		ratio(byteHitRatio, n.HitBytes, n.Bytes)
	}
	if n.Tokens > 0 {
		count(tokens, n.Tokens)
		count(hitTokens, n.HitTokens)
		ratio(tokenHitRatio, n.HitTokens, n.Tokens)
	}
}

// Table is the hits by label of the best policy at each capacity; the zero value for none.
type Table struct {
	Title string
	kind  string // of its labels
	tabular.Grid
}

// Of returns the table of records by label or tenant: of those that are the best of their capacity, or else of the
// first ones. Labels are in their order in the first record.
func Of(recs []records.Record) (t Table) {
	if t.kind = kind; len(recs) > 0 && recs[0].Tenants != "" {
		t.kind = "tenant"
	}
	var allocators []string // each of which has other hits of the same tenants
	for i := range recs {
		if !slices.Contains(allocators, recs[i].Allocator) {
			allocators = append(allocators, recs[i].Allocator)
		}
	}
	for _, allocator := range allocators {
		of := slices.DeleteFunc(slices.Clone(recs), func(r records.Record) bool { return r.Allocator != allocator })
		shown := records.BestOrFirst(of)
		for i := range of {
			if shown(&of[i]) {
				t.add(&of[i], len(allocators) > 1)
			}
		}
	}
	if len(t.Rows) > 0 {
		t.Title = "By " + show.Printable(cmp.Or(recs[0].By, "tenant: "+recs[0].Tenants))
		if recs[0].Router != "" {
			t.Title += ", on all nodes"
		} else if t.kind == kind {
			t.Title += ", in one cache"
		}
		t.Heads = t.heads()
	}
	return t
}

// columns are the metrics of a table, by their names behind that of the kind of labels; those beside the requests only
// where a record has them.
var columns = []struct{ head, name string }{{"hit ratio", "hit_ratio"}, {"misses", "misses"},
	{"byte hit ratio", "byte_hit_ratio"}, {"prompts", "prompts"}, {"tokens", "tokens"},
	{"token hit ratio", "token_hit_ratio"}, {"mean ms", "latency_mean_ms"}, {"P99 ms", "latency_p99_ms"},
	{"of capacity", "capacity"}}

// of returns the name of a metric of a label.
func (t *Table) of(name, label string) string { return t.kind + "_" + name + "[" + label + "]" }

func (t *Table) heads() []tabular.Head {
	heads := []tabular.Head{{Name: "capacity", Weight: tabular.Key}, {Name: "policy", IsText: true, Weight: 50},
		{Name: t.kind, IsText: true, Weight: tabular.Key}, {Name: "requests", Weight: 60}, {Name: "share", Weight: 70}}
	for i, c := range columns {
		heads = append(heads, tabular.Head{Name: c.head, Weight: 90 - i})
	}
	for at := len(heads) - 1; at > 4; at-- { // without columns that are empty
		if !slices.ContainsFunc(t.Rows, func(row []string) bool { return len(row) > at && row[at] != "" }) {
			heads = slices.Delete(heads, at, at+1)
			for i, row := range t.Rows {
				if len(row) > at {
					t.Rows[i] = slices.Delete(row, at, at+1)
				}
			}
		}
	}
	return heads
}

// add adds the rows of a record, the labels with the most requests first and those that are not told apart last;
// divided says that records differ in how the capacity is divided.
func (t *Table) add(r *records.Record, divided bool) {
	var labels []string
	var all float64
	for name := range r.Names() {
		if label, ok := strings.CutPrefix(name, t.kind+"_requests["); ok {
			labels = append(labels, strings.TrimSuffix(label, "]"))
			n, _ := r.Get(name)
			all += n
		}
	}
	requests := func(label string) float64 {
		x, _ := r.Get(t.of("requests", label))
		return x
	}
	slices.SortStableFunc(labels, func(a, b string) int {
		if a == Others || b == Others {
			return map[bool]int{true: 1, false: -1}[a == Others]
		}
		return int(requests(b) - requests(a))
	})
	if len(labels) > 0 && len(t.Rows) > 0 {
		t.Rows = append(t.Rows, nil) // a line
	}
	for i, label := range labels {
		row := []string{"", "", show.Printable(label), show.Count(int64(requests(label))),
			show.Share(requests(label) / max(1, all))}
		if i == 0 {
			if row[0], row[1] = show.Capacity(r.Capacity, r.CapacityUnit), r.Label; divided {
				row[1] += ", " + r.Allocator
			}
		}
		for _, c := range columns {
			text := ""
			if x, ok := r.Get(t.of(c.name, label)); ok {
				text = records.MetricText(t.kind+"_"+c.name, x)
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
}

// Others is the label of requests beyond the labels that are kept apart; it has the last row.
const Others = "(others)"

// Print writes the table below that of the run.
func (t Table) Print(w io.Writer, markdown bool, width int) error {
	if len(t.Rows) == 0 {
		return nil
	}
	text := t.Text(width)
	if markdown {
		text = t.Markdown()
	}
	_, err := fmt.Fprintf(w, "\n%s\n\n%s\n", t.Title, strings.TrimSuffix(text, "\n"))
	return err
}
