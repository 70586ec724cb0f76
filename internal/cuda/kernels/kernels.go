// Package kernels has the kernels that run on GPUs: a file in CUDA C++ for each computation, and the PTX that clang
// compiles it to (`make kernels`), which is built into the program, packed. The driver compiles the PTX for its GPU.
// The file device.h has the part of CUDA that kernels use, so that `make kernels` does not need NVIDIA's toolkit.
package kernels

import (
	"embed"

	"github.com/cachesim/cachesim/internal/base/packed"
)

//go:embed *.ptx.zst
var files embed.FS

// Sort returns the kernels of package cuda/sort.
func Sort() []byte { return unpack("sort") }

// Reuse returns the kernels of package cuda/reuse.
func Reuse() []byte { return unpack("reuse") }

// Sets returns the kernels of package cuda/setreplay.
func Sets() []byte { return unpack("sets") }

// Join returns the kernels of package cuda/join.
func Join() []byte { return unpack("join") }

// Attend returns the kernels of package cuda/attend.
func Attend() []byte { return unpack("attend") }

func unpack(name string) []byte {
	file, err := files.ReadFile(name + ".ptx.zst")
	if err != nil {
		panic("kernels: " + err.Error()) // a test loads all of them
	}
	return packed.Unpack(file)
}
