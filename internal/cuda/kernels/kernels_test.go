package kernels_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
)

// TestInterpreterKnowsAll loads all kernels into the interpreter that the tests of other packages run them in.
func TestInterpreterKnowsAll(t *testing.T) {
	files, err := filepath.Glob("*.ptx")
	if err != nil || len(files) == 0 {
		t.Fatal("no kernels", err)
	}
	for _, file := range files {
		ptx := must.Get(os.ReadFile(file))(t)
		if _, err := ptxrun.New(ptxrun.Options{}).Load(ptx); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
