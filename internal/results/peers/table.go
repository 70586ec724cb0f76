package peers

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/records"
)

// Names of columns in a table, each with those that other programs use. A column that Caffeine's simulator calls a rate
// is in percent (PolicyStats and CsvReporter of https://github.com/ben-manes/caffeine/tree/master/simulator).
var columns = map[string][]string{
	"policy":         {"policy", "algorithm", "algo", "eviction_algo"},
	"trace":          {"trace", "trace_name"},
	"capacity":       {"capacity", "cache_size", "maximum_size"},
	"capacity_unit":  {"capacity_unit", "unit"},
	"requests":       {"requests", "n_req"},
	"hits":           {"hits", "n_hit"},
	"misses":         {"misses", "n_miss"},
	"hit_ratio":      {"hit_ratio", "hit_rate"},
	"miss_ratio":     {"miss_ratio", "miss_rate"},
	"evictions":      {"evictions"},
	"bytes":          {"bytes", "request_bytes", "requests_weight"},
	"miss_bytes":     {"miss_bytes"},
	"byte_hit_ratio": {"byte_hit_ratio", "byte_hit_rate", "weighted_hit_rate"},
	"byte_miss_ratio": {"byte_miss_ratio", "byte_miss_rate",
		"weighted_miss_rate"},
}

// columnOf returns the column that a head means; "" if it means none of them.
func columnOf(head string) string {
	head = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(head)), " ", "_")
	for column, names := range columns {
		if slices.Contains(names, head) {
			return column
		}
	}
	return ""
}

// table is a file with named columns that is being read.
type table struct {
	*Results
	options Options
	heads   []string
	places  map[string]int // of the columns
	percent bool           // rates are percentages
	sizes   []int64        // the capacities of the columns of a combined report
}

