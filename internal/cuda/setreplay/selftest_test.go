package setreplay

import (
	"testing"

	"github.com/cachesim/cachesim/internal/cuda/cudatest"
	"github.com/cachesim/cachesim/internal/cuda/kernels"
)

func TestSelfTest(t *testing.T) {
	cudatest.SelfTest(t, SelfTest, "selftest.txt", [][]byte{kernels.Sort(), kernels.Sets()},
		"sort_sums", // of columns longer than these
		"sort_count64", "sort_scatter64")
}
