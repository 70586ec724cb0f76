package sim

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim/neighbours"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/queries"
)

// circleOfQueries returns a trace of n requests to queries whose embeddings lie on a circle, each a unit vector.
func circleOfQueries(n int) *traces.Trace {
	random := rand.New(rand.NewPCG(1, 1))
	t := &traces.Trace{Name: "circle", NumObjects: n, Kind: &queries.Columns{Dim: 2}}
	for i := range n {
		angle := 2 * math.Pi * random.Float64()
		queries.Of(t.Kind).Vectors = append(queries.Of(t.Kind).Vectors, float32(math.Cos(angle)), float32(math.Sin(angle)))
		t.Objects = append(t.Objects, uint32(i))
	}
	return t
}

func semanticCell(t *testing.T, kind string) Cell {
	t.Helper()
	spec := must.Get(cache.Registry.Parse(kind))(t)
	return Cell{Parts: Parts{Policy: policies.Known("lru"), Cache: spec},
		Capacity: capacity.Capacity{Amount: 20, Simulated: 20}}
}

// heard counts what neighbours.Options tell.
type heard struct {
	joins int
	notes []string
}

func (h *heard) options(dir string) neighbours.Options {
	return neighbours.Options{
		Dir: dir, Note: func(text string) { h.notes = append(h.notes, text) },
		Comparing: func() (func(done, total int64), func()) { h.joins++; return nil, func() {} },
	}
}

// hitsOf replays a cell alone.
func hitsOf(t *testing.T, trace *traces.Trace, cell Cell, options neighbours.Options) int64 {
	t.Helper()
	rec := must.Get(NewReplayer(trace, ReplayerOptions{Neighbours: options}).Replay(t.Context(), cell))(t)
	return rec.Int(metric.Hits)
}

func TestNeighboursAreKeptForTheNextTime(t *testing.T) {
	trace, dir := circleOfQueries(300), filepath.Join(t.TempDir(), "kept")
	var h heard
	want := map[string]int64{}
	for _, cache := range []string{"semantic(tau=0.9999)", "semantic(tau=0.99999)"} {
		want[cache] = hitsOf(t, trace, semanticCell(t, cache), neighbours.Options{})
		if got := hitsOf(t, trace, semanticCell(t, cache), h.options(dir)); got != want[cache] {
			t.Errorf("%s: %d hits from the side file, %d without", cache, got, want[cache])
		}
	}
	if want["semantic(tau=0.9999)"] <= want["semantic(tau=0.99999)"] {
		t.Fatalf("hits %v: the thresholds make no difference", want)
	}
	if h.joins != 1 || len(h.notes) > 0 {
		t.Errorf("%d joins, want 1, as the lists from the lower threshold serve both; notes %q", h.joins, h.notes)
	}
	if hitsOf(t, trace, semanticCell(t, "semantic(match=identity)"), h.options(dir)); h.joins != 1 || len(h.notes) > 0 {
		t.Errorf("%d joins and notes %q for a cache that asks for no similarity", h.joins, h.notes)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%d side files, want 1 (%v)", len(files), err)
	}
}

// The side file that a device writes has the bytes of the CPU's, and replays have the same hits.
func TestNeighboursFromADevice(t *testing.T) {
	trace := circleOfQueries(300)
	device := cuda.Share(ptxrun.New(ptxrun.Options{}))
	cell := semanticCell(t, "semantic(tau=0.9999)")
	var want []byte
	var hits int64
	for _, d := range []*cuda.Shared{nil, device} {
		var h heard
		dir := t.TempDir()
		options := ReplayerOptions{Neighbours: h.options(dir), Device: d}
		rec, err := NewReplayer(trace, options).Replay(t.Context(), cell)
		must.Do(t, err)
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("side files %v (%v)", files, err)
		}
		written, err := os.ReadFile(files[0])
		must.Do(t, err)
		if d == nil {
			want, hits = written, rec.Int(metric.Hits)
			continue
		}
		if !bytes.Equal(written, want) || rec.Int(metric.Hits) != hits || hits == 0 {
			t.Errorf("%d bytes and %d hits with a device, want %d and %d, or others", len(written),
				rec.Int(metric.Hits), len(want), hits)
		}
		if notes := strings.Join(h.notes, "; "); notes != "PTX interpreter compares the queries" {
			t.Errorf("notes %q", notes)
		}
	}
}

func TestDamagedNeighboursAreMadeAnew(t *testing.T) {
	trace, dir := circleOfQueries(300), t.TempDir()
	cell := semanticCell(t, "semantic(tau=0.9999)")
	var h heard
	want := hitsOf(t, trace, cell, h.options(dir))
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("side files %q, %v", files, err)
	}
	must.Do(t, os.Truncate(files[0], 100))
	if got := hitsOf(t, trace, cell, h.options(dir)); got != want {
		t.Errorf("%d hits, want %d", got, want)
	}
	if h.joins != 2 || len(h.notes) != 1 || !strings.Contains(h.notes[0], files[0]) ||
		!strings.Contains(h.notes[0], "cut off") {
		t.Errorf("%d joins, want 2; notes %q", h.joins, h.notes)
	}
	if got := hitsOf(t, trace, cell, h.options(dir)); got != want || h.joins != 2 {
		t.Errorf("the file was not made again: %d joins", h.joins)
	}
}

func TestNeighboursThatCannotBeKeptAreUsed(t *testing.T) {
	trace := circleOfQueries(300)
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o644))
	cell := semanticCell(t, "semantic(tau=0.9999)")
	var h heard
	if got, want := hitsOf(t, trace, cell, h.options(file)), hitsOf(t, trace, cell, neighbours.Options{}); got != want {
		t.Errorf("%d hits, want %d", got, want)
	}
	if len(h.notes) == 0 || !strings.Contains(h.notes[len(h.notes)-1], "could not be stored") {
		t.Errorf("notes %q", h.notes)
	}
}

// All cells of a trace share one join, from the least threshold that any of them asks for.
func TestCellsShareTheJoin(t *testing.T) {
	var h heard
	r := NewReplayer(circleOfQueries(300), ReplayerOptions{Neighbours: h.options("")})
	cells := []Cell{semanticCell(t, "semantic(tau=0.99)"), semanticCell(t, "semantic(tau=0.9)"),
		semanticCell(t, "semantic(tau=0.95)")}
	r.Jobs(cells)
	for _, c := range cells {
		must.Get(r.Replay(t.Context(), c))(t)
	}
	if h.joins != 1 {
		t.Errorf("%d joins, want 1: from 0.9", h.joins)
	}
}
