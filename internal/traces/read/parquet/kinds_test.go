package parquet

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// fileReads is an invented kind for this test: reads of a part of a file, with a label.
type fileReads struct{ stream.Single }

func (fileReads) Name() string                                   { return "file reads" }
func (fileReads) Format() string                                 { return "csv" }
func (fileReads) Lost() string                                   { return "offsets" }
func (fileReads) NewColumns(stream.Fields) stream.ColumnsBuilder { return nil }

func (fileReads) Table() *stream.Table {
	return &stream.Table{
		Columns: []stream.TableColumn{{Name: "offset"}, {Name: "label", Repeats: true}},
		Is:      func(has []bool) bool { return has[0] },
		Of:      fileReads{},
		New:     func() stream.Row { return &fileRead{} },
		Check:   func(_, _ stream.Row) error { return nil },
	}
}

type fileRead struct {
	offset int64
	label  []byte
}

func (r *fileRead) Clone() stream.Extra {
	return &fileRead{r.offset, bytes.Clone(r.label)}
}

func (r *fileRead) Cells(to []any) []any { return append(to, &r.offset, &r.label) }

// TestAnyKindInTables: the description of a kind's table is enough to write and read it, with whole numbers and texts.
func TestAnyKindInTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.parquet")
	file := must.Get(os.Create(path))(t)
	defer file.Close()
	w := must.Get(NewWriter(t.Context(), file, "", stream.Fields{Kind: fileReads{}}))(t)
	want := []fileRead{{0, []byte("a")}, {1 << 40, nil}, {-1, []byte{}}}
	for i := range want {
		must.Do(t, w.Write(&stream.Record{Num: uint64(i), Extra: &want[i]}))
	}
	must.Do(t, w.Finish())
	for options, kind := range map[string]stream.Kind{"": fileReads{}, "offset=none": nil} {
		r, fields := must.Get2(openAs(t, path, options))(t)
		if fields.Kind != kind {
			t.Errorf("%q: kind %v, want %v", options, fields.Kind, kind)
		}
		for i := range want {
			var rec stream.Record
			if err := r.Read(&rec); err != nil || rec.Num != uint64(i) {
				t.Fatalf("%q: record %+v, error %v", options, rec, err)
			}
			got, _ := rec.Extra.(*fileRead)
			if kind == nil && got == nil {
				continue
			}
			if got.offset != want[i].offset || !slices.Equal(got.label,
				want[i].label) || (got.label == nil) != (want[i].label == nil) {
				t.Errorf("read %+v, want %+v", *got, want[i])
			}
		}
		if err := r.Read(new(stream.Record)); err != io.EOF {
			t.Errorf("%q: %v at the end", options, err)
		}
	}
	if _, _, err := openAs(t, path, "offset=label"); err == nil || !strings.Contains(err.Error(),
		`column "label" cannot be the offset: it holds STRING, want whole numbers; parquet:offset=none ignores it`) {
		t.Errorf("a text as a whole number: %v", err)
	}
}

// openAs opens a file in a format that knows the invented kind.
func openAs(t *testing.T, path, options string) (stream.Reader, stream.Fields, error) {
	t.Helper()
	in := must.Get(source.OpenFile(t.Context(), path, nil))(t)
	t.Cleanup(func() { in.Close() })
	src := must.Get(source.New(in, path, path, in))(t)
	src.Reading = &stream.Reading{}
	format := Format([]stream.Kind{fileReads{}})
	values := must.Get(params.ParseArgs(format.Options, options))(t)
	return format.Open(src, values)
}
