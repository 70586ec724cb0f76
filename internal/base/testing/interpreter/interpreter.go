// Package interpreter finds the programs of other languages for tests of what is written in them: Python, Node, and
// clang for WebAssembly. A test without one, or without the modules that it needs, is skipped with a message.
package interpreter

import (
	"os/exec"
	"path/filepath"
	"strings"
)

// T is what package interpreter needs of *testing.T.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
	Skip(args ...any)
	Skipf(format string, args ...any)
	TempDir() string
}

// Python returns a Python that has modules, written with commas between them. Without one it skips the test.
func Python(t T, modules string) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	if out, err := exec.Command(path, "-c", "import "+modules).CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		t.Skipf("%s: %s", path, lines[len(lines)-1])
	}
	return path
}

// Node returns a Node. Without one it skips the test.
func Node(t T) string {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	return path
}

// HasClang reports whether CompileC can work: clang is there, and wasm-ld of lld.
func HasClang() bool {
	_, clang := exec.LookPath("clang")
	_, linker := exec.LookPath("wasm-ld")
	return clang == nil && linker == nil
}

// CompileC returns the WebAssembly module that clang makes of a source, as `make wasm` does, but without warnings. It
// needs HasClang.
func CompileC(t T, source string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), ".c")+".wasm")
	out, err := exec.Command("clang", "--target=wasm32", "-Wall", "-Werror", "-O3", "-nostdlib", "-Wl,--no-entry",
		"-Wl,--strip-all", "-o", path, source).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", source, err, out)
	}
	return path
}
