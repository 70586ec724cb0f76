package igtcache

import (
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/cache"
)

// BenchmarkServe reads a data set like ImageNet at a tenth of its size, 1000 directories of 130 files, in shuffled
// epochs, and beside it a directory of 30 000 files with popular ones, through a cache of a fifth of both.
func BenchmarkServe(b *testing.B) {
	d := &dataset{}
	for directory := range 1000 {
		for file := range 130 {
			d.add(1, "imagenet/n%04d/%04d.jpg", directory, file)
		}
	}
	images := len(d.paths)
	for file := range 30_000 {
		d.add(1, "wiki/%05d", file)
	}
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 1, 29_999)
	var requests []block
	for range 3 {
		for _, i := range random.Perm(images) {
			requests = append(requests, block{i, 0}, block{images + int(zipf.Uint64()), 0})
		}
	}
	tr := d.trace(requests, 0.001)
	for _, text := range []string{"igtcache", "igtcache(prefetch=off)", "igtcache(skewed=s3fifo)",
		"igtcache(prune=false)"} {
		b.Run(text, func(b *testing.B) {
			var nodes, bytes float64
			for b.Loop() {
				b.StopTimer()
				served := build(b, configOf(b, tr, text, int64(len(d.paths)/5), true))
				b.StartTimer()
				served.Serve(cache.WindowOf(tr, 0, len(tr.Objects), false, nil), &cache.Counts{})
				nodes, bytes = float64(served.system.tree.Nodes()), float64(served.system.tree.Bytes())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(tr.Objects)), "ns/access")
			b.ReportMetric(nodes, "nodes")
			b.ReportMetric(bytes, "tree-bytes")
		})
	}
}
