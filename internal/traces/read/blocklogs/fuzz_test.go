package blocklogs_test

import (
	"testing"

	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// FuzzMemory reads every log of accesses to memory.
func FuzzMemory(f *testing.F) {
	tracetest.FuzzAll(f, []string{"lackey", "address", "champsim:instructions=true"},
		tracetest.ExampleOf(f, "lackey"),
		"==1==\n",
		tracetest.ExampleOf(f, "address"),
		string(instruction(0x400, 1, [2]uint64{1<<64 - 1}, [4]uint64{0x40, 0, 1 << 63})))
}
