package reuse

import (
	"testing"

	"github.com/cachesim/cachesim/internal/cuda/cudatest"
	"github.com/cachesim/cachesim/internal/cuda/kernels"
)

func TestSelfTest(t *testing.T) {
	cudatest.SelfTest(t, SelfTest, "selftest.txt", [][]byte{kernels.Sort(), kernels.Reuse()},
		"sort_starts", // of package setreplay
		"sort_count64", "sort_scatter64")
}
