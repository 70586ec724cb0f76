package formats_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

func TestBatches(t *testing.T) {
	for _, c := range []struct {
		name, format, text string
		keys               string
		groups             []int
	}{
		{"a batch per line", "batches", "7 8 7\n9,8\r\n7\n", "7 8 7 9 8 7", []int{0, 3, 5}},
		{"a sample per line", "batches:lines=2", "7 8 7\n9,8\n7\n", "7 8 7 9 8 7", []int{0, 5}},
		{"odd spacing, no last break, blank lines at the end", "batches", "  7, 8\t007 \n\n \n", "7 8 007", []int{0}},
		{"words", "batches", "a b\na", "a b a", []int{0, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := must.Get(read.Load(t.Context(), []string{"-"},
				read.Options{Selection: read.Selection{Format: c.format},
					Needs: traces.Needs{Keys: true}, Stdin: strings.NewReader(c.text)}))(t)
			var keys []string
			for _, o := range got.Objects {
				keys = append(keys, got.Keys[o].String())
			}
			if strings.Join(keys, " ") != c.keys || !slices.Equal(got.Groups, c.groups) {
				t.Errorf("keys %v in groups from %v, want %s from %v", keys, got.Groups, c.keys, c.groups)
			}
		})
	}
}

func TestBatchesErrors(t *testing.T) {
	for text, want := range map[string]string{
		"1 2\n\n \n3\n": "line 2: a blank line before the end of the file: want a key",
		"1\x00 2\n":     "line 1: control characters",
		"1 2\n" + strings.Repeat("x", source.MaxLine+1): "line 2: a key longer than",
		"\n\n": "holds no requests",
	} {
		_, err := read.Load(t.Context(), []string{"-"}, read.Options{Selection: read.Selection{Format: "batches"},
			Stdin: strings.NewReader(text)})
		must.Fail(t, err, want, text)
	}
}

// TestBatchesAreDetected tells lines of keys from tables of numbers.
func TestBatchesAreDetected(t *testing.T) {
	long := strings.Repeat("123456789 ", source.HeadLen/10+1)
	for _, c := range []struct{ name, text, want string }{
		{"x", "1 2 3\n4 5\n", "batches"},
		{"x", "1,2,3\n4\n5,6\n", "batches"},
		{"x", "1\n2\n4 5\n", "batches"},
		{"x", long + "\n" + long + "\n", "batches"},
		{"x.batches", "1 2\n3 4\n", "batches"},
		{"x", "1,2\n3,4\n", "csv"},
		{"x", "1\n2\n", "plain"},
		{"x.batches", "a\nb\n", "plain"},
		{"x", "1 0 68\n2 1 7454\n", "seq-id-size"},
		{"x", "1 1 0 0\n2 3 0 1\n", "arc"},
	} {
		t.Run(fmt.Sprintf("%s %.10q", c.name, c.text), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.name)
			tracetest.WriteFile(t, path, []byte(c.text))
			s, err := read.Open(path, read.Options{})
			if err != nil {
				if c.want == "csv" && strings.Contains(err.Error(), "csv") {
					return // detected, but the user must name the columns
				}
				t.Fatal(err)
			}
			defer s.Close()
			if s.Info.Format != c.want {
				t.Errorf("read as %s, want %s", s.Info.Format, c.want)
			}
		})
	}
}

// TestBatchesOfASample keeps the batches of the remaining requests.
func TestBatchesOfASample(t *testing.T) {
	var text strings.Builder
	for i := range 300 {
		fmt.Fprintf(&text, "%d %d %d\n", i, i+1, 2*i)
	}
	all := read.Options{Selection: read.Selection{Format: "batches"}, Needs: traces.Needs{Keys: true},
		Stdin: strings.NewReader(text.String())}
	whole := must.Get(read.Load(t.Context(), []string{"-"}, all))(t)
	all.SampleRate, all.Stdin = 0.3, strings.NewReader(text.String())
	sample := must.Get(read.Load(t.Context(), []string{"-"}, all))(t)
	later := whole.Sample(0.3, 0)
	if !slices.Equal(later.Groups, sample.Groups) || !slices.Equal(later.Objects, sample.Objects) {
		t.Errorf("sampled while reading %v, sampled later %v", sample.Groups, later.Groups)
	}
	if len(sample.Groups) < 100 || len(sample.Groups) >= 300 || sample.Groups[0] != 0 {
		t.Errorf("%d of 300 batches are left", len(sample.Groups))
	}
}

func TestGroupsAreNotSplit(t *testing.T) {
	paths := tracetest.WriteTexts(t, "1 2\n3\n", "4\n5\n")
	_, err := read.Load(t.Context(), paths, read.Options{})
	must.Fail(t, err, "only one of them has groups of requests", "batches and plain keys")
	paths = tracetest.WriteTexts(t, "1 2\n3\n", "4 4\n5\n")
	got, err := read.Load(t.Context(), paths, read.Options{})
	if err != nil || !slices.Equal(got.Groups, []int{0, 2, 3, 5}) {
		t.Errorf("two files of batches: error %v, trace %+v", err, got)
	}
	_, err = read.Load(t.Context(), paths, read.Options{Selection: read.Selection{Merge: true}})
	must.Fail(t, err, "merging by time would split", "merged")
}
