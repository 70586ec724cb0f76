package columns

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"pgregory.net/rapid"
)

// TestRowsAsNaive reads rows of random cells, and splits them with package strings.
func TestRowsAsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delimiter := rapid.SampledFrom([]string{",", "\t", " "}).Draw(t, "delimiter")
		table := &Table{Delimiter: delimiter[0], Optional: rapid.IntRange(0, 2).Draw(t, "optional"),
			Further: rapid.Bool().Draw(t, "further"),
			Columns: []Column{Key("key"), Other("other"), Size("size"), Key("more key"), KeySize("key size")}}
		cells := rapid.SliceOfN(rapid.SampledFrom([]string{"7", "12", "300"}), 1, 8).Draw(t, "cells")
		gap := delimiter
		if delimiter == " " {
			gap = rapid.SampledFrom([]string{" ", "  ", " \t"}).Draw(t, "gap")
		}
		row, err := table.newParser(nil).Parse([]byte(strings.Join(cells, gap)))
		n := len(cells)
		if fits := n >= 5-table.Optional && (n <= 5 || table.Further); fits != (err == nil) {
			t.Fatalf("%d cells: %v", n, err)
		}
		if err != nil {
			return
		}
		key, size := cells[0], number(cells[2])
		if n > 3 {
			key += "|" + cells[3]
		}
		if n > 4 {
			size += number(cells[4])
		}
		if got := (stream.Key{Num: row.Record.Num,
			Text: string(row.Record.Text)}).String(); got != key || row.Record.Size+row.Record.KeySize != size {
			t.Errorf("%q: key %s and record %+v, want %s and size %d", cells, got, row.Record, key, size)
		}
	})
}

func number(text string) (n int64) {
	fmt.Sscan(text, &n)
	return n
}

// TestHeaders: a header gives the columns their order, and may come again.
func TestHeaders(t *testing.T) {
	table := &Table{Delimiter: ',', Header: true, Headed: true,
		Columns: []Column{Key("Obj Id"), Time("at", 1), Spare(Size("size")), TTL("ttl", 1), Must("kind")}}
	for header, want := range map[string]string{
		"obj_id,at,kind":       "",
		"at,x,kind,obj-id":     "",
		"#kind,at,obj id,size": "",
		"obj_id,kind":          "no column at in the header; want Obj Id, at, kind",
		"obj_id,at":            "no column kind in the header",
	} {
		_, err := table.newParser(nil).takeHeader([]byte(header))
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", header, err, want)
		}
	}
	p := table.newParser(nil)
	must.Get(p.takeHeader([]byte("at,x,kind,obj-id")))(t)
	row := must.Get(p.Parse([]byte("5,y,z,77")))(t)
	if row.Record.Num != 77 || row.Record.Time != 5 {
		t.Errorf("%+v, want object 77 at 5 ns", row.Record)
	}
	if _, err := p.Parse([]byte("at,x,kind,obj-id")); !errors.Is(err, source.ErrLeftOut) {
		t.Errorf("a header again: %v, want it left out", err)
	}
}

// TestDetection: most of the first lines decide, the surest layout is taken, and headers are certain.
func TestDetection(t *testing.T) {
	likely := func(source.Head, string) source.Confidence { return source.Likely }
	table := &Table{Delimiter: ',', Header: true, Columns: []Column{Key("key"), Size("size")}, Sure: likely,
		Layouts: []*Table{{Delimiter: '|', Columns: []Column{Op("op", ReadWrite("r", "w")), Key("key")}}}}
	for content, want := range map[string]source.Confidence{
		"a,1\nb,2\n": source.Likely, "a,1\nb\nc,2\n": source.Likely, "a,1\nb\n": source.No, "": source.No,
		"key,size\na,1\n": source.Certain, "size,x\na,1\n": source.No, "r|a\nw|b\n": source.Certain, "x|a\n": source.No,
		strings.Repeat("a\n", 8) + strings.Repeat("a,1\n", 20): source.No,
	} {
		if got := table.Detect(source.NewHead([]byte(content), true), ""); got != want {
			t.Errorf("%q: %d, want %d", content, got, want)
		}
	}
}

func TestCells(t *testing.T) {
	for _, c := range []struct {
		column Column
		cell   string
		want   any // a record, or an error
	}{
		{Epoch("at"), "5", stream.Record{Time: 5e9}},
		{Epoch("at"), "1700000000.5", stream.Record{Time: 1700000000500e6}},
		{Epoch("at"), "1700000000123", stream.Record{Time: 1700000000123e6}},
		{Epoch("at"), "x", `time "x"`},
		{Served("hit", "yes", "no"), "yes", stream.Record{Served: stream.ServedHit}},
		{Served("hit", "yes", "no"), "no", stream.Record{Served: stream.ServedMiss}},
		{Served("hit", "yes", "no"), "-", stream.Record{}},
		{Op("op", ReadWrite("r", "w")), "w", stream.Record{Op: stream.OpWrite}},
		{Op("op", ReadWrite("r", "w")), "x", `operation "x": want r or w`},
		{OpOnly("op", ReadWrite("r", "w")), "x", "no request"},
		{Only("kind", "a", "b"), "b", stream.Record{}}, {Only("kind", "a", "b"), "c", "no request"},
		{Number("n"), "1.5", stream.Record{}}, {Number("n"), "x", `"x": want a number`},
		{Whole(TTL("ttl", 1e9)), "5", stream.Record{TTL: 5e9}}, {Whole(TTL("ttl", 1e9)), "5.5", `"5.5": want a whole number`},
		{Offset("at", 512), "2199023255553", "offset"}, {Length("n", 1), "-1", "length"}, {Path("file"), "",
			"the path is empty"},
		{Path("file"), "a\x00", "control characters in the path"},
	} {
		table := &Table{Delimiter: ',', Columns: []Column{Key("key"), c.column}}
		row, err := table.newParser(nil).Parse([]byte("7," + c.cell))
		if want, ok := c.want.(string); ok {
			must.Fail(t, err, want, row)
			continue
		}
		want := c.want.(stream.Record)
		if want.Num = 7; err != nil || fmt.Sprint(row.Record) != fmt.Sprint(want) {
			t.Errorf("%s %q: %+v, %v, want %+v", c.column.Name, c.cell, row.Record, err, want)
		}
	}
}
