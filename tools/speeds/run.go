package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// run is what one run of a program took, and the hit ratios that it printed.
type run struct {
	wall, cpu time.Duration
	memory    int64 // bytes
	ratios    []float64
}

// measure runs a program to its end. ratios reads what it prints.
func measure(ctx context.Context, args []string, ratios func(io.Reader) ([]float64, error)) (r run, err error) {
	var out, problem bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &problem
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return r, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, problem.Bytes())
	}
	r.wall = time.Since(begin)
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.memory = usage.Maxrss << 10 // Linux counts in KiB
	}
	if r.ratios, err = ratios(&out); err != nil {
		return r, fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return r, nil
}

// ourRatios reads hit ratios from records in JSON.
func ourRatios(out io.Reader) (ratios []float64, err error) {
	for lines := json.NewDecoder(out); ; {
		var record struct {
			HitRatio *float64 `json:"hit_ratio"`
		}
		if err := lines.Decode(&record); err == io.EOF {
			return ratios, nil
		} else if err != nil {
			return nil, err
		}
		if record.HitRatio == nil {
			return nil, errors.New("a record has no hit_ratio")
		}
		ratios = append(ratios, *record.HitRatio)
	}
}

// peerRatios reads hit ratios, one in each line.
func peerRatios(out io.Reader) (ratios []float64, err error) {
	text, err := io.ReadAll(out)
	for field := range strings.FieldsSeq(string(text)) {
		ratio, wrong := strconv.ParseFloat(field, 64)
		if wrong != nil {
			return nil, fmt.Errorf("it printed %q, want hit ratios", field)
		}
		ratios = append(ratios, ratio)
	}
	return ratios, err
}

// medians returns the median of each figure of several runs, with the hit ratios of the first.
func medians(runs []run) run {
	middle := func(of func(run) int64) int64 {
		var all []int64
		for _, r := range runs {
			all = append(all, of(r))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	return run{
		wall:   time.Duration(middle(func(r run) int64 { return int64(r.wall) })),
		cpu:    time.Duration(middle(func(r run) int64 { return int64(r.cpu) })),
		memory: middle(func(r run) int64 { return r.memory }),
		ratios: runs[0].ratios,
	}
}
