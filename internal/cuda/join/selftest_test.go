package join

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
	"github.com/cachesim/cachesim/internal/cuda/kernels"
	"github.com/cachesim/cachesim/internal/similarity"
)

func TestSelfTest(t *testing.T) {
	cudatest.SelfTest(t, SelfTest, "selftest.txt", [][]byte{kernels.Join()})
}

// Devices that go wrong without an error end joins with one: from the first launch on, after their self-test, and in
// the middle.
func TestFaultyDevices(t *testing.T) {
	v := randomVectors(rand.New(rand.NewPCG(4, 1)), 150, 8, 0.5)
	l := limits{group: 1, rows: 1, room: 1 << 20, bytes: 1 << 62}
	for name, find := range map[string]func(similarity.Backend) error{
		"join": func(b similarity.Backend) error {
			_, err := similarity.Join(t.Context(), v, 0.9, similarity.Options{Backend: b})
			return err
		},
		"nearest": func(b similarity.Backend) error {
			_, err := similarity.FindNearest(t.Context(), v, 3, similarity.Options{Backend: b})
			return err
		},
	} {
		right := &cudatest.Faulty{Device: ptxrun.New(ptxrun.Options{}), Right: math.MaxInt}
		must.Do(t, find(backend{cuda.Share(right), l, SelfTest}))
		wrong := func(fault cudatest.Fault, first int, test *cuda.SelfTest) {
			d := &cudatest.Faulty{Device: ptxrun.New(ptxrun.Options{}), Fault: fault, Right: first}
			if err := find(backend{cuda.Share(d), l, test}); err == nil {
				t.Errorf("%s, fault %d after %d launches, self-test %v: no error", name, fault, first, test != nil)
			}
		}
		for _, fault := range []cudatest.Fault{cudatest.Nothing, cudatest.Garbage} {
			wrong(fault, 0, nil) // the results show it
			for first := 0; first < right.Launches; first += brief.Of(4, 48) {
				wrong(fault, first, SelfTest)
			}
		}
	}
}
