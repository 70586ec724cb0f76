package models_test

import (
	"fmt"
	"testing"

	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
)

// timed replays t under the policies with a model and returns their records by policy.
func timed(t *testing.T, trace *traces.Trace, policies, kind, model string, size int64,
	warmup int) map[string]records.Record {
	t.Helper()
	lists := []string{"cache=" + kind, "predictor=oracle"}
	if model != "" {
		lists = append(lists, "model="+model)
	}
	return simtest.ByPolicy(t, trace, policies, capacity.Of(size, false), warmup, lists...)
}

// checkOrder fails unless the percentiles of a record are in order.
func checkOrder(t *testing.T, name string, rec records.Record) {
	t.Helper()
	if p50, p95, p99 := rec.Float(models.LatencyP50), rec.Float(models.LatencyP95),
		rec.Float(models.LatencyP99); p50 <= 0 || p50 > p95 || p95 > p99 {
		t.Errorf("%s: P50 %v, P95 %v, P99 %v", name, p50, p95, p99)
	}
}

func TestModelErrors(t *testing.T) {
	trace := simtest.Lookups(3)
	for _, test := range []struct{ kind, model, want string }{
		{"exact", "sls", "model sls works on the cache sets, not on exact; or choose another model: storage"},
		{"exact", "prefill", "model prefill works on the caches prefix, tiers, not on exact; or choose another model: " +
			"storage"},
	} {
		lists := []string{"cache=" + test.kind, "model=" + test.model}
		_, err := simtest.TryRun(t.Context(), trace, simtest.Options{Policies: "lru", Parts: lists,
			Capacities: simtest.Objects(10)})
		if fmt.Sprint(err) != test.want {
			t.Errorf("%s on %s: %v, want %s", test.model, test.kind, err, test.want)
		}
	}
}
