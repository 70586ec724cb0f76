package read_test

import (
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// zipfRecords returns requests for scattered keys with Zipf(1) popularity.
func zipfRecords(count int) []stream.Record {
	const objects = 1_000_000
	rng := rand.New(rand.NewPCG(1, 2))
	records := make([]stream.Record, count)
	for i := range records {
		rank := uint64(math.Pow(objects, rng.Float64()))
		records[i] = stream.Record{Time: int64(i/10_000) * 1e9, Num: random.Scramble(rank), Size: int64(rank%1000) + 1}
	}
	return records
}

// BenchmarkLoadOracleGeneral loads 2 million requests, from a raw file and from one in zstd; "decompress" only
// decompresses the latter.
func BenchmarkLoadOracleGeneral(b *testing.B) {
	const count = 2_000_000
	records := zipfRecords(count)
	dir := b.TempDir()
	plain, packed := filepath.Join(dir, "x.oracleGeneral"), filepath.Join(dir, "x.oracleGeneral.zst")
	tracetest.Write(b, plain, allFields, records)
	tracetest.Write(b, packed, allFields, records)
	load := func(path string, opts read.Options) func(b *testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must.Get(read.Load(b.Context(), []string{path}, opts))(b)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/request")
		}
	}
	b.Run("decompress", func(b *testing.B) {
		for b.Loop() {
			in := must.Get(source.OpenFile(b.Context(), packed, nil))(b)
			src := must.Get(source.New(in, packed, packed, in))(b)
			must.Get(io.Copy(io.Discard, src))(b)
			in.Close()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/request")
	})
	b.Run("zstd", load(packed, read.Options{}))
	b.Run("plain", load(plain, read.Options{}))
	b.Run("plain/sizes", load(plain, read.Options{Needs: traces.Needs{Sizes: true}}))
	b.Run("plain/hashed", load(plain, read.Options{Selection: read.Selection{SampleRate: 1 - 1e-12}}))
}

func BenchmarkConvert(b *testing.B) {
	records := zipfRecords(500_000)
	for _, name := range []string{"x.csv", "x.txt", "x.oracleGeneral", "x.parquet", "x.csv.zst"} {
		b.Run(name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), name)
			for b.Loop() {
				tracetest.Write(b, path, allFields, records)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(records)), "ns/record")
		})
	}
}
