// Package kernels has what runs on GPUs: a file in CUDA C++ for each computation, and beside it the PTX that clang made
// of it (`make kernels`), which is built into the program. The driver compiles it for the GPU that it finds. The file
// device.h has the part of CUDA that kernels use, so that nobody needs NVIDIA's toolkit.
package kernels

import _ "embed"

// Sort has the kernels of package cuda/sort.
//
//go:embed sort.ptx
var Sort []byte

// Reuse has the kernels of package cuda/reuse.
//
//go:embed reuse.ptx
var Reuse []byte

// Sets has the kernels of package cuda/setreplay.
//
//go:embed sets.ptx
var Sets []byte

// Join has the kernels of package cuda/join.
//
//go:embed join.ptx
var Join []byte
