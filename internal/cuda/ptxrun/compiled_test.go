package ptxrun

import (
	"testing"

	"github.com/cachesim/cachesim/internal/cuda/kernels/kerneltest"
)

// TestCompiled fails if a kernel of the tests was changed and not compiled.
func TestCompiled(t *testing.T) { kerneltest.Compiled(t, "testdata", "../kernels") }
