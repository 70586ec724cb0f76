package layouts

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

// layoutOf compiles the layout of a file that has nothing else.
func layoutOf(t interface {
	Helper()
	Fatal(...any)
}, text string) *layout {
	t.Helper()
	f, err := Parse("test.yaml", []byte("name: test\nlayouts:\n- "+strings.ReplaceAll(text, "\n", "\n  ")))
	if err == nil {
		var l *layout
		if l, err = f.compile(0); err == nil {
			return l
		}
	}
	t.Fatal(err)
	return nil
}

// TestRowsAsNaive reads rows of random cells, and splits them with package strings.
func TestRowsAsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delimiter := rapid.SampledFrom([]string{"comma", "tab", "space"}).Draw(t, "delimiter")
		optional, further := rapid.IntRange(0, 2).Draw(t, "optional"), rapid.Bool().Draw(t, "further")
		table := layoutOf(t, fmt.Sprintf("{columns: %s, more: %v, fields: [{name: key, is: key}, {name: other},"+
			"{name: size, is: size}, {name: more key, is: key, optional: %v}, {name: key size, is: key-size, optional: %v}]}",
			delimiter, further, optional == 2, optional > 0))
		cells := rapid.SliceOfN(rapid.SampledFrom([]string{"7", "12", "300"}), 1, 8).Draw(t, "cells")
		gap := string(table.delimiter)
		if delimiter == "space" {
			gap = rapid.SampledFrom([]string{" ", "  ", " \t"}).Draw(t, "gap")
		}
		row, err := table.newParser(nil).parse([]byte(strings.Join(cells, gap)))
		n := len(cells)
		if fits := n >= 5-optional && (n <= 5 || further); fits != (err == nil) {
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
	table := layoutOf(t, "{columns: comma, header: required, fields: [{name: Obj Id, is: key},"+
		"{name: at, is: time, unit: ns}, {name: size, is: size, header: optional}, {name: ttl, is: ttl, unit: ns},"+
		"{name: kind, header: required}]}")
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
	row := must.Get(p.parse([]byte("5,y,z,77")))(t)
	if row.Record.Num != 77 || row.Record.Time != 5 {
		t.Errorf("%+v, want object 77 at 5 ns", row.Record)
	}
	if _, err := p.parse([]byte("at,x,kind,obj-id")); !errors.Is(err, source.ErrLeftOut) {
		t.Errorf("a header again: %v, want it left out", err)
	}
}

// TestDetection: most of the first lines decide, the surest layout is taken, and headers are certain.
func TestDetection(t *testing.T) {
	lines := table{
		layoutOf(t, "{columns: comma, header: optional, fields: [{name: key, is: key}, {name: size, is: size}]}"),
		layoutOf(t, "{columns: pipe, fields: [{name: op, is: op, words: {read: r, write: w}}, {name: key, is: key}]}"),
	}
	for content, want := range map[string]source.Confidence{
		"a,1\nb,2\n": source.Possible, "a,1\nb\nc,2\n": source.Possible, "a,1\nb\n": source.No, "": source.No,
		"key,size\na,1\n": source.Certain, "size,x\na,1\n": source.No, "r|a\nw|b\n": source.Certain, "x|a\n": source.No,
		strings.Repeat("a\n", 8) + strings.Repeat("a,1\n", 20): source.No,
	} {
		if got := lines.detect(source.NewHead([]byte(content), true), ""); got != want {
			t.Errorf("%q: %d, want %d", content, got, want)
		}
	}
}

