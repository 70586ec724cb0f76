// Package cuda runs kernels on NVIDIA GPUs. The driver is opened when it is first needed, so that programs are built
// and run without one; a Device is a GPU, or, in tests, the interpreter of package ptxrun.
package cuda
