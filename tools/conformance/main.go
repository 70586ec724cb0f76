// Command conformance runs other programs on the same requests as ours, through their own interfaces, and compares
// counts at every point, a trace and a capacity. It writes docs/conformance.tsv and from that docs/conformance.md.
// README.md says what a driver of a program is, and what it is expected to find. Programs that cannot be installed here
// are skipped with a message, and keep their rows.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cachesim/cachesim/tools/tables"
)

func main() {
	log.SetFlags(0)
	var r runner
	flag.StringVar(&r.program, "program", "bin/cachesim", "our program")
	flag.StringVar(&r.drivers, "drivers", "tools/conformance/drivers", "folder of the drivers")
	flag.StringVar(&r.out, "out", "out/conformance", "folder for what is built, and for the traces")
	flag.StringVar(&r.table, "table", "docs/conformance.tsv", "the table to update; its page has the same name and ends in .md")
	flag.StringVar(&r.shared, "traces", os.Getenv("CACHESIM_TRACES"), "folder of the real traces; without, only generated ones")
	flag.StringVar(&r.only, "policies", "", "compare only rows whose policy of ours begins so, and write nothing")
	flag.StringVar(&r.on, "on", time.Now().Format(time.DateOnly), "the date of the results")
	flag.BoolVar(&r.brief, "brief", false, "compare a few points on generated traces, and write nothing")
	flag.BoolVar(&r.verbose, "verbose", false, "print every point that differs")
	onlyPage := flag.Bool("page", false, "run nothing, and write the page of the table")
	flag.Parse()
	if *onlyPage {
		if err := writePage(r.table); err != nil {
			log.Fatal("conformance: ", err)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := r.run(ctx, flag.Args()); err != nil {
		stop()
		log.Fatal("conformance: ", err)
	}
}

// runner compares the programs of drivers.
type runner struct {
	program, drivers, out, table, shared string
	only, on                             string
	brief, verbose                       bool
}

// run compares what the drivers of these names, or all, run. The page is written even if rows are not as expected.
func (r *runner) run(ctx context.Context, names []string) error {
	every, err := driverNames(r.drivers)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names = every
	}
	for _, name := range names {
		if !slices.Contains(every, name) {
			return fmt.Errorf("there is no driver %s; want one of %s", name, strings.Join(every, ", "))
		}
	}
	traces := newTraces(r)
	var unexpected []string
	for _, name := range names {
		rows, err := readPoints(filepath.Join(r.drivers, name, "points.tsv"))
		if err != nil {
			return err
		}
		rows = slices.DeleteFunc(rows, func(p pair) bool { return !strings.HasPrefix(p.ours, r.only) })
		if len(rows) == 0 {
			continue
		}
		program, err := build(ctx, filepath.Join(r.drivers, name), filepath.Join(r.out, name), r.brief)
		if skipped := (*absentError)(nil); errors.As(err, &skipped) {
			log.Printf("%s: skipped: %s", name, skipped.why)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		results, err := r.compare(ctx, program, rows, traces)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, of := range results {
			log.Print(of.line())
			if bad := of.unexpected(r.brief); bad != "" {
				unexpected = append(unexpected, of.line()+": "+bad)
			}
		}
		if !r.brief && r.only == "" {
			if err := update(r.table, name, every, results); err != nil {
				return err
			}
		}
	}
	if len(unexpected) > 0 {
		return fmt.Errorf("%d rows are not what their tables expect:\n%s", len(unexpected), strings.Join(unexpected, "\n"))
	}
	return nil
}

// driverNames returns the folders of drivers.
func driverNames(folder string) (names []string, err error) {
	tables, err := filepath.Glob(filepath.Join(folder, "*", "points.tsv"))
	for _, table := range tables {
		names = append(names, filepath.Base(filepath.Dir(table)))
	}
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("no folder of %s has a file points.tsv", folder)
	}
	return names, err
}

// update replaces the rows of a driver in the table, and writes the page. Rows of drivers that are no more are removed.
func update(table, name string, every []string, results []result) error {
	old, err := tables.Read(table, columns)
	if err != nil {
		return err
	}
	var lines [][]string
	for _, driver := range every {
		if driver == name {
			for _, of := range results {
				lines = append(lines, of.fields(name))
			}
			continue
		}
		for _, line := range old {
			if line[0] == driver {
				lines = append(lines, line)
			}
		}
	}
	if err := tables.Write(table, columns, lines); err != nil {
		return err
	}
	return writePage(table)
}

// writePage makes the page from the table.
func writePage(table string) error {
	lines, err := tables.Read(table, columns)
	if err != nil {
		return err
	}
	return tables.Replace(strings.TrimSuffix(table, ".tsv")+".md", []byte(page(lines)))
}