func TestCells(t *testing.T) {
	for _, c := range []struct {
		field, cell string
		want        any // a record, or an error
	}{
		{"is: time, type: epoch", "5", stream.Record{Time: 5e9}},
		{"is: time, type: epoch", "1700000000.5", stream.Record{Time: 1700000000500e6}},
		{"is: time, type: epoch", "1700000000123", stream.Record{Time: 1700000000123e6}},
		{"is: time, type: epoch", "x", `time "x"`},
		{"is: time, type: date, pattern: 'YYYY-MM-DD/hh:mm:ss.fff'", "2000-02-29/01:02:03.250",
			stream.Record{Time: 951786123250e6}},
		{"is: time, type: date, pattern: MMDDhhmmss", "0102000001", stream.Record{Time: 86401e9}},
		{"is: time, type: date, pattern: YYYYMMDD", "20010229", `time "20010229": want YYYYMMDD`},
		{"is: served, words: {hit: yes, miss: no}", "yes", stream.Record{Served: stream.ServedHit}},
		{"is: served, words: {hit: yes, miss: no}", "no", stream.Record{Served: stream.ServedMiss}},
		{"is: served, words: {hit: yes, miss: no}", "-", stream.Record{}},
		{"is: op, words: {read: r, write: w}", "w", stream.Record{Op: stream.OpWrite}},
		{"is: op, words: {read: r, write: w}", "x", `operation "x": want r or w`},
		{"is: op, words: {read: r, write: w}, others: skip", "x", "no request"},
		{"one-of: [a, b], others: skip", "b", stream.Record{}}, {"one-of: [a, b], others: skip", "c", "no request"},
		{"one-of: [a, b]", "c", `"c": want a or b`}, {"skip: [c]", "c", "no request"},
		{"type: number", "1.5", stream.Record{}}, {"type: number", "x", `"x": want a number`},
		{"type: whole, is: ttl, unit: s", "5", stream.Record{TTL: 5e9}},
		{"type: whole, is: ttl, unit: s", "5.5", `"5.5": want a whole number`},
		{"is: offset, unit: sectors", "2199023255553", "offset"}, {"is: length", "-1", "length"},
		{"is: path", "", "the path is empty"}, {"is: path", "a\x00", "control characters in the path"},
	} {
		table := layoutOf(t, "{columns: comma, fields: [{name: key, is: key}, {name: n, "+c.field+"}]}")
		row, err := table.newParser(nil).parse([]byte("7," + c.cell))
		if want, ok := c.want.(string); ok {
			must.Fail(t, err, want, row)
			continue
		}
		want := c.want.(stream.Record)
		if want.Num = 7; err != nil || fmt.Sprint(row.Record) != fmt.Sprint(want) {
			t.Errorf("%s %q: %+v, %v, want %+v", c.field, c.cell, row.Record, err, want)
		}
	}
}

// TestFilesAreRefused: errors name the file, the line and the field.
func TestFilesAreRefused(t *testing.T) {
	const key = "name: a\nlayouts:\n- columns: comma\n  fields:\n  - {name: k, is: key}\n"
	for text, want := range map[string]string{
		"":                            "f.yaml: is empty",
		"name: a\n":                   "f.yaml:1: no layouts: want at least one",
		"name: A b\n":                 `f.yaml:1: name "A b": want small letters`,
		"name: a\nlayout: []\n":       `f.yaml:2: unknown field "layout"`,
		"name: a\nlayouts:\n- {}\n":   `f.yaml:3: layout 1: unknown separator of columns ""`,
		key + "writes: sideways\n":    "f.yaml:6: ",
		key + "  - {nam: t}\n":        `f.yaml:6: unknown field "nam"`,
		key + "  - {name: t, is: x}":  `f.yaml:6: field "t": unknown role "x"`,
		key + "  - {name: t, is: op}": `f.yaml:6: field "t": an operation needs words`,
		key + "  - name: t\n    is: time\n    unit: h\n":             `f.yaml:6: field "t": unit "h" of a time: want s, ms`,
		key + "  - {name: t, type: odd}":                             `f.yaml:6: field "t": unknown type "odd"`,
		key + "  - {name: t, is: [time, size]}":                      `f.yaml:6: field "t": unit "" of a time`,
		key + "  - {name: t, optional: true}\n  - {name: u}":         `f.yaml:7: field "u": follows an optional field`,
		key + "  sure: maybe\n":                                      `f.yaml:3: layout 1: unknown check "maybe"`,
		key + "  sure: sectors\n":                                    "f.yaml:3: layout 1: sure: sectors needs a time",
		"name: a\nlayouts: [{columns: tab, fields: [{name: x}]}]":    "f.yaml:2: layout 1: no field is the key",
		"name: a\nlayouts:\n- {line: x, header: optional}":           "f.yaml:3: header has no effect with line",
		"name: a\nlayouts:\n- {pattern: x}\n- {line: x}":             "f.yaml:4: a layout of line beside one of pattern",
		"name: a\nlayouts:\n- {json: x}":                             `f.yaml:3: json "x": want lines`,
		"name: a\nlayouts: [{json: lines, fields: [{type: whole}]}]": "want only name, is, path and unit with json",
		"name: [\n":                        "f.yaml:1: ",
		"name: " + huge + "\n":             "the file of a format may have 262144 bytes, and this one has more",
		"layouts: " + deep + "\n":          "f.yaml:",
		"a:\n" + strings.Repeat("- ", 200): "f.yaml",
	} {
		f, err := Parse("f.yaml", []byte(text))
		if err == nil {
			_, err = f.Format()
		}
		must.Fail(t, err, want, f)
	}
}

var huge, deep = strings.Repeat("x", MaxBytes+1), strings.Repeat("[", 100_000)
