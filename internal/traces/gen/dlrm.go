package gen

import (
	"fmt"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
)

var (
	rowsParam = params.Param{Name: "rows", Default: 1_000_000, Min: 1, Max: maxObjects,
		Doc: "rows of all tables together"}
	tablesParam = params.Param{Name: "tables", Default: 1, Min: 1, Max: 100_000, Doc: "number of embedding tables, of " +
		"equally many rows up to rounding"}
	skewParam = params.Param{Name: "skew", Default: 0.9, Min: 0, Max: 10, Doc: "exponent of the popularity of the " +
		"rows of a table; 0 is uniform"}
	poolingParam = params.Param{Name: "pooling", Default: 50, Min: 1, Max: 1_000_000, Doc: "keys that a sample looks " +
		"up, from the tables in turn"}
	batchParam = params.Param{Name: "batch", Default: 128, Min: 1, Max: 1_000_000, Doc: "samples that come together"}
	dayParam   = params.Param{Name: "day", Default: 250_000, Min: 1, Doc: "requests per day, after which ranks move"}
	driftParam = params.Param{Name: "drift", Default: 0.1, Min: 0, Max: 1, Doc: "share of the ranks that change their " +
		"row each day"}
)

// dlrmSource looks up samples of keys in embedding tables, many samples per batch.
type dlrmSource struct {
	tables  []embeddingTable
	pooling int
	batch   int // keys
	inBatch int // keys of the current batch that have been returned
	day     int
	today   int // keys returned since the ranks last moved
	drift   float64
	bits    *rand.PCG // of lookups
	moves   *rand.PCG
}

// embeddingTable has the rows of a table by popularity.
type embeddingTable struct {
	first uint64 // key of its row 0
	ranks random.Zipf
	rowAt []uint32 // per rank
}

func buildDLRM(v params.Values, keys *keyspace, seed uint64) (source, error) {
	rows, tables := v.Int("rows"), v.Int("tables")
	if rows < tables {
		return nil, fmt.Errorf("rows=%d: want at least one for each of the %d tables", rows, tables)
	}
	d := &dlrmSource{
		tables:  make([]embeddingTable, tables),
		pooling: v.Int("pooling"),
		batch:   v.Int("pooling") * v.Int("batch"),
		day:     v.Int("day"),
		drift:   v.Float("drift"),
		bits:    random.Stream(seed, requestBits),
		moves:   random.Stream(seed, driftBits),
	}
	for i := range d.tables {
		n := rows / tables
		if i < rows%tables {
			n++
		}
		first, err := keys.reserve(n)
		if err != nil {
			return nil, err
		}
		d.tables[i] = newEmbeddingTable(first, n, v.Float("skew"))
	}
	return d, nil
}

func newEmbeddingTable(first uint64, rows int, skew float64) embeddingTable {
	return embeddingTable{first: first, ranks: random.NewZipf(rows, skew), rowAt: ascending(rows)}
}

func (d *dlrmSource) next() uint64 {
	if d.today == d.day {
		d.today = 0
		for i := range d.tables {
			d.tables[i].move(d.drift, d.moves)
		}
	}
	d.today++
	if d.inBatch == d.batch {
		d.inBatch = 0
	}
	t := &d.tables[d.inBatch%d.pooling%len(d.tables)]
	d.inBatch++
	return t.first + uint64(t.rowAt[t.ranks.Draw(d.bits)])
}

// begins reports whether the key that next last returned begins a group.
func (d *dlrmSource) begins() bool { return d.inBatch == 1 }

// move swaps the rows of randomly drawn pairs of ranks, so that about the given share of the ranks changes its row.
func (t *embeddingTable) move(share float64, bits *rand.PCG) {
	// A swap changes two ranks.
	for range int(share * float64(len(t.rowAt)) / 2) {
		a, _ := random.Below(bits, len(t.rowAt))
		b, _ := random.Below(bits, len(t.rowAt))
		t.rowAt[a], t.rowAt[b] = t.rowAt[b], t.rowAt[a]
	}
}
