package audit_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/experiment/audit"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// info is what Redis says of itself, as far as it is read.
func info(at, uptime, hits, misses int) string {
	return fmt.Sprintf("# Server\r\nserver_time_usec:%d000000\r\nuptime_in_seconds:%d\r\n# Stats\r\nkeyspace_hits:%d\r\n"+
		"keyspace_misses:%d\r\n", at, uptime, hits, misses)
}

// hundred is a log of 100 requests, one each second from 1000 on, for ten keys in turn.
func hundred(t *testing.T) *traces.Trace {
	var text strings.Builder
	text.WriteString("time,key\n")
	for i := range 100 {
		fmt.Fprintf(&text, "%d,%d\n", 1000+i, i%10)
	}
	return tracetest.MustLoadText(t, text.String(), read.Options{Needs: traces.Needs{Times: true, Keys: true}})
}

func TestTotalsAreReadAsServersSayThem(t *testing.T) {
	log := hundred(t)
	for name, c := range map[string]struct {
		text      string
		measured  int64 // hits, of 100
		counted   int64
		stated    int64 // hits of LRU with room for ten keys
		mentioned string
	}{
		"redis, once":     {info(2000, 900, 80, 20), 80, 100, 90, ""},
		"memcached, once": {"STAT time 2000\r\nSTAT get_hits 70\r\nSTAT get_misses 29\r\n", 71, 100, 90, ""},
		"varnish, twice": {"MAIN.uptime 10 1.00 up\nMAIN.cache_hit 1000 1.0 hits\nMAIN.cache_miss 500 1.0 x\n" +
			"MAIN.uptime 99 1.00 up\nMAIN.cache_hit 1040 1.0 hits\nMAIN.cache_miss 560 1.0 x\n", 40, 100, 90, ""},
		"over time": {info(1000, 5, 7, 7) + info(1050, 55, 47, 17) + info(1100, 105, 87, 27), 80, 100, 90, ""},
		"restarted": {info(1000, 5, 7, 7) + info(1050, 55, 47, 17) + info(1100, 40, 30, 10), 70, 90, 80,
			"a cache that was emptied 1m0s after the beginning"},
	} {
		t.Run(name, func(t *testing.T) {
			totals, err := audit.ReadTotals(strings.NewReader(c.text), "info.txt", log)
			must.Do(t, err)
			l := &audit.Log{Load: func(context.Context, workload.Workload) (*traces.Trace, error) { return log, nil }}
			l.UseTotals(totals)
			must.Do(t, l.Check(log))
			s := audit.Setup{Cell: sim.Cell{Parts: sim.Parts{Cache: cache.ExactSpec(), Policy: policies.Known("lru")},
				Capacity: capacity.Of(10, false)}}
			o, err := l.Replay(t.Context(), s)
			must.Do(t, err)
			if o.Measured != c.measured || o.Units != c.counted || o.Replayed != c.stated {
				t.Errorf("%d hits of %d, and %d in the replay; want %d of %d, and %d", o.Measured, o.Units, o.Replayed,
					c.measured, c.counted, c.stated)
			}
			f, err := audit.Find(t.Context(), s, l.Causes(s, log, ""), l.Replay, audit.Options{})
			must.Do(t, err)
			if text := strings.Join(f.Sentences(audit.Words{}), "\n"); !strings.Contains(text, c.mentioned) {
				t.Errorf("got\n%s\nwant %q", text, c.mentioned)
			}
		})
	}
}

func TestTotalsOfAnotherLogAreRefused(t *testing.T) {
	log := hundred(t)
	for text, want := range map[string]string{
		"# Server\nredis_version:7.0.15\n": "x has no counts of hits and misses; want INFO of Redis or Valkey " +
			"(keyspace_hits)",
		info(2000, 900, 8000, 2000): "x counts 10,000 requests, and stdin has 100: a server counts from its start; give " +
			"what it says at the beginning and at the end of the log",
		info(100, 9, 1, 1) + info(200, 109, 50, 50): "x and stdin are of different times",
		"keyspace_hits:many\n":                      `"keyspace_hits:many": want a number behind keyspace_hits:`,
	} {
		if _, err := audit.ReadTotals(strings.NewReader(text), "x", log); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

func TestRatiosOfDashboards(t *testing.T) {
	for text, ok := range map[string]bool{"61.2%": true, "0.612": true, "0%": true, "101%": false, "-1%": false,
		"x": false} {
		if got, _ := audit.RatioTotals(text); (got != nil) != ok {
			t.Errorf("%s: %v, want %t", text, got, ok)
		}
	}
	for _, text := range []string{"161%", "-5%", "nan%", "61.2"} {
		want := text + ": a hit ratio is from 0 to 100%, as in 61.2% or 0.612"
		if _, err := audit.RatioTotals(text); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
