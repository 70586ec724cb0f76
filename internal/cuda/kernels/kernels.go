// Package kernels has the kernels that run on GPUs: a file in CUDA C++ for each computation, and the PTX that clang
// compiles it to (`make kernels`), which is built into the program. The driver compiles the PTX for its GPU. The file
// device.h has the part of CUDA that kernels use, so that `make kernels` does not need NVIDIA's toolkit.
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

// Attend has the kernels of package cuda/attend.
//
//go:embed attend.ptx
var Attend []byte
