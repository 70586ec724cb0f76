// Package scripts_test runs the program as users do, with scripts of commands and golden outputs. It is a package of
// its own so that these hundreds of processes have the time limit of a package for themselves.
package scripts_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cuda/cudatest"
)

// programs is the folder of the program that scripts run, flags are those with which it is built.
var (
	programs string
	flags    []string
)

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "cachesim-scripts"); err != nil {
		fmt.Fprintln(os.Stderr, "scripts:", err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(programs)
	os.Exit(code)
}

// build builds the program, once. The tests of the program are the program if they are called by its name. Unlike it,
// they interrupt themselves where a variable of the environment says so.
var build = sync.OnceValue(func() error {
	name := "cachesim"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	program := filepath.Join(programs, name)
	args := slices.Concat([]string{"test", "-c", "-ldflags=-s -w", "-o", program}, flags, []string{".."})
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("the program cannot be built: %w\n%s", err, out)
	}
	return nil
})

// lookAtSources looks at every source of the program. Go keeps the result of a test until something changes that the
// test looked at while it ran, and it does not know what the compiler reads.
func lookAtSources(t *testing.T) {
	t.Helper()
	const repository = "../../.."
	for _, root := range []string{"cmd", "internal", "configs", "examples", "go.mod", "go.sum"} {
		must.Do(t, filepath.WalkDir(filepath.Join(repository, root), func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			_, err = os.Stat(path)
			return err
		}))
	}
}

// TestScripts runs testdata/script/*.txtar, with the repository's traces in $TESTDATA. Set UPDATE=1 to rewrite their
// golden outputs.
func TestScripts(t *testing.T) {
	traces := must.Get(filepath.Abs("../../../testdata"))(t)
	runScripts(t, "testdata/script", map[string]string{"TESTDATA": traces})
}

// TestDeviceScripts runs commands with a GPU that only pretends: testdata/device/*.txtar.
func TestDeviceScripts(t *testing.T) {
	runScripts(t, "testdata/device", map[string]string{
		"LD_LIBRARY_PATH": cudatest.FakeDriver(t), "ZIPF": "zipf(objects=100,requests=2000)",
		"HEADS": "attention(layers=1,context=200,steps=5)",
	})
}

// runScripts runs the scripts of a folder with some variables in their environment.
func runScripts(t *testing.T, folder string, variables map[string]string) {
	t.Helper()
	lookAtSources(t)
	must.Do(t, build())
	sources := must.Get(filepath.Abs("../../.."))(t)
	testscript.Run(t, testscript.Params{
		Dir:           folder,
		UpdateScripts: os.Getenv("UPDATE") != "",
		Condition: func(name string) (bool, error) {
			if name != "long" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return brief.InFull() || os.Getenv("UPDATE") != "", nil
		},
		Setup: func(env *testscript.Env) error {
			for name, value := range variables {
				env.Setenv(name, value)
			}
			env.Setenv("PATH", programs+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("SOURCES", sources) // where testdata/samples is
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
			return nil
		},
	})
}
