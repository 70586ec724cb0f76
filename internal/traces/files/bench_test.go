package files_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// BenchmarkLoadReads loads a table of a million reads of 10 000 files, and the logs of a real training run.
func BenchmarkLoadReads(b *testing.B) {
	var table strings.Builder
	table.WriteString("time,job,path,offset,length,file_size\n")
	for i := range 1_000_000 {
		fmt.Fprintf(&table, "%d,job%d,/data/set%d/%d.JPEG,%d,131072,16777216\n", i, i%18, i%7, i*7919%10_000, i%128*131072)
	}
	csv := filepath.Join(b.TempDir(), "reads.csv")
	must.Do(b, os.WriteFile(csv, []byte(table.String()), 0o644))
	real, _ := filepath.Glob(filepath.Join(os.Getenv("CACHESIM_TRACES"), "files", "dlio-unet3d", "*.pfw.gz"))
	for name, paths := range map[string][]string{"csv": {csv}, "dlio": real} {
		b.Run(name, func(b *testing.B) {
			if len(paths) == 0 {
				b.Skip("set CACHESIM_TRACES to the folder of the real traces")
			}
			requests := 0
			for b.Loop() {
				trace := must.Get(read.Load(b.Context(), paths, read.Options{
					Selection: read.Selection{Merge: len(paths) > 1}, Needs: traces.Needs{Sizes: true, Times: true}}))(b)
				requests += len(trace.Objects)
			}
			b.ReportMetric(float64(requests)/b.Elapsed().Seconds()/1e6, "Mreq/s")
		})
	}
}