// parseTable reads a table with named columns, separated by tabs or commas. Lines that begin with # are comments.
func parseTable(name string, data []byte, o Options) (*Results, error) {
	c := csv.NewReader(bytes.NewReader(data))
	c.Comment = '#'
	if firstLine(data, c.Comment, '\t') {
		c.Comma = '\t'
	}
	heads, err := c.Read()
	if err != nil {
		return nil, errUnknown(data)
	}
	t := table{Results: &Results{Format: "table"}, options: o, heads: slices.Clone(heads)}
	if err := t.findColumns(name); err != nil {
		return nil, err
	}
	if _, ok := t.places["policy"]; !ok {
		return nil, errUnknown(data)
	}
	if data[len(data)-1] != '\n' { // a last number that was cut would be read as another number
		return nil, errors.New("the last line has no end, so that the file may be cut; add a line end if it is complete")
	}
	for {
		cells, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		line, _ := c.FieldPos(0)
		if err := t.add(cells); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if len(t.Rows) == 0 {
		return nil, errors.New("it has a header and no rows")
	}
	return t.Results, nil
}

// firstLine reports whether the first line that is no comment contains a character.
func firstLine(data []byte, comment, separator rune) bool {
	for line := range bytes.Lines(data) {
		if text := string(line); !strings.HasPrefix(text, string(comment)) && strings.TrimSpace(text) != "" {
			return strings.ContainsRune(text, separator)
		}
	}
	return false
}

func (t *table) findColumns(name string) error {
	t.places = map[string]int{}
	for i, head := range t.heads {
		column := columnOf(head)
		if column == "" {
			t.Unused = append(t.Unused, head)
			continue
		}
		if other, twice := t.places[column]; twice {
			return fmt.Errorf("columns %q and %q mean the same; remove one", t.heads[other], head)
		}
		t.places[column] = i
	}
	if t.heads[0] == "Policy" {
		t.percent, t.Format = true, "report of Caffeine's simulator"
		if t.isCombined() {
			t.Unused = nil
			return nil
		}
	}
	t.inferCapacity(name)
	return nil
}

// isCombined reports whether the columns are capacities, as in the combined report that Simulate of Caffeine writes.
// Their values are hit rates, unless its user asked for another metric.
func (t *table) isCombined() bool {
	for _, head := range t.heads[1:] {
		size, err := strconv.ParseInt(strings.ReplaceAll(head, ",", ""), 10, 64)
		if err != nil || size <= 0 {
			return false
		}
		t.sizes = append(t.sizes, size)
	}
	if len(t.sizes) == 0 {
		return false
	}
	t.Combined, t.Format = true, "combined report of Caffeine's simulator, of hit rates"
	return true
}

// sizedFile matches the name that Simulate of Caffeine gives the report of one maximum size: hit_rate_512.csv.
var sizedFile = regexp.MustCompile(`_(\d+)\.csv$`)

// inferCapacity takes the capacity of a report from its file's name if nothing else says it.
func (t *table) inferCapacity(name string) {
	parts := sizedFile.FindStringSubmatch(filepath.Base(name))
	if _, has := t.places["capacity"]; has || parts == nil || t.options.Capacity != 0 {
		return
	}
	size, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || size <= 0 {
		return
	}
	t.options.Capacity = size
	if _, weighs := t.places["bytes"]; weighs && t.options.CapacityUnit == "" {
		t.options.CapacityUnit = records.Bytes
	}
	t.Sized = true
}

// text returns the cell of a column; "" if the table does not have it.
func (t *table) text(cells []string, column string) string {
	at, ok := t.places[column]
	if !ok {
		return ""
	}
	return strings.TrimSpace(cells[at])
}

func (t *table) add(cells []string) error {
	policy := t.text(cells, "policy")
	if policy == "" {
		return errors.New("the policy is empty")
	}
	if t.Combined {
		return t.addSizes(policy, cells)
	}
	row := newRow(policy, t.options)
	if trace := t.text(cells, "trace"); trace != "" && row.Trace == "" {
		row.Trace = trace
	}
	if unit := t.text(cells, "capacity_unit"); unit != "" {
		if unit != records.Objects && unit != records.Bytes {
			return fmt.Errorf("capacity unit %.40q: want %s or %s", unit, records.Objects, records.Bytes)
		}
		row.CapacityUnit = unit
	}
	capacity, has, err := t.count(cells, "capacity")
	if err != nil {
		return err
	}
	if has {
		row.Capacity = capacity
	}
	if err := t.measure(&row, cells); err != nil {
		return err
	}
	t.Rows = append(t.Rows, row)
	return nil
}

// addSizes adds a row for each capacity of a combined report. A policy without a value at a capacity has no row there.
func (t *table) addSizes(policy string, cells []string) error {
	for i, size := range t.sizes {
		text := strings.TrimSpace(cells[i+1])
		if text == "" {
			continue
		}
		x, rounding, err := parseRatio(text, 100)
		if err != nil {
			return fmt.Errorf("hit rate %w; other metrics are in the report of each capacity", err)
		}
		row := newRow(policy, t.options)
		row.Capacity = size
		row.setRounded(metric.HitRatio, x, rounding)
		t.Rows = append(t.Rows, row)
	}
	return nil
}

// measure sets the values of a row: ratios from counts if there are any, otherwise as they were printed.
func (t *table) measure(row *Row, cells []string) error {
	requests, hasRequests, err1 := t.count(cells, "requests")
	hits, hasHits, err2 := t.count(cells, "hits")
	misses, hasMisses, err3 := t.count(cells, "misses")
	evictions, hasEvictions, err4 := t.count(cells, "evictions")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	if hasEvictions {
		row.SetInt(metric.Evictions, evictions)
	}
	switch {
	case hasHits && hasMisses && hasRequests && hits+misses != requests:
		return fmt.Errorf("%d hits and %d misses are not %d requests", hits, misses, requests)
	case hasHits && hasMisses:
		row.setMisses(hits+misses, misses)
	case hasRequests && hasMisses:
		row.setMisses(requests, misses)
	case hasRequests && hasHits:
		row.setMisses(requests, requests-hits)
	case hasRequests:
		row.SetInt(metric.Requests, requests)
	}
	if hasRequests && (misses > requests || hits > requests) {
		return fmt.Errorf("more hits or misses than %d requests", requests)
	}
	return errors.Join(t.ratio(row, cells, metric.HitRatio, "hit_ratio", "miss_ratio"), t.measureBytes(row, cells))
}

func (t *table) measureBytes(row *Row, cells []string) error {
	total, hasTotal, err1 := t.count(cells, "bytes")
	missed, hasMissed, err2 := t.count(cells, "miss_bytes")
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if hasTotal {
		row.SetInt(metric.RequestedBytes, total)
	}
	if hasTotal && hasMissed {
		if missed > total {
			return fmt.Errorf("%d missed bytes of %d requested ones", missed, total)
		}
		row.SetInt(metric.HitBytes, total-missed)
		row.Set(metric.ByteHitRatio, metric.Divide(float64(total-missed), float64(total)))
	}
	return t.ratio(row, cells, metric.ByteHitRatio, "byte_hit_ratio", "byte_miss_ratio")
}

// ratio sets a ratio from its column or its complement's, if it does not follow from counts.
func (t *table) ratio(row *Row, cells []string, m metric.Metric, column, complement string) error {
	if row.Has(m) {
		return nil
	}
	whole := 1.0
	if t.percent {
		whole = 100
	}
	for _, name := range []string{column, complement} {
		text := t.text(cells, name)
		if text == "" {
			continue
		}
		x, rounding, err := parseRatio(text, whole)
		if err != nil {
			return fmt.Errorf("%s %w", strings.ReplaceAll(name, "_", " "), err)
		}
		if name == complement {
			x = 1 - x
		}
		row.setRounded(m, x, rounding)
		return nil
	}
	return nil
}

// count returns the whole number in a column; ok is false if the cell is empty or there is no such column.
func (t *table) count(cells []string, column string) (n int64, ok bool, err error) {
	text := t.text(cells, column)
	if text == "" {
		return 0, false, nil
	}
	n, err = strconv.ParseInt(strings.NewReplacer(",", "", "_", "").Replace(text), 10, 64)
	if err != nil || n < 0 {
		return 0, false, fmt.Errorf("%s is %.40q, want a whole number from 0", strings.ReplaceAll(column, "_", " "), text)
	}
	return n, true, nil
}
