package read_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// longTable is a table of 2 MB, with keys that are texts, numbers and both, and with operations.
func longTable() string {
	var b strings.Builder
	b.WriteString("time,key,size,op\n")
	for i := range 60_000 {
		key := fmt.Sprintf("/images/%d.jpg", i*7919%20_000)
		if i%3 == 0 {
			key = fmt.Sprint(i * 31 % 5000)
		}
		fmt.Fprintf(&b, "%d,%s,%d,%s\n", i/10, key, 100+i%977, []string{"get", "get", "set", "delete"}[i%4])
	}
	return b.String()
}

// TestParsingAheadChangesNothing reads a file, which is parsed ahead, and the same from a pipe, which is not.
func TestParsingAheadChangesNothing(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	}
	text := longTable()
	path := filepath.Join(t.TempDir(), "long.csv")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	for name, opts := range map[string]read.Options{
		"objects": {}, "all": {Needs: traces.Needs{Sizes: true, Times: true, Ops: true, Keys: true}},
		"fills":  {Selection: read.Selection{Writes: "fill"}},
		"sample": {Selection: read.Selection{SampleRate: 0.3, SampleSeed: 5}, Needs: traces.Needs{Sizes: true}},
		"limit":  {Selection: read.Selection{Limit: 50_001}},
	} {
		t.Run(name, func(t *testing.T) {
			var done, total int64
			opts.Progress = func(d, of int64) { done, total = d, of }
			got := must.Get(read.Load(t.Context(), []string{path}, opts))(t)
			if opts.Limit == 0 && (done != int64(len(text)) || total != done) {
				t.Errorf("progress ended at %d of %d bytes, want %d", done, total, len(text))
			}
			opts.Progress, opts.Stdin = nil, bytes.NewReader([]byte(text))
			want := must.Get(read.Load(t.Context(), []string{"-"}, opts))(t)
			got.Name, got.Readings, want.Name, want.Readings = "", nil, "", nil
			if !reflect.DeepEqual(got, want) {
				t.Error("the file and the pipe gave other traces")
			}
		})
	}
}

// TestReadingAheadChangesNothing loads drawn records, which are read ahead but where there is a limit.
func TestReadingAheadChangesNothing(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	}
	const count = 100_000
	records := zipfRecords(count)
	load := func(opts read.Options) *traces.Trace {
		next := 0
		r := stream.ReaderFunc(func(rec *stream.Record) error {
			if next == count {
				return io.EOF
			}
			*rec = records[next]
			next++
			return nil
		})
		opts.Needs = traces.Needs{Sizes: true, Times: true}
		return must.Get(read.LoadReader(t.Context(), "drawn", r, stream.Fields{Time: true, Size: true}, count, opts))(t)
	}
	got, want := load(read.Options{}), load(read.Options{Selection: read.Selection{Limit: count}})
	if want.Limited = false; !reflect.DeepEqual(got, want) {
		t.Error("records that were read ahead gave another trace")
	}
}

func TestParsingAheadEndsWithAnError(t *testing.T) {
	text := longTable()
	path := filepath.Join(t.TempDir(), "long.csv")
	must.Do(t, os.WriteFile(path, []byte(text+"1,x,many,get\n"), 0o600))
	_, err := read.Load(t.Context(), []string{path}, read.Options{Needs: traces.Needs{Sizes: true}})
	if err == nil || !strings.Contains(err.Error(), "line 60002") || !strings.Contains(err.Error(), "many") {
		t.Errorf("error %v, want one about line 60002", err)
	}
}

// TestParsingAheadEndsWithTheContext also ends the goroutine: a file that is still read would be closed under it.
func TestParsingAheadEndsWithTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.csv")
	must.Do(t, os.WriteFile(path, []byte(longTable()), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	opts := read.Options{}
	opts.Progress = func(int64, int64) { cancel() }
	if _, err := read.Load(ctx, []string{path}, opts); err != context.Canceled {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
