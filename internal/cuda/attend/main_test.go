package attend

import (
	"os"
	"testing"

	"github.com/cachesim/cachesim/internal/cuda/cudatest"
)

func TestMain(m *testing.M) { os.Exit(cudatest.Main(m)) }
