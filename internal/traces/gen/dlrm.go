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

// embeddingTable has the rows of a table by popularity.
type embeddingTable struct {
	first uint64 // key of its row 0
	ranks random.Zipf
	rowAt []uint32 // per rank
}

// groupOfDLRM returns how many keys come together: those of the samples of a batch.
func groupOfDLRM(v params.Values) int { return v.Int("pooling") * v.Int("batch") }

// buildDLRM looks up samples of keys in embedding tables, many samples per batch.
func buildDLRM(v params.Values, keys *keyspace, seed uint64) (source, error) {
	rows := v.Int("rows")
	tables := make([]embeddingTable, v.Int("tables"))
	if rows < len(tables) {
		return nil, fmt.Errorf("rows=%d: want at least one for each of the %d tables", rows, len(tables))
	}
	for i := range tables {
		n := rows / len(tables)
		if i < rows%len(tables) {
			n++
		}
		first, err := keys.reserve(n)
		if err != nil {
			return nil, err
		}
		tables[i] = embeddingTable{first: first, ranks: random.NewZipf(n, v.Float("skew")), rowAt: ascending[uint32](n)}
	}
	pooling, day, drift := v.Int("pooling"), v.Int("day"), v.Float("drift")
	lookups, moves := random.Stream(seed, requestBits), random.Stream(seed, driftBits)
	looked, today := 0, 0 // keys of the current sample, and since the ranks last moved
	return func() uint64 {
		if today == day {
			today = 0
			for i := range tables {
				tables[i].move(drift, moves)
			}
		}
		today++
		if looked == pooling {
			looked = 0
		}
		t := &tables[looked%len(tables)]
		looked++
		return t.first + uint64(t.rowAt[t.ranks.Draw(lookups)])
	}, nil
}

// move swaps the rows of randomly drawn pairs of ranks, so that about the given share of the ranks changes its row.
func (t *embeddingTable) move(share float64, bits *rand.PCG) {
	// A swap changes two ranks.
	for range int(share * float64(len(t.rowAt)) / 2) {
		a, _ := random.Below(bits, len(t.rowAt))
		b, _ := random.Below(bits, len(t.rowAt))
		t.rowAt[a], t.rowAt[b] = t.rowAt[b], t.rowAt[a]
	}
}
