package explain_test

import (
	"context"
	"log"
	"os"
	"path/filepath"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
	_ "github.com/cachesim/cachesim/internal/sim/all"
	"github.com/cachesim/cachesim/internal/sim/explain"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// FIFO with room for two: c pushes out a, though a has just been hit.
func ExamplePrint() {
	dir, err := os.MkdirTemp("", "explain")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "trace.txt")
	if err := os.WriteFile(path, []byte("a\nb\na\nc\na\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	t, err := read.Load(ctx, []string{path}, read.Options{Needs: traces.Needs{Keys: true}})
	if err != nil {
		log.Fatal(err)
	}
	fifo, err := policies.Registry.Parse("fifo")
	if err != nil {
		log.Fatal(err)
	}
	cell := sim.Cell{
		Parts:    sim.Parts{Policy: fifo, Cache: cache.ExactSpec()},
		Capacity: capacity.Of(2, false),
	}
	options := explain.Options{From: 1, Format: "csv"}
	if err := explain.Print(ctx, os.Stdout, t, cell, sim.ReplayerOptions{}, options); err != nil {
		log.Fatal(err)
	}
	// Output:
	// position,request,hit,entry,loaded,evicted
	// 1,b,false,,true,
	// 2,a,true,a,false,
	// 3,c,false,,true,a
	// 4,a,false,,true,b
}
