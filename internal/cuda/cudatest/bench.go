package cudatest

import (
	"testing"
	"time"
)

// Compare measures the same work on the GPU, which the benchmark times, and once on the CPU. It reports the seconds of
// each, their ratio, and millions of units (requests, for example) per second on the GPU.
func Compare(b *testing.B, units float64, onGPU, onCPU func()) {
	b.Helper()
	onGPU() // the driver compiles the kernels
	for b.Loop() {
		onGPU()
	}
	gpu := b.Elapsed().Seconds() / float64(b.N)
	start := time.Now()
	onCPU()
	cpu := time.Since(start).Seconds()
	b.ReportMetric(gpu, "gpu-s")
	b.ReportMetric(cpu, "cpu-s")
	b.ReportMetric(cpu/gpu, "times")
	b.ReportMetric(units/gpu/1e6, "M/s")
	b.ReportMetric(0, "ns/op") // the same as gpu-s
}
