package audit

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/traces"
)

// Totals are what a server tells of itself, once or over time, where its log does not say what each request found.
type Totals struct {
	spans    []span
	restarts []int64 // times at which its counters began again
	ratio    float64 // of all, where that is all that is known
}

// span is what a server counted between two times. Without a clock there is one, of the whole log.
type span struct {
	from, to     int64 // nanoseconds; the end is exclusive
	hits, misses int64
}

// RatioTotals are those of a hit ratio, such as that of a dashboard: "61.2%" or "0.612". They are nil if the text is no
// number.
func RatioTotals(text string) (*Totals, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	x, err := strconv.ParseFloat(number, 64)
	if percent {
		x /= 100
	}
	switch {
	case err != nil:
		return nil, nil
	case !(x >= 0 && x <= 1):
		return nil, fmt.Errorf("%s: a hit ratio is from 0 to 100%%, as in 61.2%% or 0.612", text)
	}
	return &Totals{ratio: x}, nil
}

// snapshot is what a server says at one time: INFO of Redis, stats of memcached, varnishstat -1.
type snapshot struct {
	time, uptime int64 // nanoseconds and seconds; 0: not said
	hits, misses int64
	said         int // how many of hits and misses
}

// said names what is read of a line, by its beginning.
var said = []struct {
	begins string
	set    func(s *snapshot, n int64)
}{
	{"server_time_usec:", func(s *snapshot, n int64) { s.time = n * 1000 }},
	{"uptime_in_seconds:", func(s *snapshot, n int64) { s.uptime = n }},
	{"keyspace_hits:", (*snapshot).setHits},
	{"keyspace_misses:", (*snapshot).setMisses},
	{"STAT time ", func(s *snapshot, n int64) { s.time = n * 1e9 }},
	{"STAT uptime ", func(s *snapshot, n int64) { s.uptime = n }},
	{"STAT get_hits ", (*snapshot).setHits},
	{"STAT get_misses ", (*snapshot).setMisses},
	{"MAIN.uptime ", func(s *snapshot, n int64) { s.uptime = n }},
	{"MAIN.cache_hit ", (*snapshot).setHits},
	{"MAIN.cache_miss ", (*snapshot).setMisses},
}

func (s *snapshot) setHits(n int64)   { s.hits, s.said = n, s.said+1 }
func (s *snapshot) setMisses(n int64) { s.misses, s.said = n, s.said+1 }

// ReadTotals reads what a server said of itself, once or several times one after another. t is its log.
func ReadTotals(r io.Reader, name string, t *traces.Trace) (*Totals, error) {
	all, err := snapshots(r)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, fmt.Errorf("%s has no counts of hits and misses; want INFO of Redis or Valkey (keyspace_hits), stats of "+
			"memcached (get_hits), varnishstat -1 (MAIN.cache_hit), or a hit ratio such as 61.2%%", name)
	}
	totals := &Totals{}
	if len(all) == 1 {
		totals.spans = []span{{math.MinInt64, math.MaxInt64, all[0].hits, all[0].misses}}
		return totals, totals.checkWhole(name, t)
	}
	timed := t.Times != nil && !slices.ContainsFunc(all, func(s snapshot) bool { return s.time == 0 })
	for i, after := range all[1:] {
		totals.add(all[i], after)
	}
	if !timed {
		return totals.whole(), nil
	}
	first, last := t.Times[0], t.Times[len(t.Times)-1]
	if all[len(all)-1].time < first || all[0].time > last {
		return nil, fmt.Errorf("%s and %s are of different times", name, t.Name)
	}
	return totals, nil
}

func snapshots(r io.Reader) (all []snapshot, err error) {
	lines := bufio.NewScanner(r)
	at := snapshot{}
	for lines.Scan() {
		line := strings.TrimRight(lines.Text(), "\r")
		for _, s := range said {
			if rest, ok := strings.CutPrefix(line, s.begins); ok {
				number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
				n, err := strconv.ParseInt(number, 10, 64)
				if err != nil {
					return nil, fmt.Errorf("%q: want a number behind %s", line, strings.TrimSpace(s.begins))
				}
				s.set(&at, n)
			}
		}
		if at.said == 2 {
			all = append(all, at)
			at = snapshot{}
		}
	}
	return all, lines.Err()
}

// add adds what happened between two snapshots. Counters that are lower than before began again in between.
func (t *Totals) add(before, after snapshot) {
	s := span{before.time, after.time, after.hits - before.hits, after.misses - before.misses}
	if s.hits < 0 || s.misses < 0 || after.uptime < before.uptime {
		s.hits, s.misses = after.hits, after.misses
		if after.time > 0 && after.uptime > 0 {
			s.from = max(before.time, after.time-after.uptime*1e9)
			t.restarts = append(t.restarts, s.from)
		}
	}
	t.spans = append(t.spans, s)
}

// whole returns the totals of all spans as one, of the whole log.
func (t *Totals) whole() *Totals {
	all := span{from: math.MinInt64, to: math.MaxInt64}
	for _, s := range t.spans {
		all.hits, all.misses = all.hits+s.hits, all.misses+s.misses
	}
	return &Totals{spans: []span{all}}
}

// checkWhole refuses counts of another number of requests than the log has: those since the server's start.
func (t *Totals) checkWhole(name string, log *traces.Trace) error {
	reads := int64(log.Counted(0, len(log.Objects)))
	if log.SampledFrom > 0 {
		reads = int64(log.SampledFrom)
	}
	counted := t.spans[0].hits + t.spans[0].misses
	const most = 0.05
	if math.Abs(float64(counted-reads)) > most*float64(reads) {
		return fmt.Errorf("%s counts %s requests, and %s has %s: a server counts from its start; give what it says at the "+
			"beginning and at the end of the log, one after another in a file", name, show.Count(counted), log.Name,
			show.Count(reads))
	}
	return nil
}

// compare compares the totals with a replay. What a span is of is counted by the log, since a server may have answered
// requests that the log does not have.
func (t *Totals) compare(seen *seen) (o Outcome) {
	if t.spans == nil {
		n, hits := seen.in(math.MinInt64, math.MaxInt64)
		o.Add(n, int64(math.Round(t.ratio*float64(n))), hits)
		return o
	}
	for _, s := range t.spans {
		n, hits := seen.in(s.from, s.to)
		if all := s.hits + s.misses; all > 0 && n > 0 {
			o.Add(n, int64(math.Round(float64(s.hits)/float64(all)*float64(n))), hits)
		}
	}
	return o
}

// in returns how many requests there are from one time to another, and how many of them hit in the replay.
func (s *seen) in(from, to int64) (n, hits int64) {
	for pos := range s.trace.Objects {
		if !s.reads(pos) {
			continue
		}
		if s.trace.Times != nil && (s.trace.Times[pos] < from || s.trace.Times[pos] >= to) {
			continue
		}
		n++
		hits += asNumber(s.hits.Has(pos))
	}
	return n, hits
}

// UseTotals compares with what the server told elsewhere, in the place of what the log says.
func (l *Log) UseTotals(t *Totals) { l.totals = t }
