package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/packed"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// withWeights returns a cell whose allocator reads a file.
func withWeights(t *testing.T, path, checksum string) Cell {
	t.Helper()
	spec, err := allocate.Registry.Parse("hlem(weights=" + path + ",range=0.01)")
	must.Do(t, err)
	parts := sim.Parts{Allocator: &spec, Checksum: checksum}
	parts.Policy = must.Get(policies.Registry.Parse("lru"))(t)
	parts.Cache = must.Get(cache.Registry.Parse("pools"))(t)
	return Cell{Workload: workload.Workload{Name: "w"}, Parts: NewParts(parts)}.WithHash()
}

// TestFilesOfPartsByChecksum: a cell is the same wherever the file is that a part reads, and another one with another
// file or other parameters. A file without a checksum is identified by its path.
func TestFilesOfPartsByChecksum(t *testing.T) {
	weights := packed.Unpack(must.Get(os.ReadFile("../serving/hlem/controllers/ppo.json.zst"))(t))
	here, there := filepath.Join(t.TempDir(), "here.json"), filepath.Join(t.TempDir(), "there.json")
	for _, path := range []string{here, there} {
		must.Do(t, os.WriteFile(path, weights, 0o600))
	}
	a, b := withWeights(t, here, "sha256:1"), withWeights(t, there, "sha256:1")
	if a.Hash != b.Hash {
		t.Error("equal files with different paths make different cells")
	}
	if withWeights(t, here, "sha256:2").Hash == a.Hash {
		t.Error("different files with the same path make the same cell")
	}
	if withWeights(t, here, "").Hash == withWeights(t, there, "").Hash {
		t.Error("files of which nothing is known make the same cell")
	}
	plain := must.Get(allocate.Registry.Parse("hlem(range=0.01)"))(t)
	built := a.Parts.Parts
	built.Allocator = &plain
	if (Cell{Workload: a.Workload, Parts: NewParts(built)}).WithHash().Hash == a.Hash {
		t.Error("a file and none make the same cell")
	}

	// A result is that of both cells, under the path of each, and is found when the file is gone.
	result := Result{Record: records.Record{Allocator: a.Parts.Allocator.String()}}
	rec := must.Get(result.RecordOf(b))(t)
	if !strings.Contains(rec.Allocator, "there.json") {
		t.Errorf("allocator %s in the record, want the path of the cell", rec.Allocator)
	}
	must.Do(t, os.Remove(here))
	if !a.Text().IsNamed() {
		t.Error("without its file a cell has another hash")
	}
}
