package formats_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// benchmarkRead reads one million lines per iteration.
func benchmarkRead(b *testing.B, format, header string, line func(i int, key uint64) string) {
	const lines = 1_000_000
	random := rand.New(rand.NewPCG(1, 1))
	var content bytes.Buffer
	content.WriteString(header)
	for i := range lines {
		content.WriteString(line(i, random.Uint64N(1<<30)))
	}
	tracetest.BenchmarkRead(b, content.Bytes(), format, lines)
	b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mlines/s")
}

func BenchmarkReadPlain(b *testing.B) {
	benchmarkRead(b, "plain", "", func(_ int, key uint64) string { return fmt.Sprintln(key) })
}

func BenchmarkReadPlainText(b *testing.B) {
	benchmarkRead(b, "plain", "", func(_ int, key uint64) string { return fmt.Sprintf("n%x.jpg\n", key) })
}

func BenchmarkReadLIRS(b *testing.B) {
	benchmarkRead(b, "lirs", "", func(_ int, key uint64) string { return fmt.Sprintln(key) })
}

func BenchmarkReadARC(b *testing.B) {
	benchmarkRead(b, "arc", "", func(i int, key uint64) string { return fmt.Sprintf("%d 1 0 %d\n", key, i) })
}

func BenchmarkReadSeqIDSize(b *testing.B) {
	benchmarkRead(b, "seq-id-size", "", func(i int, key uint64) string {
		return fmt.Sprintf("%d %d %d\n", i, key,
			key&0xffff)
	})
}

func BenchmarkReadCSV(b *testing.B) {
	benchmarkRead(b, "csv", "time,key,size,op\n", func(i int, key uint64) string {
		return fmt.Sprintf("%d.25,%d,%d,get\n",
			i, key, key&0xffff)
	})
}

func BenchmarkReadQuotedCSV(b *testing.B) {
	benchmarkRead(b, "csv", "time,key,size,op\n", func(i int,
		key uint64) string {
		return fmt.Sprintf("%d.25,\"%x\",%d,get\n", i, key, key&0xffff)
	})
}

// BenchmarkReadMooncake reads prompts of 24 blocks, about the mean of the published traces.
func BenchmarkReadMooncake(b *testing.B) {
	const prompts, blocks = 50_000, 24
	var content bytes.Buffer
	for i := range prompts {
		fmt.Fprintf(&content, `{"timestamp": %d, "input_length": %d, "output_length": 500, "hash_ids": [`, i*300, 512*blocks)
		for k := range blocks {
			fmt.Fprintf(&content, "%d, ", i*blocks+k)
		}
		content.Truncate(content.Len() - len(", "))
		content.WriteString("]}\n")
	}
	tracetest.BenchmarkRead(b, content.Bytes(), "", prompts*blocks)
}
