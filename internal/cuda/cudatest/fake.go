// Package cudatest has devices for tests: the interpreter of kernels, GPUs, and a driver that only pretends. Tests of
// packages with kernels call Main as their TestMain and take the device of the round from Device; benchmarks take a GPU
// from GPU.
package cudatest

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cachesim/cachesim/internal/cuda"
)

// fake is the source of a library with the interface of NVIDIA's driver; the environment variable FAKE_CUDA names the
// faults that it shows.
//
//go:embed testdata/fake.c
var fake []byte

// FakeDriver compiles a library that processes open as NVIDIA's driver, and returns its folder, which must be their
// LD_LIBRARY_PATH. Defines are macros for its compiler. Without a C compiler the test is skipped.
func FakeDriver(t testing.TB, defines ...string) (folder string) {
	t.Helper()
	compiler, err := exec.LookPath("gcc")
	if err != nil || !cuda.Supported {
		t.Skip("the driver's interface is tested on Linux, with cgo and gcc, which are not all here")
	}
	folder = t.TempDir()
	source := filepath.Join(folder, "fake.c")
	if err := os.WriteFile(source, fake, 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"-shared", "-fPIC", "-O1", "-o", filepath.Join(folder, "libcuda.so.1"), source}
	for _, d := range defines {
		args = append(args, "-D"+d)
	}
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("compiling the fake driver: %v\n%s", err, out)
	}
	return folder
}
