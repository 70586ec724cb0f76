package parquet_test

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/cachesim/cachesim/internal/base/testing/interpreter"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
	"github.com/cachesim/cachesim/internal/traces/write"
)

const second = int64(1e9) // in nanoseconds

// rowsOf writes rows, structs with tags, as Parquet and reads them as queries.
func rowsOf[T any](t *testing.T, format string, rows ...T) ([]stream.Record, error) {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[T](&out)
	must.Get(w.Write(rows))(t)
	must.Do(t, w.Close())
	s, err := tracetest.OpenText(t, out.String(), format)
	if err != nil {
		return nil, err
	}
	if s.Fields.Kind != (queries.Kind{}) {
		return tracetest.Drain(s)
	}
	return tracetest.Drain(s)
}

type queryRow struct {
	Time      float64   `parquet:"time"`
	ID        string    `parquet:"id"`
	Session   int32     `parquet:"session"`
	Topic     *string   `parquet:"topic,optional"`
	Text      string    `parquet:"text"`
	Embedding []float64 `parquet:"embedding,list"`
}

func TestParquetQueries(t *testing.T) {
	topic := "film"
	got, err := rowsOf(t, "", queryRow{0.5, "q17", 3, &topic, "", []float64{0.5, -1}},
		queryRow{1, "18", -3, nil, "Dune", []float64{2, 0}})
	want := []stream.Record{
		{
			Time:  second / 2,
			Text:  []byte("q17"),
			Extra: &queries.Head{Session: []byte("3"), Topic: []byte("film"), Text: []byte{}, Vector: []float32{0.5, -1}},
		},
		{Time: second, Num: 18, Extra: &queries.Head{Session: []byte("-3"), Text: []byte("Dune"), Vector: []float32{2, 0}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v and error %v, want %v", got, err, want)
	}
	type repeated struct {
		Key       int64     `parquet:"key"`
		Embedding []float32 `parquet:"embedding"`
	}
	many := slices.Repeat([]repeated{{7, []float32{1, 2, 3}}}, 1000) // more numbers than are read at once
	if got, err := rowsOf(t, "", many...); err != nil || len(got) != 1000 ||
		!slices.Equal(queries.HeadOf(&got[999]).Vector, []float32{1, 2, 3}) {
		t.Errorf("a repeated column: %d rows, error %v", len(got), err)
	}
	type other struct {
		Key    string    `parquet:"key"`
		Vector []float32 `parquet:"vec,list"`
		Text   int64     `parquet:"text"`
	}
	got, err = rowsOf(t, "parquet:embedding=vec,text=key", other{"a b", []float32{1}, 7})
	want = []stream.Record{{Text: []byte("a b"), Extra: &queries.Head{Text: []byte("a b"), Vector: []float32{1}}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("columns of other names: got %v and error %v, want %v", got, err, want)
	}
	type noQueries struct {
		Key       string `parquet:"key"`
		Topic     string `parquet:"topic"`
		Embedding int64  `parquet:"embedding"`
	}
	if got, err := rowsOf(t, "parquet:embedding=none", noQueries{"a", "b", 7}); err != nil || got[0].Extra != nil {
		t.Errorf("a topic alone: got %v and error %v, want that it is no query", got, err)
	}
	if _, err := rowsOf(t, "", noQueries{"a", "b", 7}); err == nil || !strings.HasSuffix(
		err.Error(),
		`column "embedding" cannot be the embedding: it holds INT(64,true), want lists of 32-bit or 64-bit floating-point `+
			`numbers, or little-endian float32 as bytes; parquet:embedding=none ignores it`,
	) {
		t.Errorf("error %v, want that a number is no embedding", err)
	}
}

func TestParquetOfPackedEmbeddings(t *testing.T) {
	type fixed struct {
		Key       int64   `parquet:"key"`
		Embedding [8]byte `parquet:"embedding"`
	}
	got, err := rowsOf(t, "", fixed{7, [8]byte(tracetest.BytesOf(t, float32(1.5), float32(-2)))},
		fixed{8, [8]byte(tracetest.BytesOf(t, float32(0), float32(3)))})
	want := []stream.Record{{Num: 7, Extra: &queries.Head{Vector: []float32{1.5, -2}}},
		{Num: 8, Extra: &queries.Head{Vector: []float32{0, 3}}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("bytes of a fixed length: got %v and error %v, want %v", got, err, want)
	}
	type bytes struct {
		Key       int64  `parquet:"key"`
		Embedding []byte `parquet:"embedding,optional"`
	}
	one := tracetest.BytesOf(t, float32(1))
	if got, err := rowsOf(t, "", bytes{7, one}); err != nil || !slices.Equal(queries.HeadOf(&got[0]).Vector,
		[]float32{1}) {
		t.Errorf("bytes: got %v and error %v", got, err)
	}
	for want, second := range map[string][]byte{
		`row 2: column "embedding": 5 bytes: want embeddings of up to 65536 numbers of 4 bytes`: append(slices.Clone(one), 0),
		"row 2: an embedding of 2 numbers after others of 1": append(slices.Clone(one),
			one...),
		"row 2: no embedding after others of 1 numbers": nil,
		"row 2: an embedding with a number that is not finite": tracetest.BytesOf(t,
			float32(math.NaN())),
	} {
		must.NotGet(rowsOf(t, "", bytes{7, one}, bytes{8, second}))(t, want)
	}
}

func TestParquetQueryErrors(t *testing.T) {
	type row struct {
		Key       int64      `parquet:"key"`
		Embedding []*float64 `parquet:"embedding,list" parquet-element:",optional"`
	}
	of := func(numbers ...float64) []*float64 {
		var list []*float64
		for _, x := range numbers {
			list = append(list, &x)
		}
		return list
	}
	for name, c := range map[string]struct {
		rows []row
		want string
	}{
		"null": {[]row{{1, of(1, 2)}, {2, append(of(1), nil)}}, `row 2: column "embedding": a number is missing (null): ` +
			`want finite numbers`},
		"lengths": {[]row{{1, of(1, 2)}, {2, of(1)}}, "row 2: an embedding of 1 numbers after others of 2: want the " +
			"same length for all"},
		"empty": {[]row{{1, of(1, 2)}, {2, nil}}, "row 2: no embedding after others of 2 numbers"},
		"zeros": {[]row{{1, of(0, 0)}}, "row 1: an embedding of zeros"},
		"large": {[]row{{1, of(1e300, 0)}}, `row 1: column "embedding": the number 1e+300: want numbers within the ` +
			`range of float32`},
		"first empty": {[]row{{1, nil}, {2, of(1)}}, "row 2: an embedding of 1 numbers after queries without any"},
	} {
		must.NotGet(rowsOf(t, "", c.rows...))(t, c.want, name)
	}
	path := filepath.Join(t.TempDir(), "x.parquet")
	records := []stream.Record{{Num: 1, Extra: &queries.Head{Vector: []float32{1, 2}}}, {Num: 2, Extra: &queries.Head{}}}
	if err := tracetest.TryWrite(t.Context(), path, write.Options{Fields: stream.Fields{Kind: queries.Kind{}}},
		records); err == nil ||
		!strings.Contains(err.Error(), "no embedding after others of 2 numbers") {
		t.Errorf("writing: error %v, want that an embedding is missing", err)
	}
}

func TestParquetOfManyQueries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.parquet")
	var records []stream.Record
	for i := range 2*(1<<13) + 5 {
		records = append(records, stream.Record{Num: uint64(i),
			Extra: &queries.Head{Text: []byte{}, Vector: []float32{1, float32(i)}}})
	}
	tracetest.Write(t, path, stream.Fields{Kind: queries.Kind{}}, records)
	s := must.Get(read.Open(path, read.Options{}))(t)
	defer s.Close()
	if got, err := tracetest.Drain(s); err != nil || !reflect.DeepEqual(got, records) {
		t.Errorf("%d queries and error %v, want %d", len(got), err, len(records))
	}
}

// smallParquetOfQueries returns a file of two queries.
func smallParquetOfQueries(t testing.TB) string {
	path := filepath.Join(t.TempDir(), "q.parquet")
	tracetest.Write(t, path, stream.Fields{Time: true, Kind: queries.Kind{}}, []stream.Record{
		{Text: []byte("a"), Extra: &queries.Head{Text: []byte("x"), Vector: []float32{1,
			2}}}, {Num: 7, Extra: &queries.Head{Topic: []byte("t"), Vector: []float32{3, 4}}},
	})
	content := must.Get(os.ReadFile(path))(t)
	return string(content)
}

// pyarrowQueries writes lists of each kind that pyarrow has, and checks what cachesim wrote.
const pyarrowQueries = `
import struct, sys, pyarrow as pa, pyarrow.parquet as pq
folder = sys.argv[1]
for name, kind in [("list32", pa.list_(pa.float32())), ("list64", pa.list_(pa.float64())), ("fixed32", pa.list_(pa.float32(), 3)), ("large64", pa.large_list(pa.float64()))]:
    table = pa.table({"time": pa.array([0.5, 1.0]), "id": ["a", "b"], "text": ["x", None], "embedding": pa.array([[1, 2, 3], [0.5, 0, -1]], type=kind)})
    pq.write_table(table, f"{folder}/{name}.parquet")
pq.write_table(table.set_column(3, "embedding", pa.array([struct.pack("<3f", 1, 2, 3), struct.pack("<3f", 0.5, 0, -1)], pa.binary(12))), f"{folder}/packed.parquet")
table = pq.read_table(f"{folder}/ours.parquet")
assert table["embedding"].to_pylist() == [[1, 2, 3], [0.5, 0, -1]], table
assert table["text"].to_pylist() == ["x", None] and table["key"].to_pylist() == ["a", "b"], table
`

func TestParquetQueriesOfPyarrow(t *testing.T) {
	python := interpreter.Python(t, "pyarrow")
	folder := t.TempDir()
	want := []stream.Record{
		{Time: second / 2, Text: []byte("a"), Extra: &queries.Head{Text: []byte("x"), Vector: []float32{1, 2, 3}}},
		{Time: second, Text: []byte("b"), Extra: &queries.Head{Vector: []float32{0.5, 0, -1}}},
	}
	tracetest.Write(t, filepath.Join(folder, "ours.parquet"), stream.Fields{Time: true, Kind: queries.Kind{}}, want)
	if out, err := exec.Command(python, "-c", pyarrowQueries, folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != 6 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, file := range files {
		s := must.Get(read.Open(filepath.Join(folder, file.Name()), read.Options{}))(t)
		defer s.Close()
		if got, err := tracetest.Drain(s); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v and error %v, want %v", file.Name(), got, err, want)
		}
	}
}
