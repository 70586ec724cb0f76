package compile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// TestChangesAreFound changes a kernel and what it includes, and takes its PTX away.
func TestChangesAreFound(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	const kernel = "#include \"a.h\"\nextern \"C\" __attribute__((global)) void k(int *p) { *p = ONE; }\n"
	source := filepath.Join(dir, "k.cu")
	write("k.cu", kernel)
	write("a.h", "#include \"b.h\"\n")
	write("b.h", "#define ONE 1\n")
	_, sum := must.Get2(digest(source, dir))(t)
	check := func(want string) {
		t.Helper()
		err := compiled(source, dir, false)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	check("run make kernels")
	flags, _, _ := digest(source, dir)
	header := "// clang-16 " + strings.Join(flags, " ") + "\n// SHA-256 of the sources: " + sum + "\n"
	const below = "// clang\n.version 7.0\n"
	write("k.ptx", header+below)
	check("run make kernels")
	own := "// SHA-256 of the lines below: " + hashOf([]byte(below)) + "\n"
	write("k.ptx", header+own+strings.Replace(below, "7.0", "7.1", 1))
	check("k.ptx has other lines than were compiled")
	write("k.ptx", header+own+below)
	check("")
	write("b.h", "#define ONE 2\n")
	check("run make kernels")
	write("b.h", "#define ONE 1\n")
	check("")
	write("k.cu", kernel+"// Target: sm_80\n")
	check("run make kernels")
	write("k.cu", kernel)
	must.Do(t, os.Remove(filepath.Join(dir, "b.h")))
	check("b.h")
}

// TestWrongRotation has the compiler make the PTX that it makes wrongly.
func TestWrongRotation(t *testing.T) {
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skip("no " + compiler + ", which this test needs")
	}
	source := filepath.Join(t.TempDir(), "k.cu")
	const kernel = "#include \"device.h\"\nKERNEL k(uint64_t *p) { p[0] = p[0] << (p[1] & 63) | p[0] >> (-p[1] & 63); }\n"
	must.Do(t, os.WriteFile(source, []byte(kernel), 0o644))
	must.Fail(t, compiled(source, headers, true), "rotations of 64 bits")
}
