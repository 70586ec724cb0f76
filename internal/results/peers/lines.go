package peers

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/records"
)

// resultLine matches a line that cachesim of libCacheSim prints, and appends to the file result/TRACE or to that of its
// option --output: main.c for several simulations, sim.c for one of
// https://github.com/1a1a11a/libCacheSim/tree/develop/libCacheSim/bin/cachesim.
var resultLine = regexp.MustCompile(`^\s*(\S.*?)\s+(\S+)\s+cache size\s+(\d+)\s*([KMGT]iB|B)?,\s+(\d+) req, ` +
	`miss ratio ([0-9.]+)(?:, byte miss ratio (\S+))?(?:, throughput ([0-9.]+) MQPS)?\s*$`)

// mark is in every result line.
var mark = []byte(" req, miss ratio ")

func hasResultLine(data []byte) bool {
	for line := range bytes.Lines(data) {
		if bytes.Contains(line, mark) && resultLine.Match(bytes.TrimRight(line, "\r\n")) {
			return true
		}
	}
	return false
}

var units = map[string]int64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}

// parseLines reads the result lines of libCacheSim. Of several lines for one trace, policy and capacity the last one
// counts: the program appends to its file.
func parseLines(data []byte, o Options) (*Results, error) {
	r := &Results{Format: "result lines of libCacheSim"}
	places := map[string]int{}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		parts := resultLine.FindStringSubmatch(string(bytes.TrimRight(line, "\r\n")))
		if parts == nil {
			r.Others++
			continue
		}
		row, err := rowOf(parts, o)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		key := strings.Join(parts[1:5], "\n")
		if at, again := places[key]; again {
			r.Replaced++
			r.Rows[at] = row
			continue
		}
		places[key] = len(r.Rows)
		r.Rows = append(r.Rows, row)
	}
	return r, nil
}

// rowOf returns the row of a result line.
func rowOf(parts []string, o Options) (Row, error) {
	o.Capacity, o.CapacityUnit = 0, records.Objects
	trace := parts[1][strings.LastIndexAny(parts[1], `/\`)+1:]
	row := newRow(parts[2], o)
	if row.Trace == "" {
		row.Trace = trace
	}
	unit := int64(1)
	if parts[4] != "" {
		row.CapacityUnit, unit = records.Bytes, units[parts[4]]
	}
	size, err := strconv.ParseInt(parts[3], 10, 64)
	if err != nil || size <= 0 || size > math.MaxInt64/unit {
		return row, fmt.Errorf("cache size %s %s is out of range", parts[3], parts[4])
	}
	row.Capacity = size * unit
	if unit > 1 {
		row.Spread = unit
	}
	requests, err := strconv.ParseInt(parts[5], 10, 64)
	if err != nil {
		return row, fmt.Errorf("%s requests are out of range", parts[5])
	}
	row.SetInt(metric.Requests, requests)
	if err := row.setMissRatio(metric.HitRatio, parts[6]); err != nil {
		return row, err
	}
	if parts[7] != "" && parts[7] != "nan" && parts[7] != "-nan" { // a trace without sizes
		if err := row.setMissRatio(metric.ByteHitRatio, parts[7]); err != nil {
			return row, err
		}
	}
	if speed, err := strconv.ParseFloat(parts[8], 64); err == nil && speed > 0 {
		row.Set(metric.NsPerRequest, 1e3/speed)
	}
	return row, nil
}

// setMissRatio sets the complement of a printed ratio, and how exact that is.
func (r *Row) setMissRatio(m metric.Metric, text string) error {
	x, rounding, err := parseRatio(text, 1)
	if err != nil {
		return fmt.Errorf("miss ratio %w", err)
	}
	r.setRounded(m, 1-x, rounding)
	return nil
}

// parseRatio parses a ratio that the file has as a number up to whole, or with a percent sign, and returns half a unit
// of its last digit.
func parseRatio(text string, whole float64) (x, rounding float64, err error) {
	number, isPercent := strings.CutSuffix(text, "%")
	if isPercent {
		whole = 100
	}
	x, err = strconv.ParseFloat(number, 64)
	x /= whole
	if err != nil || !(x >= 0 && x <= 1) { // as NaN is
		return 0, 0, fmt.Errorf("%.40q: want a number from 0 to %g", text, whole)
	}
	digits := 0
	if at := strings.IndexByte(number, '.'); at >= 0 {
		digits = len(number) - at - 1
	}
	return x, 0.5 * math.Pow10(-digits) / whole, nil
}
