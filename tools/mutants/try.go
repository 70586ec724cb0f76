package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// suite is the tests of a package, and how long they may run.
type suite struct {
	pack  pack
	limit time.Duration
}

// coverage has the pieces of each file that are counted, and whether tests run them.
type coverage struct {
	pieces  map[string][]piece
	unknown bool // some tests are not linked with the package: what they run in other programs is not counted
}

type piece struct {
	fromLine, fromCol, toLine, toCol int
	run                              bool
}

// has reports whether tests may reach a mutant: nothing counts the conditions of a switch.
func (c coverage) has(m mutant) bool {
	counted := false
	for _, p := range c.pieces[path.Join(m.pack, filepath.Base(m.file))] {
		begun := p.fromLine < m.line || p.fromLine == m.line && p.fromCol <= m.col
		if begun && (m.line < p.toLine || m.line == p.toLine && m.col < p.toCol) {
			if p.run {
				return true
			}
			counted = true
		}
	}
	return c.unknown || !counted
}

// read adds the profile of one package's tests.
func (c *coverage) read(file string) error {
	profile, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	counted := false
	for line := range strings.Lines(string(profile)) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), ".go:")
		if !ok {
			continue // the mode, in the first line
		}
		var p piece
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d", &p.fromLine, &p.fromCol, &p.toLine, &p.toCol); err != nil {
			return fmt.Errorf("%s: line %q: %w", file, line, err)
		}
		p.run = !strings.HasSuffix(rest, " 0")
		c.pieces[name+".go"] = append(c.pieces[name+".go"], p)
		counted = true
	}
	c.unknown = c.unknown || !counted
	return nil
}

// suites runs the tests once without a change. They must pass.
func (r *runner) suites(ctx context.Context, p pack, testing []pack) (suites []suite, reached coverage, err error) {
	reached.pieces = map[string][]piece{}
	program, profile := filepath.Join(r.folder, "unchanged"), filepath.Join(r.folder, "profile")
	for _, tested := range testing {
		if err := r.build(ctx, tested, program, "-cover", "-coverpkg="+p.ImportPath); err != nil {
			return nil, reached, err
		}
		start := time.Now()
		if out, err := r.test(ctx, tested, program, os.Environ(), "-test.coverprofile="+profile); err != nil {
			return nil, reached, fmt.Errorf("the tests of %s fail without any change: %w\n%s", tested.ImportPath, err, out)
		}
		suites = append(suites, suite{tested, max(r.least, 5*time.Since(start))})
		if err := reached.read(profile); err != nil {
			return nil, reached, err
		}
	}
	return suites, reached, nil
}

// build compiles the tests of a package.
func (r *runner) build(ctx context.Context, p pack, program string, flags ...string) error {
	args := append([]string{"test", "-c", "-o", program}, flags...)
	_, err := output(exec.CommandContext(ctx, "go", append(args, p.ImportPath)...))
	return err
}

// test runs compiled tests until the first fails. A mutant may ask for memory without end. Tests that build programs
// build them with the change, too: the go command reads the flags in environ.
func (r *runner) test(ctx context.Context, p pack, program string, environ []string, flags ...string) ([]byte, error) {
	limited := fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, r.memory)
	args := append([]string{"-c", limited, program, "-test.failfast", "-test.timeout=0"}, r.flags...)
	c := exec.CommandContext(ctx, "sh", append(args, flags...)...)
	c.Dir, c.WaitDelay, c.Env = p.Dir, time.Second, environ
	return c.CombinedOutput()
}

// tryAll calls done with each mutant and its outcome, in their order, until the context ends.
func (r *runner) tryAll(ctx context.Context, mutants []mutant, suites []suite, done func(mutant, outcome)) {
	found := make([]chan outcome, len(mutants))
	for i := range found {
		found[i] = make(chan outcome, 1)
	}
	var workers sync.WaitGroup
	next := make(chan int)
	for worker := range r.workers {
		workers.Go(func() {
			for i := range next {
				found[i] <- r.try(ctx, mutants[i], suites, filepath.Join(r.folder, strconv.Itoa(worker)))
			}
		})
	}
	go func() {
		for i := range mutants {
			next <- i
		}
		close(next)
	}()
	for i, m := range mutants {
		if o := <-found[i]; ctx.Err() == nil {
			done(m, o)
		}
	}
	workers.Wait()
}

// try runs the tests with a mutant until one fails.
func (r *runner) try(ctx context.Context, m mutant, suites []suite, base string) outcome {
	if ctx.Err() != nil {
		return uncompiled
	}
	changed, overlay, program := base+".go", base+".json", base+".test"
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{m.file: changed}})
	err = errors.Join(err, os.WriteFile(changed, m.changed(), 0o600), os.WriteFile(overlay, replace, 0o600))
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		return uncompiled
	}
	environ := append(os.Environ(), fmt.Sprintf("GOFLAGS=%s -overlay=%s", r.goFlags, overlay))
	for _, s := range suites {
		if r.build(ctx, s.pack, program, "-overlay", overlay) != nil {
			return uncompiled
		}
		limited, cancel := context.WithTimeout(ctx, s.limit)
		_, err := r.test(limited, s.pack, program, environ)
		late := limited.Err() != nil
		cancel()
		if late {
			return endless
		} else if err != nil {
			return killed
		}
	}
	return survived
}
