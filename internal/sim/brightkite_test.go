package sim_test

import (
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// TestPublishedBrightkite compares policies with predictions with the total misses of adampolak/mts-with-predictions at
// the ends and in the middle of its noise: means of 10 runs there, of 4 here. The experiment learned-brightkite
// compares all of them with as many seeds.
func TestPublishedBrightkite(t *testing.T) {
	traceDir, numberDir := simtest.ReferenceFolders(t)
	tr := must.Get(read.Load(t.Context(), []string{filepath.Join(traceDir, "learned", "brightkite.tar.xz")},
		read.Options{Selection: read.Selection{PerFile: true}}))(t)
	published := brightkiteNumbers(t, filepath.Join(numberDir, "learned-and-llm-published.tsv"))
	for policy, algorithm := range map[string]string{
		"opt":                     "OPT",
		"lru":                     "LRU",
		"opt-marking":             "OPTMarking",
		"marker":                  "Marker",
		"marker-or-lru":           "Rnd(Marker,LRU)",
		"fpb":                     "FollowPred(=BlindOracle)",
		"fpb-marking":             "FollowPredMarking",
		"predictive-marker":       "PredMarker(L&V)",
		"lmarker":                 "LMarker",
		"lnonmarker(robust=true)": "LNonMarker",
		"robust-ftp":              "Rnd(Marker,FollowPred)=RobustFtP",
		"trust-doubt":             "LazyTrustDoubt",
	} {
		for _, sigma := range []string{"0", "20", "200"} {
			t.Run(policy+"/sigma="+sigma, func(t *testing.T) {
				const seeds = 4
				sum := 0.0
				for seed := range uint64(seeds) {
					noisy := []string{"predictor=noisy(kind=lognormal,never=10000,sigma=" + sigma + ")"}
					recs := simtest.Run(t, tr, simtest.Options{Policies: policy, Parts: noisy, Seed: seed,
						Capacities: simtest.Objects(10)})
					sum += float64(recs[0].Int(metric.Misses))
				}
				want, ok := published[algorithm+" "+sigma]
				if !ok {
					t.Fatalf("no number of %s at sigma %s", algorithm, sigma)
				}
				within := 0.01 * want
				if policy == "opt" || policy == "lru" || policy == "opt-marking" {
					within = 0
				}
				if got := sum / seeds; math.Abs(got-want) > within {
					t.Errorf("%v misses, published %v", got, want)
				}
			})
		}
	}
}

// brightkiteNumbers returns total misses by algorithm and sigma.
func brightkiteNumbers(t *testing.T, path string) map[string]float64 {
	t.Helper()
	numbers := map[string]float64{}
	for _, row := range simtest.ReadTable(t, path) {
		_, rest, ok := strings.Cut(row["setting"], "lognormal(0,")
		if !ok {
			continue
		}
		sigma, _, _ := strings.Cut(rest, ")")
		misses := must.Get(strconv.ParseFloat(row["value"], 64))(t)
		numbers[row["algorithm"]+" "+sigma] = misses
	}
	return numbers
}
