package workload

import (
	"io"
	"os"

	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// countedRequests is the number of requests at the start of a file that determine its estimated length: enough for
// buffered input to matter little.
const countedRequests = 1_000_000

// EstimateRequests estimates the number of requests in the files of w; 0 for a generator. It assumes the requests per
// byte at the start of the first file. Files that are not at their path are searched for in dirs.
func (w Workload) EstimateRequests(dirs []string) (float64, error) {
	var bytes int64
	places, err := FindAll(w.Files, dirs)
	if err != nil {
		return 0, err
	}
	for _, place := range places {
		info, err := os.Stat(place)
		if err != nil {
			return 0, err
		}
		bytes += info.Size()
	}
	if len(places) == 0 {
		return 0, nil
	}
	perByte, err := w.requestsPerByte(places[0], dirs)
	return perByte * float64(bytes), err
}

func (w Workload) requestsPerByte(path string, dirs []string) (float64, error) {
	find := func(path string) (string, error) { return Find(path, dirs) }
	opened, err := read.Open(path, traces.LoadOptions{Selection: traces.Selection{Format: w.Format}, Find: find})
	if err != nil {
		return 0, err
	}
	defer opened.Close()
	var rec stream.Record
	for n := range countedRequests {
		if err := opened.Read(&rec); err == io.EOF {
			_, size := opened.Progress()
			return float64(n) / float64(max(1, size)), nil
		} else if err != nil {
			return 0, err
		}
	}
	read, _ := opened.Progress()
	return countedRequests / float64(max(1, read)), nil
}
