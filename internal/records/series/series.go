// Package series contains values over the time of a replay: hit ratio, occupancy, quotas, one value for each window. It
// is a second table next to the records, written as series.jsonl and series.parquet; figures over time are drawn from
// it.
package series

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/suggest"
)

// Row is one value of a series. Rows of one cell are consecutive, in the order of their times.
type Row struct {
	Cell string `json:"cell" parquet:"cell,dict"` // as in the row's record
	// Time is the end of the window: requests served since the start of the replay, or seconds since the first request if
	// windows are spans of time.
	Time float64 `json:"time" parquet:"time"`
	Name string  `json:"name" parquet:"name,dict"` // of the metric
	// the tenant, stream or file; "" if there is only one
	Label string  `json:"label" parquet:"label,dict"`
	Value float64 `json:"value" parquet:"value"`
}

// check rejects what no replay can have produced.
func (r *Row) check() error {
	switch {
	case r.Cell == "":
		return fmt.Errorf("cell is empty, want a record's")
	case r.Name == "":
		return fmt.Errorf("name is empty, want a metric's")
	case math.IsNaN(r.Time) || math.IsInf(r.Time, 0) || r.Time < 0:
		return fmt.Errorf("time is %v, want a finite number from 0", r.Time)
	case math.IsNaN(r.Value) || math.IsInf(r.Value, 0):
		return fmt.Errorf("value is %v, want a finite number", r.Value)
	}
	return nil
}

// Digest returns the digest of one cell's rows, which its record stores. It shows whether rows are missing, were
// changed or belong to another replay. It does not depend on Cell, so that a cell may be renamed.
func Digest(rows []Row) string {
	sum := sha256.New()
	for _, r := range rows {
		fmt.Fprintf(sum, "%s %q %q %s\n", number(r.Time), r.Name, r.Label, number(r.Value))
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// ByCell returns the rows of each cell, in their order.
func ByCell(rows []Row) map[string][]Row {
	cells := map[string][]Row{}
	for _, r := range rows {
		cells[r.Cell] = append(cells[r.Cell], r)
	}
	return cells
}

// MaxWindows is the largest number of windows in the series of a cell.
const MaxWindows = 100_000

// Window is the length of the windows of a replay, in requests or in time on the trace's clock. The zero Window means
// no series.
type Window struct {
	Requests int64
	Span     time.Duration // on the trace's clock
	// Most is the most windows that are kept: of more, several consecutive ones become one, with their mean. 0: all.
	Most  int
	Names string // of the wanted metrics, separated by commas; "" for all
}

// Names are the metrics that series may have. The cache and the model of a replay determine which of them it has.
var Names = []string{"hit_ratio", "byte_hit_ratio", "token_hit_ratio", "evictions", "occupancy", "quota", "benefit",
	Requests, MissesPerSecond, MissedBytes,
	"latency_mean_ms", "latency_p99_ms", "link_utilisation", "read_throughput_mbs", "job_hit_ratio",
	"p99_ms", "slo_satisfied", "kv_hit_ratio", "emb_hit_ratio", "ratio", "ratio_best", "hot_share", "refill_gbs",
	"miss_gbs", "rate", "loaded_per_set", "new_per_set", "recall", "lost_mass", "output_error", "query_similarity",
	"query_cosines"}

// Requests is how many requests a window of time has: the same whatever the cache is.
const Requests = "window_requests"

// What the origin behind a cache sees in a window of time: series that only windows have which name them.
const (
	MissesPerSecond = "misses_per_second"
	MissedBytes     = "missed_mbs"
)

// rates are the series whose mean over equally long windows is the value of all of them together.
var rates = []string{MissesPerSecond, MissedBytes}

// Begins is the metric of records with windows of time: the first request, in seconds since 1970.
const Begins = "series_begins"

// Time is the dimension of figures over time.
const Time = "time"

// Label is the dimension of figures over time whose places are the labels of rows.
const Label = "label"

// ParseWindow parses a number of requests ("10000") or a duration ("30s", "1h30m"), with optional names after a colon:
// "10000:hit_ratio,occupancy". With "1m/400:misses_per_second" at most 400 windows of minutes are kept, as Most says.
func ParseWindow(text string) (Window, error) {
	length, names, some := strings.Cut(text, ":")
	length, most, bounded := strings.Cut(length, "/")
	w, err := parseLength(length)
	if err == nil && bounded {
		w.Most, err = parseMost(text, most, names)
	}
	if err != nil || !some {
		return w, err
	}
	for name := range strings.SplitSeq(names, ",") {
		if !slices.Contains(Names, name) {
			return Window{}, fmt.Errorf("series %s: %w", length, suggest.Unknown("name", name, Names))
		}
	}
	w.Names = names
	return w, nil
}

// parseMost reads how many windows are kept. Only windows of rates can become one.
func parseMost(text, most, names string) (int, error) {
	n, err := strconv.Atoi(most)
	if err != nil || n < 1 || n > MaxWindows {
		return 0, fmt.Errorf("series %.80q: want a number of windows from 1 to %d after /, not %q", text, MaxWindows, most)
	}
	for name := range strings.SplitSeq(names, ",") {
		if !slices.Contains(rates, name) {
			return 0, fmt.Errorf("series %.80q: only windows of %s can be merged, as in 1m/%d:%s; remove /%s", text,
				suggest.List(rates), n, MissesPerSecond, most)
		}
	}
	return n, nil
}

// Named reports whether the window names a metric.
func (w Window) Named(name string) bool { return w.Names != "" && w.Wants(name) }

// Wants reports whether the series of a metric are wanted.
func (w Window) Wants(name string) bool {
	return w.Names == "" || slices.Contains(strings.Split(w.Names, ","), name)
}

func parseLength(text string) (Window, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n < 1 {
			return Window{}, fmt.Errorf("series %q: want a window of at least 1 request, or a duration such as 1h", text)
		}
		return Window{Requests: n}, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return Window{}, fmt.Errorf("series %.80q: want a window as a number of requests (10000) or a duration above 0 "+
			"(30s, 1h30m)", text)
	}
	return Window{Span: d}, nil
}

// IsSet reports whether series are wanted.
func (w Window) IsSet() bool { return w != Window{} }

// String formats the window so that ParseWindow reads it; "" for none.
func (w Window) String() string {
	length := strconv.FormatInt(w.Requests, 10)
	switch {
	case !w.IsSet():
		return ""
	case w.Span > 0:
		length = w.Span.String()
	}
	if w.Most > 0 {
		length += "/" + strconv.Itoa(w.Most)
	}
	if w.Names == "" {
		return length
	}
	return length + ":" + w.Names
}

// CheckRequests rejects windows of requests that are too many for a trace of that length.
func (w Window) CheckRequests(requests int64) error {
	if w.Requests == 0 || (requests-1)/w.Requests < MaxWindows {
		return nil
	}
	return fmt.Errorf("series %s: a trace of %d requests has more than %d windows of that length; the shortest that fits "+
		"is %d requests", w, requests, MaxWindows, (requests+MaxWindows-1)/MaxWindows)
}

// CheckSpan rejects windows of time that are too many for a trace of that duration.
func (w Window) CheckSpan(lasts time.Duration) error {
	if w.Span == 0 || int64(lasts/w.Span) < MaxWindows {
		return nil
	}
	shortest := (lasts/MaxWindows + time.Second).Truncate(time.Second)
	return fmt.Errorf("series %s: a trace that lasts %s has more than %d windows of that length; the shortest that fits "+
		"is %s", w, lasts.Round(time.Millisecond), MaxWindows, shortest)
}
