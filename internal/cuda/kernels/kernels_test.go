package kernels_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/cachesim/cachesim/internal/base/packed"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
)

// TestInterpreterKnowsAll loads all kernels into the interpreter that the tests of other packages run them in. The
// packed files, which are those of the program, have the same kernels; COMPILE=1 writes them.
func TestInterpreterKnowsAll(t *testing.T) {
	files, err := filepath.Glob("*.ptx")
	if err != nil || len(files) == 0 {
		t.Fatal("no kernels", err)
	}
	for _, file := range files {
		ptx := bytes.ReplaceAll(must.Get(os.ReadFile(file))(t), []byte("\r\n"), []byte("\n"))
		inProgram := file + ".zst"
		if os.Getenv("COMPILE") == "1" {
			must.Do(t, os.WriteFile(inProgram, must.Get(packed.Pack(ptx))(t), 0o644))
		}
		if !bytes.Equal(ptx, packed.Unpack(must.Get(os.ReadFile(inProgram))(t))) {
			t.Errorf("%s has other kernels than %s; run make kernels", inProgram, file)
		}
		if _, err := ptxrun.New(ptxrun.Options{}).Load(ptx); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
