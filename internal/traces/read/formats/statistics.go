package formats

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// statistics is what a log is that counts requests instead of naming them, as servers and tools write by default.
type statistics struct {
	what    string
	stated  string // the hit ratio in words; "" if the log states none
	lines   int    // of which it is
	instead string // how to log requests
}

// Error says what the log is, what it states, and how to log requests.
func (l statistics) Error() string {
	text := "begins with statistics of " + l.what + ", which name no requests"
	if l.stated != "" {
		text += fmt.Sprintf("; by its first %d lines %s", l.lines, l.stated)
	}
	return text + "; " + l.instead + "; if requests come later, name their format with --input-format"
}

// statisticsKind is a kind of log. A line that matches the pattern has statistics; hits reads them from the whole log.
type statisticsKind struct {
	what    string
	pattern *regexp.Regexp
	hits    func(k *statisticsKind, log []byte) string
	instead string
}

var statisticsKinds = []statisticsKind{
	{"vLLM", regexp.MustCompile(`Avg prompt throughput: .*Prefix cache hit rate: ([0-9.]+)%`), lastStated,
		"start the server with --enable-log-requests and VLLM_LOGGING_LEVEL=DEBUG"},
	{"SGLang", regexp.MustCompile(`(?:Prefill|Decode) batch\b.*?(?:#new-token: ([0-9]+), #cached-token: ([0-9]+)|` +
		`token usage)`), missesAndHits, "start the server with --log-requests --log-requests-level 3"},
	{"LMCache", regexp.MustCompile(`Total tokens ([0-9]+), LMCache hit tokens: ([0-9]+)`), allAndHits,
		"log the requests of the engine in front of it: vLLM's --enable-log-requests with VLLM_LOGGING_LEVEL=DEBUG"},
	{"a Redis server (INFO)", regexp.MustCompile(`^keyspace_(?:hits|misses):([0-9]+)`), namedCounts("keyspace_hits:",
		"keyspace_misses:"), "record its requests with redis-cli MONITOR"},
	{"memcached (stats)", regexp.MustCompile(`^STAT get_(?:hits|misses) ([0-9]+)`), namedCounts("STAT get_hits ",
		"STAT get_misses "), "record its requests with watch fetchers mutations"},
	{"Varnish (varnishstat)", regexp.MustCompile(`^MAIN\.cache_(?:hit|miss)\s+([0-9]+)`), namedCounts("MAIN.cache_hit ",
		"MAIN.cache_miss "), "record its requests with varnishncsa"},
	{"nginx (stub_status)", regexp.MustCompile(`^Active connections: [0-9]+`), noneStated,
		"log its requests with access_log"},
	{"ZFS (arcstat)", regexp.MustCompile(`^\s*time\s.*\bread\s.*(?:\barcsz\b|\bmiss%|\bhit%)`), arcstatRatio,
		"it logs no requests; record those of its disks with blktrace, or of its clients with strace"},
	{"memory and processors (vmstat)", regexp.MustCompile(`^procs -+memory`), noneStated, "record requests with blktrace"},
	{"devices (iostat)", regexp.MustCompile(`^Device:?\s.*(?:tps|r/s)`), noneStated, "record requests with blktrace"},
}

// statisticsOf returns what a log that begins with head is; false if no line of it has statistics.
func statisticsOf(head []byte) (statistics, bool) {
	for i := range statisticsKinds {
		k := &statisticsKinds[i]
		for line := range bytes.Lines(head) {
			if k.pattern.Match(bytes.TrimRight(line, "\r\n")) {
				return statistics{k.what, k.hits(k, head), bytes.Count(head, []byte("\n")), k.instead}, true
			}
		}
	}
	return statistics{}, false
}

// matches calls f with the groups of each line that matches.
func (k *statisticsKind) matches(log []byte, f func(groups []string)) {
	for line := range bytes.Lines(log) {
		if m := k.pattern.FindSubmatch(bytes.TrimRight(line, "\r\n")); m != nil {
			groups := make([]string, len(m)-1)
			for i := range groups {
				groups[i] = string(m[i+1])
			}
			f(groups)
		}
	}
}

// lastStated returns the ratio that the last line states.
func lastStated(k *statisticsKind, log []byte) (stated string) {
	k.matches(log, func(groups []string) { stated = groups[0] + "% of the tokens hit, as the last line states" })
	return stated
}

func missesAndHits(k *statisticsKind, log []byte) string {
	var misses, hits float64
	k.matches(log, func(groups []string) {
		misses += countIn(groups[0])
		hits += countIn(groups[1])
	})
	return ratioStated(hits, hits+misses, "tokens")
}

func allAndHits(k *statisticsKind, log []byte) string {
	var all, hits float64
	k.matches(log, func(groups []string) {
		all += countIn(groups[0])
		hits += countIn(groups[1])
	})
	return ratioStated(hits, all, "tokens")
}

// namedCounts returns the ratio of the last counts with two names.
func namedCounts(hitName, missName string) func(*statisticsKind, []byte) string {
	return func(_ *statisticsKind, log []byte) string {
		var hits, misses float64
		for line := range strings.Lines(string(log)) {
			line = strings.Join(strings.Fields(line), " ")
			if text, ok := strings.CutPrefix(line, hitName); ok {
				hits = countIn(text)
			} else if text, ok := strings.CutPrefix(line, missName); ok {
				misses = countIn(text)
			}
		}
		return ratioStated(hits, hits+misses, "requests")
	}
}

// arcstatRatio sums up the columns read and miss.
func arcstatRatio(k *statisticsKind, log []byte) string {
	var read, miss float64
	var columns []string
	for line := range strings.Lines(string(log)) {
		fields := strings.Fields(line)
		if slices.Contains(fields, "read") {
			columns = fields
			continue
		}
		at := func(name string) float64 {
			if i := slices.Index(columns, name); i >= 0 && i < len(fields) {
				return countIn(fields[i])
			}
			return 0
		}
		read += at("read")
		miss += at("miss")
	}
	return ratioStated(read-miss, read, "reads")
}

func noneStated(*statisticsKind, []byte) string { return "" }

// countIn reads a count such as 12 or 2.1K; 0 if it is none.
func countIn(text string) float64 {
	text, _, _ = strings.Cut(strings.TrimSpace(text), " ")
	unit := 1.0
	if at := strings.IndexAny(text, "KMGT"); at > 0 && at == len(text)-1 {
		unit = map[byte]float64{'K': 1e3, 'M': 1e6, 'G': 1e9, 'T': 1e12}[text[at]]
		text = text[:at]
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return x * unit
}

func ratioStated(hits, all float64, of string) string {
	if all <= 0 {
		return ""
	}
	return fmt.Sprintf("%.1f%% of the %s hit", 100*hits/all, of)
}
