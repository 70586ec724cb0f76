// Command verdicts runs built-in experiments in full and writes their verdicts into docs/verdicts.tsv: what each claim
// came to, when, with which commit and how long that took. Other experiments keep their verdicts. From the table it
// makes docs/verdicts.md; without names of experiments it does only that. It also runs their quick versions, and writes
// how long both took into configs/times.tsv, and what the claims of both compared into their pins.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cachesim/cachesim/tools/experiments"
	"github.com/cachesim/cachesim/tools/tables"
)

func main() {
	log.SetFlags(0)
	var r runner
	flag.StringVar(&r.program, "program", "bin/cachesim", "the program that runs the experiments")
	flag.StringVar(&r.out, "out", "out/verdicts", "folder for the results")
	flag.StringVar(&r.table, "table", "docs/verdicts.tsv", "the table to update; its page has the same name and ends in .md")
	flag.StringVar(&r.times, "times", "configs/times.tsv", "the times to update; none with -results")
	flag.StringVar(&r.pins, "pins", "configs", "folder of the pins to update; none with -results")
	flag.StringVar(&r.why, "why", "", "why pins move")
	flag.StringVar(&r.results, "results", "", "verdicts that reproduce --format json printed, instead of running it")
	flag.StringVar(&r.on, "on", time.Now().Format(time.DateOnly), "the date of the results")
	flag.StringVar(&r.commit, "commit", "", "the commit of the results; default: the current one")
	flag.DurationVar(&r.took, "took", 0, "how long the results took")
	flag.Parse()
	if r.results != "" && (flag.NArg() != 1 || r.took <= 0 || r.commit == "") {
		log.Print("verdicts: -results FILE needs one name, -commit and -took")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := r.run(ctx, flag.Args()); err != nil {
		stop()
		log.Fatal("verdicts: ", err)
	}
}

// runner runs experiments and writes table and page after each.
type runner struct {
	program, out, table string
	times               string
	pins, why           string
	results             string
	on, commit          string
	took                time.Duration
}

func (r *runner) run(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return update(r.table, func(rows []row) []row { return rows })
	}
	every, err := experiments.Names(ctx, r.program)
	if err != nil {
		return err
	}
	if slices.Equal(names, []string{"all"}) {
		names = every
	}
	if r.commit == "" {
		if r.commit, err = currentCommit(ctx); err != nil {
			return err
		}
	}
	for _, name := range names {
		if !slices.Contains(every, name) {
			return fmt.Errorf("there is no experiment %s; want one of %s", name, strings.Join(every, ", "))
		}
		judged, err := r.judge(ctx, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := update(r.table, func(rows []row) []row { return replace(rows, every, name, judged) }); err != nil {
			return err
		}
		if r.results == "" {
			if err := r.time(ctx, name, judged[0].took, every); err != nil {
				return fmt.Errorf("%s --quick: %w", name, err)
			}
		}
		log.Printf("%s: %s", name, summary(judged))
	}
	return nil
}

// judge runs an experiment and returns its rows.
func (r *runner) judge(ctx context.Context, name string) ([]row, error) {
	took := r.took
	lines, err := os.ReadFile(r.results)
	if r.results == "" {
		begin := time.Now()
		lines, _, err = output(ctx, r.program, r.reproduce(name, r.out)...)
		took = time.Since(begin)
	}
	if err != nil {
		return nil, err
	}
	return parseClaims(lines, row{experiment: name, on: r.on, commit: r.commit, took: took.Round(time.Second).String(),
		cores: strconv.Itoa(runtime.NumCPU())})
}

// reproduce returns the arguments of a run that pins what it measures.
func (r *runner) reproduce(name, out string, more ...string) []string {
	args := append([]string{"reproduce", name, "--format", "json", "--quiet", "-o", out, "--pin", r.pins}, more...)
	if r.why != "" {
		args = append(args, "--why", r.why)
	}
	return args
}

// output runs a program and returns what it prints, and the processor time that it took.
func output(ctx context.Context, program string, args ...string) ([]byte, time.Duration, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return out, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// currentCommit returns the short hash of the commit in the working directory, which must have no changes.
func currentCommit(ctx context.Context) (string, error) {
	changes, _, err := output(ctx, "git", "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return "", err
	}
	for line := range bytes.Lines(changes) {
		ours := func(file string) bool { return bytes.Contains(line, []byte(file)) }
		if !slices.ContainsFunc([]string{"docs/verdicts.", "configs/times.tsv", ".pins.tsv"}, ours) {
			return "", errors.New("there are uncommitted changes: commit them, so that the verdicts can name a commit")
		}
	}
	hash, _, err := output(ctx, "git", "rev-parse", "--short=8", "HEAD")
	return strings.TrimSpace(string(hash)), err
}

// update changes the rows of the table and writes its page.
func update(table string, change func([]row) []row) error {
	rows, err := readTable(table)
	if err != nil {
		return err
	}
	rows = change(rows)
	if err := writeTable(table, rows); err != nil {
		return err
	}
	return tables.Replace(strings.TrimSuffix(table, ".tsv")+".md", []byte(page(rows)))
}
