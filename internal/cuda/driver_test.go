//go:build cgo && linux

package cuda_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest"
)

// childEnv makes TestInFakeDriver use the driver that LD_LIBRARY_PATH leads to. A process opens a library once, and
// reads that variable when it starts.
const childEnv = "CACHESIM_TEST_FAKE_DRIVER"

// fillPTX has the kernel that the fake driver knows, and one that it does not.
const fillPTX = ".version 7.0\n.target sm_70\n.visible .entry fill(\n)\n{\n}\n.visible .entry other(\n)\n{\n}\n"

// in returns the output of TestInFakeDriver in a process of its own, under the driver in a folder.
func in(t *testing.T, folder, faults string, actions ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestInFakeDriver$", "-test.v")
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+folder, "FAKE_CUDA="+faults,
		childEnv+"="+strings.Join(actions, " "))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("FAKE_CUDA=%s: %v\n%s", faults, err, out)
	}
	return string(out)
}

// TestInFakeDriver does what the environment says and prints what happens.
func TestInFakeDriver(t *testing.T) {
	actions := strings.Fields(os.Getenv(childEnv))
	if len(actions) == 0 {
		t.Skip("run by the other tests of the driver")
	}
	choice, err := cuda.ParseChoice(actions[0])
	must.Do(t, err)
	shared, note, err := choice.Open()
	if err != nil || shared == nil {
		fmt.Println("note:", note, "error:", err)
		return
	}
	fmt.Println("note:", note)
	err = shared.Do(t.Context(), func(d cuda.Device) error { return act(d, actions[1:]) })
	fmt.Println("error:", err)
	if failed := new(cuda.Error); errors.As(err, &failed) {
		again := shared.Do(t.Context(), func(d cuda.Device) error {
			_, _ = d.Load([]byte("nothing that compiles"))
			return d.Sync()
		})
		fmt.Println("again:", again)
	}
	if err := shared.Close(); err != nil {
		fmt.Println("closing:", err)
	}
	err = shared.Do(t.Context(), func(d cuda.Device) error { return d.Sync() })
	fmt.Println("closed:", err)
}

