package queries_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
	"github.com/cachesim/cachesim/internal/traces/write"
)

var threeVectors = [][]float32{{1, 2.5}, {-1, 0}, {3, 1e-20}}

// writeVectors writes queries with these embeddings and returns the file.
func writeVectors(t *testing.T, name string, vectors [][]float32) ([]byte, error) {
	t.Helper()
	var records []stream.Record
	for i, vector := range vectors {
		records = append(records, stream.Record{Num: uint64(i), Extra: &queries.Head{Vector: vector}})
	}
	path := filepath.Join(t.TempDir(), name)
	if err := tracetest.TryWrite(t.Context(), path, write.Options{Fields: stream.Fields{Kind: queries.Kind{}}},
		records); err != nil {
		return nil, err
	}
	content := must.Get(os.ReadFile(path))(t)
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("files %v, %v, want %s alone", entries, err, name)
	}
	return content, nil
}

// TestNpy compares the file with the definition of version 1.0: magic, version, length of the header, a Python
// dictionary padded with spaces so that the numbers begin at a multiple of 64, and the numbers row by row.
func TestNpy(t *testing.T) {
	got := must.Get(writeVectors(t, "a.npy", threeVectors))(t)
	dictionary := "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }"
	header := "\x93NUMPY\x01\x00" + "\x76\x00" + dictionary + strings.Repeat(" ", 0x76-1-len(dictionary)) + "\n"
	if want := append([]byte(header), tracetest.BytesOf(t, threeVectors[0], threeVectors[1],
		threeVectors[2])...); !bytes.Equal(got,
		want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

func TestFvecs(t *testing.T) {
	got := must.Get(writeVectors(t, "a.fvecs", threeVectors))(t)
	dim := int32(2)
	if want := tracetest.BytesOf(t, dim, threeVectors[0], dim, threeVectors[1], dim, threeVectors[2]); !bytes.Equal(got,
		want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestVectorsRefused(t *testing.T) {
	for _, name := range []string{"a.npy", "a.fvecs"} {
		if _, err := writeVectors(t, name, slices.Concat(threeVectors, [][]float32{{1}})); err == nil ||
			!strings.Contains(err.Error(), "record 4: an embedding of 1 numbers after others of 2") {
			t.Errorf("%s: error %v, want one about the lengths", name, err)
		}
		if _, err := writeVectors(t, name, [][]float32{{1}, nil}); err == nil ||
			!strings.Contains(err.Error(), "record 2: a query without an embedding") {
			t.Errorf("%s: error %v, want one about the missing embedding", name, err)
		}
	}
	must.Fail(t, formats.CheckHoldsEmbeddings("a.csv.gz", ""), ".npy, .fvecs", "CSV holds embeddings, or")
	if err := formats.CheckHoldsEmbeddings("A.NPY.gz", ""); err != nil {
		t.Error(err)
	}
}
