package records_test

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	_ "github.com/cachesim/cachesim/internal/clock/models" // declares metrics
	_ "github.com/cachesim/cachesim/internal/policies/all"
	"github.com/cachesim/cachesim/internal/results/records"
	_ "github.com/cachesim/cachesim/internal/sim/all" // declares metrics
)

// Records of older programs are still read in every format, and their digests are still correct. In these records each
// number was a field of its own, null if it did not apply, and the counters of policies were a text. The files come
// from the last such commit and were made with
//
//	cachesim run 'zipf(objects=100,requests=1000,size=lognormal)' --policy lru,lhd,pfoo-l --capacity 10,5% --bytes
//	cachesim run testdata/scanmix.txt.xz testdata/scanmix.txt.xz --per-file --policy lru,blindoracle-lru
//	  --predictor 'ewma,noisy(p=0.3)' --capacity 5%
//	cachesim run 'zipf(objects=100,requests=2000)' --policy laru --predictor auto --capacity 5%
//	cachesim run 'dlrm(requests=5000,rows=500)' --policy lru,laru --cache 'sets(ways=32)' --model sls --predictor gbm
//	  --capacity 10%
//	cachesim run 'llm(conversations=20)' --policy lru,arc --cache prefix --model prefill --capacity 10%
//	cachesim run 'dialogue(requests=2000,topics=30,dim=64,capacity=50)' --policy lru,rac,infinite --cache semantic
//	  --capacity 10%
func TestFlatRecords(t *testing.T) {
	values := map[string]map[string]float64{ // of the last record
		"bytes":    {"lower_bound_misses": 442, "hits": 558, "requests": 1000},
		"per-file": {"switches": 0, "predictions": 28976},
		"auto": {"phases": 246, "prediction_evictions": 1255, "fallback_evictions": 108, "lru_evictions": 0,
			"lambda_sum": 1303.5, "trainings": 1, "training_work": 672000, "asked_ewma": 0, "asked_popu": 0,
			"asked_gbm": 2000, "predictor_changes": 0},
		"sls":      {"sets": 1, "slots": 32, "batches": 1, "training_work": 6.72e6},
		"prefill":  {"inner_victims": 46040, "prompts": 7268},
		"semantic": {"hits": 471, "normalized_hit_ratio": 1},
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		var first []records.Record
		for _, file := range records.FileNames() {
			recs, err := records.Read(filepath.Join("testdata", "flat", name, file), nil)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = recs
			}
			if !reflect.DeepEqual(recs, first) {
				t.Errorf("%s/%s: got %+v, want %+v", name, file, recs, first)
			}
			if note := records.WithoutDigest(file, recs) + records.Incomplete(file, recs); note != "" {
				t.Errorf("%s: %s", name, note)
			}
		}
		last := first[len(first)-1]
		for metric, want := range values[name] {
			if x, ok := last.Metric(metric); !ok || x != want {
				t.Errorf("%s: %s is %v, want %v", name, metric, x, want)
			}
		}
		again := t.TempDir()
		if err := records.Write(again, first); err != nil {
			t.Fatal(err)
		}
		for _, file := range records.FileNames() {
			recs, err := records.Read(filepath.Join(again, file), nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := range recs {
				recs[i].Digest = first[i].Digest // of the same values, except for counters, which were a text
			}
			if !reflect.DeepEqual(recs, first) {
				t.Errorf("%s/%s, written anew: got %+v, want %+v", name, file, recs, first)
			}
		}
	}
}
