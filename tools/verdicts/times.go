package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// timeColumns is the first line of times.tsv. Package configs reads the file for the list of experiments.
const timeColumns = "experiment\tfull, clock s\tquick, processor s\tmachine"

// time runs the quick version of an experiment, and writes its processor time beside what the whole one took. The clock
// would measure what else the machine does in the seconds of a quick version.
func (r *runner) time(ctx context.Context, name, full string, every []string) error {
	took, err := time.ParseDuration(full)
	if err != nil {
		return err
	}
	_, quick, err := output(ctx, r.program, r.reproduce(name, filepath.Join(r.out, "quick"), "--quick")...)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(r.times)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	cpu, _ := os.ReadFile("/proc/cpuinfo") // elsewhere: the architecture
	line := fmt.Sprintf("%s\t%.0f\t%.1f\t%s", name, took.Seconds(), max(quick.Seconds(), 0.1), machine(cpu))
	return replaceFile(r.times, replaceTime(text, line, every))
}

// replaceTime returns the table with a line for one of the experiments, in their order.
func replaceTime(table []byte, line string, every []string) []byte {
	lines := map[string]string{}
	for old := range strings.Lines(string(table) + line + "\n") {
		name, _, _ := strings.Cut(old, "\t")
		lines[name] = old
	}
	var changed bytes.Buffer
	changed.WriteString(timeColumns + "\n")
	for _, name := range every {
		changed.WriteString(lines[name])
	}
	return changed.Bytes()
}

// machine names this one by its cores and its processor, as the text of /proc/cpuinfo has it.
func machine(cpuinfo []byte) string {
	processor := runtime.GOARCH
	fields := strings.Split(string(cpuinfo), "\n")
	if i := slices.IndexFunc(fields, func(f string) bool { return strings.HasPrefix(f, "model name") }); i >= 0 {
		_, processor, _ = strings.Cut(fields[i], ":")
	}
	return fmt.Sprintf("%d cores, %s", runtime.NumCPU(), strings.Join(strings.Fields(processor), " "))
}
