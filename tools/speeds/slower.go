package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/perf/benchfmt"
)

// listSlower prints the benchmarks of the second file whose median time is more than twice that of the first.
func listSlower(w io.Writer, files []string) error {
	if len(files) != 2 {
		return fmt.Errorf("%d files, want two: the record, and the new one", len(files))
	}
	record, err := timesOf(files[0])
	if err != nil {
		return err
	}
	fresh, err := timesOf(files[1])
	if err != nil {
		return err
	}
	slow := 0
	for _, name := range fresh.names {
		before, ok := record.of[name]
		if now := median(fresh.of[name]); ok && now > 2*median(before) {
			fmt.Fprintf(w, "below half of the record: %s, %.3g us instead of %.3g\n", name, 1e6*now, 1e6*median(before))
			slow++
		}
	}
	fmt.Fprintf(w, "%d of %d benchmarks are below half of the record\n", slow, len(fresh.names))
	return nil
}

// timings are the seconds of the runs of each benchmark, in the order of the file.
type timings struct {
	names []string
	of    map[string][]float64
}

func timesOf(path string) (timings, error) {
	t := timings{of: map[string][]float64{}}
	file, err := os.Open(path)
	if err != nil {
		return t, err
	}
	defer file.Close()
	for reader := benchfmt.NewReader(file, path); reader.Scan(); {
		result, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			continue // a line that is none
		}
		name := result.GetConfig("pkg") + " " + result.Name.String()
		seconds, ok := result.Value("sec/op")
		if !ok {
			continue
		}
		if t.of[name] == nil {
			t.names = append(t.names, name)
		}
		t.of[name] = append(t.of[name], seconds)
	}
	if len(t.names) == 0 {
		return t, fmt.Errorf("%s has no benchmark", path)
	}
	return t, nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
