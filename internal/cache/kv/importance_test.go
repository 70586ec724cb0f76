package kv

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// TestQueryImportances expects equal importances of the query heads to change nothing, a query head that counts alone
// to decide alone, and a file that does not fit to be refused with what is wrong.
func TestQueryImportances(t *testing.T) {
	columns := columnsOf(t, small)
	file := func(line func(layer, kv, query int) string) string {
		path, text := filepath.Join(t.TempDir(), "queries.tsv"), "# layer, KV head, query head, importance\n"
		for layer := range 2 {
			for query := range 6 {
				text += line(layer, query/3, query)
			}
		}
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	replay := func(path string) Outcome {
		cell := cellOf(t, params.Values{"query-importance": path}, 0.1, "qsac(eta=0.9)")
		return must.Get(Replay(context.Background(), Config{Trace: columns, Cells: []Cell{cell}}))(t)[0]
	}
	line := func(numbers ...any) string { return fmt.Sprintln(numbers...) }
	without := replay("")
	equal := replay(file(func(layer, kv, query int) string { return line(layer, kv, query, 0.5) }))
	if !slices.Equal(bitsOf(without.Values), bitsOf(equal.Values)) {
		t.Error("equal importances of query heads change what is loaded")
	}
	first := replay(file(func(layer, kv, query int) string { return line(layer, kv, query, max(0, 1-query%3)) }))
	if first.Counts == without.Counts {
		t.Error("the similarities of two of three query heads count though these have no importance")
	}
	for want, path := range map[string]string{
		"row 1 has 3 numbers":       file(func(layer, kv, query int) string { return line(layer, query, 0.5) }),
		"query head 3 of KV head 0": file(func(layer, _, query int) string { return line(layer, 0, query, 0.5) }),
		"row 2 is about query head 0 of layer 0 again": file(func(layer, kv, query int) string {
			return line(layer, 0, 0, 0.5)
		}),
		"nothing about query head 0 of layer 1": file(func(layer, kv, query int) string {
			return line(2*layer, kv, query, 0.5)
		}),
	} {
		cell := cellOf(t, params.Values{"query-importance": path}, 0.1, "qsac")
		_, err := Replay(context.Background(), Config{Trace: columns, Cells: []Cell{cell}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error that says %q", err, want)
		}
	}
}

// TestImportances expects importances to be drawn from a file of numbers if the trace states none, and a file that
// names a head twice, or has no numbers, to be refused.
func TestImportances(t *testing.T) {
	columns := columnsOf(t, small)
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "numbers")
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	drawn := must.Get(readImportances(&options{ranks: file("0.5 0.75\n")}, columns, 1))(t)
	for _, x := range drawn.of {
		if x < 0.5 || x > 0.75 {
			t.Errorf("%v is drawn, want numbers from 0.5 to 0.75", drawn.of)
			break
		}
	}
	if v, _ := values(make([]tally, 2), servesLayer, drawn.effects, &histogram{}, columns.Shape); v.Has(lostByEffect) ||
		v.Has(outputErrorByEffect) {
		t.Error("losses are weighted by importances that are drawn")
	}
	all := file("0 0 1\n0 1 0.5\n1 0 0.2\n1 1 0\n")
	stated := must.Get(readImportances(&options{importance: all}, columns, 1))(t)
	if v, _ := values(make([]tally, 2), servesLayer, stated.effects, &histogram{}, columns.Shape); !v.Has(lostByEffect) ||
		!v.Has(outputErrorByEffect) {
		t.Error("losses are not weighted by stated importances")
	}
	if one := must.Get(readImportances(&options{ranks: file("7\n")}, columns, 1))(t); slices.Min(one.of) != 1 {
		t.Errorf("7 is drawn as %v, want 1", one.of)
	}
	for want, o := range map[string]options{
		"row 2 is about KV head 0 of layer 0 again": {importance: file("0 0 1\n0 0 0\n")},
		"want a number": {ranks: file("many\n")},
	} {
		if _, err := readImportances(&o, columns, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error that says %q", err, want)
		}
	}
}
