// Package interpreter finds a Python for tests that run programs written in it. A test without one, or without the
// modules that it needs, is skipped with a message.
package interpreter

import (
	"os/exec"
	"strings"
)

// T is what package interpreter needs of *testing.T.
type T interface {
	Helper()
	Skip(args ...any)
	Skipf(format string, args ...any)
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
