// Command mutants changes one operator, one loop statement or one call at a time in the packages that it is given, and
// runs their tests: a change that no test notices is printed. It reads the packages of the module in the working
// directory and writes nothing there: the compiler gets each change as an overlay.
//
// Unlike gremlins v0.6.0 it tells changes that do not compile from those that tests notice, and its time limit is for
// the tests alone and not for the compiler.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	var r runner
	flag.IntVar(&r.sample, "sample", 0, "how many mutants of each package are tried, drawn at random; 0 for all")
	flag.Uint64Var(&r.seed, "seed", 1, "of what is drawn")
	flag.IntVar(&r.workers, "workers", runtime.GOMAXPROCS(0), "how many mutants are tried at a time")
	flag.DurationVar(&r.least, "limit", 20*time.Second, "how long the tests of a package may run for a mutant; five "+
		"times as long as without one, if that is longer")
	flag.IntVar(&r.memory, "memory", 4<<20, "addresses that the tests may use, in KiB")
	tests := flag.String("tests", "", "further packages whose tests are run, separated by spaces")
	flags := flag.String("flags", "", "flags of the test programs, such as -test.short")
	flag.Parse()
	r.tests, r.flags = strings.Fields(*tests), strings.Fields(*flags)
	if flag.NArg() == 0 || r.sample < 0 || r.workers < 1 || r.memory < 1 || r.least <= 0 {
		log.Print("mutants: want packages such as ./internal/records, and flags above 0 (-sample: 0 or more)")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := r.run(ctx, flag.Args()); err != nil {
		stop()
		log.Fatal("mutants: ", err)
	}
}

// runner tries the mutants of packages.
type runner struct {
	sample, workers, memory int
	seed                    uint64
	least                   time.Duration
	tests, flags            []string
	goFlags                 string // GOFLAGS of the user, to which tests add the change
	folder                  string // for programs and changed files
}

func (r *runner) run(ctx context.Context, patterns []string) (err error) {
	if r.folder, err = os.MkdirTemp("", "mutants"); err != nil {
		return err
	}
	defer os.RemoveAll(r.folder)
	goFlags, err := output(exec.CommandContext(ctx, "go", "env", "GOFLAGS"))
	if err != nil {
		return err
	}
	r.goFlags = strings.TrimSpace(string(goFlags))
	packages, err := list(ctx, patterns)
	if err != nil {
		return err
	}
	further, err := list(ctx, r.tests)
	if err != nil {
		return err
	}
	var total tally
	for _, p := range packages {
		t, err := r.mutate(ctx, p, further)
		if err != nil {
			return fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		fmt.Printf("%s: %s\n", p.ImportPath, t)
		total.add(t)
	}
	if len(packages) > 1 {
		fmt.Printf("all: %s\n", total)
	}
	return nil
}

// mutate tries the mutants of a package with its tests and those of further packages.
func (r *runner) mutate(ctx context.Context, p pack, further []pack) (t tally, err error) {
	testing := slices.DeleteFunc(append([]pack{p}, further...), func(p pack) bool { return !p.tested() })
	if len(testing) == 0 {
		fmt.Printf("%s: it has no tests of its own; name packages that test it with -tests\n", p.ImportPath)
		return t, nil
	}
	suites, reached, err := r.suites(ctx, p, testing)
	if err != nil {
		return t, err
	}
	mutants, err := p.mutants()
	if err != nil {
		return t, err
	}
	all := len(mutants)
	mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return !reached.has(m) })
	t[unreached] = all - len(mutants)
	mutants = r.drawn(mutants)
	r.tryAll(ctx, mutants, suites, func(m mutant, o outcome) {
		t[o]++
		if o == survived {
			fmt.Println(m)
		}
	})
	return t, ctx.Err()
}

// drawn returns a sample, in the order of the source.
func (r *runner) drawn(mutants []mutant) []mutant {
	if r.sample == 0 || r.sample >= len(mutants) {
		return mutants
	}
	places := rand.New(rand.NewPCG(r.seed, 0)).Perm(len(mutants))[:r.sample]
	slices.Sort(places)
	var drawn []mutant
	for _, at := range places {
		drawn = append(drawn, mutants[at])
	}
	return drawn
}

type outcome int

const (
	killed outcome = iota
	endless
	survived
	uncompiled
	unreached
	outcomes
)

type tally [outcomes]int

func (t *tally) add(other tally) {
	for i, n := range other {
		t[i] += n
	}
}

func (t tally) String() string {
	dead := t[killed] + t[endless]
	share := "none tried"
	if tried := dead + t[survived]; tried > 0 {
		share = fmt.Sprintf("%d of %d killed (%.1f%%)", dead, tried, 100*float64(dead)/float64(tried))
	}
	return fmt.Sprintf("%s, %d of them by the time limit; %d do not compile; no test reaches %d", share, t[endless],
		t[uncompiled], t[unreached])
}
