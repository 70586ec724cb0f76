// Command speeds measures how long a person waits from a trace file to the result, here and in libCacheSim as PyPI has
// it, in runs that alternate. It writes docs/speeds.tsv, and from that the table of docs/performance.md. Where the
// package cannot be installed it says so, and measures nothing.
//
// With -slower it compares two outputs of benchmarks instead, and lists those below half of their record.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cachesim/cachesim/tools/machine"
	"github.com/cachesim/cachesim/tools/tables"
)

// absent is the exit code of a build that lacks a tool or a package.
const absent = 77

// hitsApart is by how much two hit ratios of the same policy may differ: several of its rules draw at random.
const hitsApart = 0.02

func main() {
	log.SetFlags(0)
	var m measurement
	flag.StringVar(&m.program, "program", "bin/cachesim", "our program")
	flag.StringVar(&m.driver, "driver", "tools/conformance/drivers/libcachesim", "folder whose script installs libCacheSim")
	flag.StringVar(&m.script, "script", "tools/speeds/peer.py", "what runs libCacheSim")
	flag.StringVar(&m.out, "out", "out/speeds", "folder for the traces and the package")
	flag.StringVar(&m.table, "table", "docs/speeds.tsv", "the table to write")
	flag.StringVar(&m.page, "page", "docs/performance.md", "the page to write the table into")
	flag.IntVar(&m.requests, "requests", 20_000_000, "length of the trace")
	flag.IntVar(&m.rounds, "rounds", 3, "rounds; the median counts")
	flag.StringVar(&m.only, "only", "", "measure only the rows whose name begins so; others stay as they are")
	slower := flag.Bool("slower", false, "compare two files of benchmarks: the record, and the new one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	run := m.run
	if *slower {
		run = func(context.Context) error { return listSlower(os.Stdout, flag.Args()) }
	}
	if err := run(ctx); err != nil {
		stop()
		log.Fatal("speeds: ", err)
	}
}

// measurement is one run of this command.
type measurement struct {
	program, driver, script, out, table, page, only string
	requests, rounds                                int
}

func (m *measurement) run(ctx context.Context) error {
	python, err := m.install(ctx)
	if err != nil {
		return err
	}
	if python == "" {
		return nil
	}
	var names []string
	for _, t := range tasks {
		names = append(names, t.name)
	}
	for _, t := range tasks {
		if !strings.HasPrefix(t.name, m.only) {
			continue
		}
		file, err := m.trace(ctx, t.file)
		if err != nil {
			return err
		}
		row, err := m.pair(ctx, t, file, python)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		log.Print(strings.Join(row, "  "))
		if err := tables.SetRow(m.table, columns, row, names); err != nil {
			return err
		}
	}
	return writePage(m.table, m.page)
}

// install returns the Python that has the package; none where it cannot be installed.
func (m *measurement) install(ctx context.Context) (python string, err error) {
	out, err := filepath.Abs(filepath.Join(m.out, "libcachesim"))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "./build", out)
	build.Dir = m.driver
	text, err := build.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == absent {
		log.Printf("skipped: libCacheSim's package cannot be installed: %s", strings.TrimSpace(string(text)))
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("%s/build: %w\n%s", m.driver, err, text)
	}
	return filepath.Join(out, "venv", "bin", "python"), nil
}

// trace returns the path of a trace with this ending; it is generated unless it is there.
func (m *measurement) trace(ctx context.Context, ending string) (string, error) {
	path := filepath.Join(m.out, fmt.Sprintf("zipf-%d%s", m.requests, ending))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	text, err := exec.CommandContext(ctx, m.program, "gen", "zipf", "-n", strconv.Itoa(m.requests), "--objects", "1000000",
		"--alpha", "1.0", "-o", path).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s gen: %w\n%s", m.program, err, text)
	}
	return path, nil
}

// pair measures one task in both programs, which take turns, and returns its row.
func (m *measurement) pair(ctx context.Context, t task, file, python string) ([]string, error) {
	ours := []string{m.program, "run", file, "--policy", t.ours, "--capacity", t.capacities, "--format", "json", "--quiet"}
	peer := []string{python, m.script, file, t.peer, t.capacities}
	var taken, peerTaken []run
	for range m.rounds {
		our, err := measure(ctx, ours, ourRatios)
		if err != nil {
			return nil, err
		}
		its, err := measure(ctx, peer, peerRatios)
		if err != nil {
			return nil, err
		}
		taken, peerTaken = append(taken, our), append(peerTaken, its)
	}
	our, its := medians(taken), medians(peerTaken)
	if len(our.ratios) != len(its.ratios) {
		return nil, fmt.Errorf("%d hit ratios of ours, %d of libCacheSim's", len(our.ratios), len(its.ratios))
	}
	for i, ratio := range our.ratios {
		if d := ratio - its.ratios[i]; d > hitsApart || d < -hitsApart {
			return nil, fmt.Errorf("the hit ratios are %.4f here, %.4f there: want the same policy in both", ratio, its.ratios[i])
		}
	}
	row := []string{t.name}
	for _, r := range []run{our, its} {
		row = append(row, seconds(r.wall), seconds(r.cpu), strconv.FormatInt(r.memory>>20, 10))
	}
	return append(row, fmt.Sprintf("%.4f", our.ratios[0]), fmt.Sprintf("%.4f", its.ratios[0]),
		time.Now().Format(time.DateOnly), machine.Name()), nil
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) }
