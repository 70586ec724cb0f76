package commands

import (
	"os"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(seldomCollected{m}, map[string]func(){"cachesim": program})
}

// seldomCollected runs the tests of this process, not the programs that scripts start. Hundreds of commands in one
// process keep several megabytes alive; the collector of the program would spend half of the time on them.
type seldomCollected struct{ *testing.M }

func (m seldomCollected) Run() int {
	keepHeap = func() { debug.SetGCPercent(400) }
	return m.M.Run()
}

// began is called when the program begins as a process of its own, ended when it ends.
var began, ended = func() {}, func() {}

// program is main of the program as a process of its own.
func program() {
	began()
	code := run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	ended()
	os.Exit(code)
}

var ranBefore sync.Map // names of tests

// onlyOnce skips repetitions by -count and -cpu of a long test whose outcome depends on the tree alone, so that they
// end within the time that go test gives a package.
func onlyOnce(t *testing.T) {
	t.Helper()
	if _, ran := ranBefore.LoadOrStore(t.Name(), true); ran {
		t.Skip("ran before in this process, on the same tree")
	}
}