// act does what the words say: fill with the kernel, and so on.
func act(d cuda.Device, words []string) error {
	scope := cuda.NewScope(d)
	defer scope.Close()
	for _, word := range words {
		var err error
		switch word {
		case "fill":
			err = fill(scope)
		case "parallel":
			err = inParallel(d)
		case "other":
			err = launch(d, "other", cuda.Grid{Blocks: 1, Threads: 32})
		case "missing":
			err = launch(d, "missing", cuda.Grid{Blocks: 1, Threads: 32})
		case "huge":
			_, err = scope.Alloc(1 << 40)
		case "outside":
			var p cuda.Pointer
			if p, err = scope.Alloc(100); err == nil {
				err = d.Write(p+1, make([]byte, 100))
			}
		case "describe":
			free, total, failed := d.Memory()
			c := d.Capability()
			fmt.Println(d.Name(), c.Major, c.Minor, d.Processors(), free, total)
			err = failed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func launch(d cuda.Device, kernel string, grid cuda.Grid, arguments ...any) error {
	m, err := d.Load([]byte(fillPTX))
	if err != nil {
		return err
	}
	return m.Launch(kernel, grid, arguments...)
}

// fill lets the kernel fill memory and checks what comes back.
func fill(d *cuda.Scope) error {
	at, err := cuda.Upload(d, []uint32{1, 2, 3, 4, 5, 6})
	if err != nil {
		return err
	}
	if err := d.Fill(at, 9, 24); err != nil {
		return err
	}
	err = launch(d, "fill", cuda.Grid{Blocks: 2, Threads: 64}, 2.5, uint32(4), at+4, int32(3))
	if err != nil {
		return err
	}
	got := make([]uint32, 6)
	if err := cuda.Download(d, got, at); err != nil {
		return err
	}
	if want := []uint32{0x09090909, 10, 10, 10, 0x09090909, 0x09090909}; !slices.Equal(got, want) {
		return fmt.Errorf("%x, want %x", got, want)
	}
	fmt.Println("filled")
	return nil
}

// inParallel calls the driver from many goroutines, which are on many threads.
func inParallel(d cuda.Device) error {
	errs := make([]error, 8)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			at, err := d.Alloc(1000)
			if err == nil {
				err = errors.Join(d.Fill(at, byte(i), 1000), d.Free(at))
			}
			errs[i] = err
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func TestDriver(t *testing.T) {
	folder := cudatest.FakeDriver(t)
	const advice = "use --device cpu, which gives the same results"
	for _, test := range []struct {
		faults, actions string
		want            []string
	}{
		{"", "cuda describe fill parallel fill", []string{"Fake GPU 8 0 4 1073741824 1073741824\n", "filled\n",
			"error: <nil>\n", "closed: waiting for the GPU: the device is closed"}},
		{"", "auto fill", []string{"note: --device auto: Fake GPU (cuda:0)\n", "filled\n"}},
		{"devices=3", "cuda:2 describe fill", []string{"Fake GPU 2 8 0", "filled\n"}},
		{"devices=3", "cuda:3", []string{"--device cuda:3: there is no such GPU; the driver shows 3"}},
		{"none", "cuda", []string{"--device cuda: the NVIDIA driver finds no GPU; see nvidia-smi"}},
		{"none", "auto", []string{"note: --device auto: the CPU, because the NVIDIA driver finds no GPU error: <nil>"}},
		{"devices=0", "cuda", []string{"the NVIDIA driver finds no GPU"}},
		{"devices=2147483648", "cuda", []string{"--device cuda: the NVIDIA driver reports 2147483648 GPUs, where 1 to 1024 " +
			"can be; see whether nvidia-smi works"}},
		{"devices=100000000", "auto", []string{"note: --device auto: the CPU, because the NVIDIA driver reports 100000000 " +
			"GPUs, where 1 to 1024 can be error: <nil>"}},
		{"major=-8", "cuda", []string{"the NVIDIA driver reports that GPU 0 has 1073741824 bytes of memory, 4 " +
			"multiprocessors and compute capability -8.0, which no GPU has"}},
		{"memory=-1", "cuda", []string{"reports that GPU 0 has 18446744073709551615 bytes of memory"}},
		{"version=10020", "cuda", []string{"--device cuda: the NVIDIA driver supports CUDA 10.2, but kernels need 11.0, " +
			"which drivers have from version 450 on; install NVIDIA's newest driver, or " + advice}},
		{"version=10020", "auto", []string{"the CPU, because the NVIDIA driver supports CUDA 10.2"}},
		{"major=6", "cuda", []string{"--device cuda: Fake GPU has compute capability 6.0, but kernels need 7.0; choose"}},
		{"major=6", "auto", []string{"the CPU, because Fake GPU has compute capability 6.0, but kernels need 7.0 error"}},
		{"init=803", "cuda", []string{"starting the NVIDIA driver: system has unsupported display driver / cuda driver " +
			"combination (CUDA_ERROR_SYSTEM_DRIVER_MISMATCH); install"}},
		{"init=12345", "cuda", []string{"starting the NVIDIA driver: no explanation (an error that the driver does not " +
			"name); nvidia-smi"}},
		{"ptx", "cuda fill", []string{"error: compiling kernels for the GPU: a PTX JIT compilation failed " +
			"(CUDA_ERROR_INVALID_PTX): ptxas fatal : line 1; fake error; install", "again: <nil>"}},
		{"ptx=2", "cuda fill fill", []string{"filled\nfilled\n", "error: <nil>"}}, // compiled once
		{"", "cuda missing", []string{"error: finding kernel missing: named symbol not found (CUDA_ERROR_NOT_FOUND)"}},
		{"", "cuda other", []string{"error: launching kernel other: operation not supported"}},
		{"memory=5000000", "cuda huge", []string{"error: allocating 1024.0 GiB on the GPU: out of " +
			"memory (CUDA_ERROR_OUT_OF_MEMORY): 4.8 MiB of 4.8 MiB are free; end other programs on the GPU, or " + advice,
			"again: <nil>"}},
		{"alloc=2", "cuda fill fill", []string{"filled\n", "error: allocating 24 bytes on the GPU: out of memory"}},
		{"", "cuda outside", []string{"error: copying 100 bytes to the GPU: invalid argument"}},
		{"launch=2", "cuda fill fill", []string{"filled\n", "error: launching kernel fill: invalid argument",
			"again: <nil>"}},
		{"crash=2", "cuda fill fill", []string{"filled\n", "error: copying 24 bytes from the GPU: an illegal memory access " +
			"was encountered (CUDA_ERROR_ILLEGAL_ADDRESS): the last kernel was fill; this is an error of cachesim: please",
			"again: copying 24 bytes from the GPU: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS): " +
				"the last kernel was fill", "closed: waiting for the GPU: the device is"}},
		{"lost=4", "cuda fill", []string{"uncorrectable ECC error encountered (CUDA_ERROR_ECC_UNCORRECTABLE); nvidia-smi",
			"again: "}},
	} {
		out := in(t, folder, test.faults, strings.Fields(test.actions)...)
		for _, want := range test.want {
			if !strings.Contains(out, want) {
				t.Errorf("FAKE_CUDA=%s, %s: output\n%s, want %q", test.faults, test.actions, out, want)
			}
		}
		if strings.Contains(out, "closing:") || strings.Contains(out, "invalid device context") {
			t.Errorf("FAKE_CUDA=%s, %s: output\n%s", test.faults, test.actions, out)
		}
	}
}

// A library that is no driver, or an old one, is named with what it lacks.
func TestLibraryWithoutFunction(t *testing.T) {
	folder := cudatest.FakeDriver(t, "WITHOUT_TEXTS")
	out := in(t, folder, "", "cuda")
	if want := "libcuda.so.1 is not a driver for CUDA 11.0, which drivers have from version 450 on: it lacks " +
		"cuGetErrorString; install"; !strings.Contains(out, want) {
		t.Errorf("output\n%s, want %q", out, want)
	}
	must.Do(t, os.WriteFile(folder+"/libcuda.so.1", []byte("no library"), 0o644))
	out = in(t, folder, "", "auto")
	if want := "the CPU, because there is no NVIDIA driver: "; !strings.Contains(out, want) {
		t.Errorf("output\n%s, want %q", out, want)
	}
}
