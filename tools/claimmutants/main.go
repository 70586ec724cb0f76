// Command claimmutants builds the program with faults put in on purpose, and runs the quick versions of the
// experiments that a fault concerns: one that passes has noticed nothing. It prints a line for each fault, with the
// experiments that noticed it and those that did not. The compiler gets each fault as an overlay; nothing in the tree
// changes.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/tools/experiments"
	"github.com/cachesim/cachesim/tools/tables"
)

// Exit codes of the program. A fault may let queues grow without end: out of the memory it is noticed, too.
const (
	claimFailed = 1
	outOfMemory = 3
)

// memory is several times what any quick version takes.
const memory = "4GiB"

// columns are those of the table: a fault, the experiments that notice it, and those that do not.
var columns = []string{"fault", "noticed by", "not noticed by"}

func main() {
	log.SetFlags(0)
	only := flag.String("only", "", "faults to try, separated by commas; default: all")
	of := flag.String("experiments", "", "how the names of experiments begin that are run, separated by commas; "+
		"default: all")
	table := flag.String("table", "", "a table (.tsv) that gets a row for each fault; those of other faults stay")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *only, strings.Split(*of, ","), *table); err != nil {
		stop()
		log.Fatal("claimmutants: ", err)
	}
}

func run(ctx context.Context, only string, of []string, table string) error {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "claimmutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	all := 0
	silent := []string{}
	var names []string
	for _, f := range faults {
		names = append(names, f.name)
	}
	for _, f := range chosen {
		noticed, missed, err := f.try(ctx, folder, of)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		fmt.Printf("%s: %d of %d notice: %s", f.name, len(noticed), len(noticed)+len(missed), strings.Join(noticed, " "))
		if len(missed) > 0 {
			fmt.Printf("; not %s", strings.Join(missed, " "))
		}
		fmt.Println()
		if table != "" {
			row := []string{f.name, strings.Join(noticed, " "), strings.Join(missed, " ")}
			if err := tables.SetRow(table, columns, row, names); err != nil {
				return err
			}
		}
		if all++; len(noticed) == 0 {
			silent = append(silent, f.name)
		}
	}
	fmt.Printf("%d of %d faults are noticed", all-len(silent), all)
	if len(silent) > 0 {
		fmt.Printf("; not %s", strings.Join(silent, ", "))
	}
	fmt.Println()
	return nil
}

func choose(only string) ([]fault, error) {
	if only == "" {
		return faults, nil
	}
	var chosen []fault
	for name := range strings.SplitSeq(only, ",") {
		at := slices.IndexFunc(faults, func(f fault) bool { return f.name == name })
		if at < 0 {
			return nil, fmt.Errorf("there is no fault %q", name)
		}
		chosen = append(chosen, faults[at])
	}
	return chosen, nil
}

// fault is a change of one file, which concerns some experiments: named, or all whose names begin as one says that ends
// in a dash. An empty one says all.
type fault struct {
	name        string
	experiments []string
	file        string // below the root of the module
	from, to    string // from is in the file once
}

func (f fault) concerns(experiment string) bool {
	return slices.ContainsFunc(f.experiments, func(name string) bool {
		several := name == "" || strings.HasSuffix(name, "-")
		return name == experiment || several && strings.HasPrefix(experiment, name)
	})
}

// inRecords reports whether the fault changes records alone, so that replays are those of other such faults.
func (f fault) inRecords() bool { return f.file == recordsFile }

// try builds the program with the fault, and runs those experiments that it concerns whose names begin as of says.
func (f fault) try(ctx context.Context, folder string, of []string) (noticed, missed []string, err error) {
	program, err := f.build(ctx, folder)
	if err != nil {
		return nil, nil, err
	}
	names, err := experiments.Names(ctx, program)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		begins := func(begin string) bool { return strings.HasPrefix(name, begin) }
		if !f.concerns(name) || !slices.ContainsFunc(of, begins) {
			continue
		}
		out := filepath.Join(folder, "out")
		if f.inRecords() {
			out = filepath.Join(folder, "replayed")
		}
		c := exec.CommandContext(ctx, program, "reproduce", name, "--quick", "--strict", "--quiet", "--memory", memory,
			"-o", out)
		text, err := c.CombinedOutput()
		var exit *exec.ExitError
		switch {
		case err == nil:
			missed = append(missed, name)
		case errors.As(err, &exit) && (exit.ExitCode() == claimFailed || exit.ExitCode() == outOfMemory):
			noticed = append(noticed, name)
		default:
			return nil, nil, fmt.Errorf("%s: %w\n%s", name, err, text)
		}
		if !f.inRecords() {
			if err := os.RemoveAll(out); err != nil {
				return nil, nil, err
			}
		}
	}
	if len(noticed)+len(missed) == 0 {
		return nil, nil, fmt.Errorf("there is no experiment %s", strings.Join(f.experiments, " or "))
	}
	return noticed, missed, nil
}

func (f fault) build(ctx context.Context, folder string) (program string, err error) {
	path, err := filepath.Abs(f.file)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if n := bytes.Count(text, []byte(f.from)); n != 1 {
		return "", fmt.Errorf("%s has %q %d times, want once; the fault needs another place", f.file, f.from, n)
	}
	changed, overlay := filepath.Join(folder, "changed.go"), filepath.Join(folder, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		return "", err
	}
	err = errors.Join(os.WriteFile(changed, bytes.Replace(text, []byte(f.from), []byte(f.to), 1), 0o600),
		os.WriteFile(overlay, replace, 0o600))
	if err != nil {
		return "", err
	}
	program = filepath.Join(folder, "cachesim")
	build := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", program, "./cmd/cachesim")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("it does not compile: %w\n%s", err, out)
	}
	return program, nil
}
