package attend

import (
	"testing"

	"github.com/cachesim/cachesim/internal/cuda/cudatest"
	"github.com/cachesim/cachesim/internal/cuda/kernels"
)

func TestSelfTest(t *testing.T) {
	cudatest.SelfTest(t, SelfTest, "selftest.txt", [][]byte{kernels.Attend()})
}
