package main

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cachesim/cachesim/internal/cuda/cudatest"
)

func TestMain(m *testing.M) {
	testscript.Main(seldomCollected{m}, map[string]func(){"cachesim": program})
}

// seldomCollected runs the tests of this process, not the programs that scripts start. Hundreds of commands in one
// process keep several megabytes alive; the collector of the program would spend half of the time on them.
type seldomCollected struct{ *testing.M }

func (m seldomCollected) Run() int {
	gcPercent = 400
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

// TestScripts runs the commands as a user would: testdata/script/*.txtar, with the repository's traces in $TESTDATA.
// Set UPDATE=1 to rewrite their golden outputs.
func TestScripts(t *testing.T) {
	traces, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE") != "",
		Setup:         func(env *testscript.Env) error { return setUp(env, traces) },
	})
}

var ranBefore sync.Map // names of tests

// onlyOnce skips the repetitions that -count and -cpu ask for of a long test whose outcome depends on the tree alone,
// so that they end within the time that go test gives a package.
func onlyOnce(t *testing.T) {
	t.Helper()
	if _, ran := ranBefore.LoadOrStore(t.Name(), true); ran {
		t.Skip("ran before in this process, on the same tree")
	}
}

func setUp(env *testscript.Env, traces string) error {
	env.Setenv("TESTDATA", traces)
	env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
	return nil
}

// TestDeviceScripts runs commands with a GPU that only pretends: testdata/device/*.txtar.
func TestDeviceScripts(t *testing.T) {
	driver := cudatest.FakeDriver(t)
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/device",
		UpdateScripts: os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("LD_LIBRARY_PATH", driver)
			env.Setenv("ZIPF", "zipf(objects=100,requests=2000)")
			return setUp(env, "")
		},
	})
}
