package gen

import (
	"math"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// TestDLRMBatches checks where batches begin and from which table each key of a sample is.
func TestDLRMBatches(t *testing.T) {
	const rows, tables, pooling, batch = 100, 3, 5, 4
	g := open(t, "dlrm(requests=1000,rows=100,tables=3,pooling=5,batch=4)")
	if !g.Fields.Groups {
		t.Error("it does not say that its requests come in groups")
	}
	for i, rec := range readAll(t, "dlrm(requests=1000,rows=100,tables=3,pooling=5,batch=4)") {
		if rec.Begins != (i%(pooling*batch) == 0) {
			t.Fatalf("request %d: begins a batch: %v", i, rec.Begins)
		}
		// The tables have 34, 33 and 33 rows.
		first := []uint64{1, 35, 68, 101}
		if table := i % pooling % tables; rec.Num < first[table] || rec.Num >= first[table+1] {
			t.Fatalf("request %d: key %d is not from table %d", i, rec.Num, table)
		}
	}
	trace, err := read.LoadReader(t.Context(), "dlrm", open(t, "dlrm(requests=50,pooling=5,batch=4)"), g.Fields, 50,
		read.Options{})
	if err != nil || !slices.Equal(trace.Groups, []int{0, 20, 40}) {
		t.Errorf("groups %v, error %v", trace.Groups, err)
	}
}

// TestDLRMDrift compares the share of the lookups whose row changes from one day to the next with drift: a rank is in
// one of drift*n/2 pairs, each of which draws two of n ranks, and stays with probability (1-1/n)^(drift*n), nearly
// exp(-drift).
func TestDLRMDrift(t *testing.T) {
	const n, drift = 100_000, 0.3
	table := embeddingTable{rowAt: ascending[uint32](n)}
	table.move(drift, random.Stream(3, driftBits))
	moved := 0
	for rank, row := range table.rowAt {
		if int(row) != rank {
			moved++
		}
	}
	if got, want := float64(moved)/n, 1-math.Exp(-drift); math.Abs(got-want) > 0.01 {
		t.Errorf("a share of %.3f of the ranks moved, want %.3f", got, want)
	}
	slices.Sort(table.rowAt)
	for i, row := range table.rowAt {
		if int(row) != i {
			t.Fatalf("row %d is lost", i)
		}
	}
}

func TestDLRMSkew(t *testing.T) {
	const requests = 200_000
	counts := make([]float64, 1000)
	for _, key := range keysOf(t, "dlrm(requests=200000,rows=2000,tables=2,skew=0.9,drift=0,seed=4)") {
		if key <= 1000 {
			counts[key-1]++
		}
	}
	counts, expected := pool(counts, zipfExpectation(1000, 0.9, requests/2))
	if p := chiSquareP(counts, expected); p < 1e-4 {
		t.Errorf("the lookups of a table do not follow Zipf's law: p = %v", p)
	}
}

func TestDLRMErrors(t *testing.T) {
	checkRefused(t, map[string]string{
		"dlrm(rows=3,tables=4)":         "at least one for each",
		"mixed(phases=dlrm(rows=10):5)": "generators of groups",
	})
}
