package formula

import (
	"fmt"
	"math"
	"testing"

	"github.com/expr-lang/expr"
	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

var testNames = Names{Values: []string{"a", "b", "c"}, Indexed: []string{"nth"}, Shares: []string{"share"}, MaxIndex: 4}

// drawNumber draws an expression that gives a number, and drawCondition one that is true or false, in the part of the
// language in which numbers are floating point in both implementations.
func drawNumber(t *rapid.T, depth int) string {
	if depth == 0 {
		return rapid.SampledFrom([]string{"a", "b", "c", "0.5", "2.0", "7.25"}).Draw(t, "leaf")
	}
	x := func() string { return drawNumber(t, depth-1) }
	switch rapid.IntRange(0, 9).Draw(t, "number") {
	case 0:
		return drawNumber(t, 0)
	case 1:
		return "(-(" + x() + "))"
	case 2:
		return "(" + drawCondition(t, depth-1) + " ? (" + x() + ") : (" + x() + "))"
	case 3:
		name := fmt.Sprintf("x%d", depth)
		return "(let " + name + " = " + x() + "; " + name + " + " + x() + ")"
	case 4:
		return "min(" + x() + ", " + x() + ", " + x() + ")"
	case 5:
		return "max(" + x() + ", " + x() + ")"
	case 6:
		return rapid.SampledFrom([]string{"abs", "floor", "ceil", "round"}).Draw(t, "function") + "(" + x() + ")"
	case 7:
		return "((" + x() + ")" + rapid.SampledFrom([]string{"**", "^"}).Draw(t, "power") + " 2.0)"
	}
	return "((" + x() + ")" + rapid.SampledFrom([]string{"+", "-", "*", "/"}).Draw(t, "operator") + "(" + x() + "))"
}

func drawCondition(t *rapid.T, depth int) string {
	x := func() string { return "(" + drawNumber(t, max(depth-1, 0)) + ")" }
	if depth > 0 {
		switch rapid.IntRange(0, 3).Draw(t, "condition") {
		case 0:
			return "(not " + drawCondition(t, depth-1) + ")"
		case 1:
			return "(" + drawCondition(t, depth-1) + " and " + drawCondition(t, depth-1) + ")"
		case 2:
			return "(" + drawCondition(t, depth-1) + " || " + drawCondition(t, depth-1) + ")"
		}
	}
	return "(" + x() + rapid.SampledFrom([]string{"<", "<=", ">", ">=", "==", "!="}).Draw(t, "comparison") + x() + ")"
}

// A formula gives what the library itself computes, row by row.
func TestFormulaEqualsLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawNumber(t, rapid.IntRange(0, 5).Draw(t, "depth"))
		f, err := Compile(text, testNames)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		environment := map[string]any{"a": 0.0, "b": 0.0, "c": 0.0}
		program, err := expr.Compile(text, expr.Env(environment))
		if err != nil {
			t.Fatalf("%s: the library says %v", text, err)
		}
		const rows = 5
		m := f.NewMachine(rows)
		values := map[string][]float64{}
		for _, name := range testNames.Values {
			values[name] = rapid.SliceOfN(rapid.Float64Range(-9, 9), rows, rows).Draw(t, name)
		}
		for i, r := range f.References {
			copy(m.Input(i), values[r.Name])
		}
		got := m.Run(rows)
		for row := range rows {
			for name := range environment {
				environment[name] = values[name][row]
			}
			result, err := expr.Run(program, environment)
			if err != nil {
				t.Fatalf("%s: the library says %v", text, err)
			}
			if want := result.(float64); got[row] != want && !(math.IsNaN(got[row]) && math.IsNaN(want)) {
				t.Fatalf("%s with %v: %v, the library has %v", text, environment, got[row], want)
			}
		}
	})
}

func TestValues(t *testing.T) {
	for text, want := range map[string]float64{
		"7 % 4":                    3,
		"1 / 2":                    0.5,
		"2 ** 3 ** 2":              512,
		"not 0 + true":             2,
		"3 > 2 and 2 >= 2":         1,
		"sqrt(16) + exp(0)":        5,
		"log(1) + log2(8)":         3,
		"pow(2, 10)":               1024,
		"min(4)":                   4,
		"-5 % 3":                   -2,
		"round(2.5)":               3,
		"let a = 3; a * a":         9,
		"1 < 2 < 3 /* not */ // 4": 1,
		"3 > 2 > 2":                0,
		"-2 ** 2":                  -4,
		"1 - 2 - 3":                -4,
		"0x10 + 1_000 + .5":        1016.5,
		"1 ? 2 : 0 ? 3 : 4":        2,
	} {
		f, err := Compile(text, testNames)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := f.NewMachine(2).Run(2); got[0] != want || got[1] != want {
			t.Errorf("%s is %v, want %v", text, got, want)
		}
	}
}

// Equal references share a column; those within others belong to these.
func TestReferences(t *testing.T) {
	f := must.Get(Compile("nth(2) + a - nth(2) * share(a + b, 0.25)", testNames))(t)
	if len(f.References) != 3 || f.References[0] != (Reference{Name: "nth", Index: 2}) ||
		f.References[1] != (Reference{Name: "a"}) || f.References[2].Share != 0.25 ||
		len(f.References[2].Of.References) != 2 {
		t.Errorf("references %+v", f.References)
	}
	if !f.Uses(func(r Reference) bool { return r.Name == "b" }) {
		t.Error("b is not used")
	}
}

func FuzzCompile(f *testing.F) {
	for _, text := range []string{"a / (b - c)", "nth(1) ? a : 2", "share(a, 0.5)", "let x = a; x;", "a..b", "[a]", "{}",
		"a?.b", "filter(a, # > 1)", "$env", "1e999", `"x" + 1`, "nil ?? a"} {
		f.Add(text)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		if formula, err := Compile(text, testNames); err == nil {
			formula.NewMachine(2).Run(2)
		}
	})
}
