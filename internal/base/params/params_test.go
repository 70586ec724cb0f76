package params

import (
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

var sample = []Param{
	{Name: "k", Default: 2, Min: 1, Max: 16},
	{Name: "share", Default: 0.1, Min: 0, Max: 1},
	{Name: "ties", Default: "lru", Choices: []string{"lru", "fifo"}},
	{Name: "int", Default: false},
	{Name: "size", Default: ""},
}

func TestParseArgs(t *testing.T) {
	v := must.Get(ParseArgs(sample, " k = 3 , share=0.5,ties=fifo,int=true,size=lognormal(mean=4096,sigma=1)"))(t)
	want := "k=3,share=0.5,ties=fifo,int=true,size=lognormal(mean=4096,sigma=1)"
	if got := Format(sample, v); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if v.Int("k") != 3 || v.Float("share") != 0.5 || !v.Bool("int") || v.Text("ties") != "fifo" {
		t.Errorf("values have the wrong types: %v", v)
	}
}

func TestFormatCallLeavesOutDefaults(t *testing.T) {
	for args, want := range map[string]string{"": "x", "k=2": "x", "k=3,ties=lru": "x(k=3)",
		"int=1,share=1": "x(share=1,int=true)"} {
		v := must.Get(ParseArgs(sample, args))(t)
		if got := FormatCall("x", sample, v); got != want {
			t.Errorf("%q: got %s, want %s", args, got, want)
		}
	}
}

func TestBoolsAreOnOrOff(t *testing.T) {
	for text, want := range map[string]bool{"on": true, "true": true, "1": true, "off": false, "false": false} {
		v, err := ParseArgs(sample, "int="+text)
		if err != nil || v.Bool("int") != want {
			t.Errorf("int=%s: %v, %v, want %v", text, v["int"], err, want)
		}
	}
}

func TestSignature(t *testing.T) {
	if got, want := Signature("x", sample[:2]), "x(k=2,share=0.1)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := Signature("x", nil); got != "x" {
		t.Errorf("got %s, want x", got)
	}
}

func TestParseArgsErrors(t *testing.T) {
	for args, want := range map[string]string{
		"k":                "want name=value",
		"=3":               "want name=value",
		"k=2,":             "want name=value",
		"k=2,k=3":          "given twice",
		"shar=1":           `did you mean "share"`,
		"k=x":              "want a whole number",
		"k=0":              "from 1 to 16",
		"k=17":             "from 1 to 16",
		"share=NaN":        "want a number",
		"share=2":          "from 0 to 1",
		"ties=mru":         "want one of lru, fifo",
		"int=maybe":        "want true or false",
		"size=lognormal(4": "unbalanced parentheses",
	} {
		must.NotGet(ParseArgs(sample, args))(t, want, args)
	}
}

func TestSplit(t *testing.T) {
	got, err := Split("a(b,c(d,e)),f", ',')
	if want := []string{"a(b,c(d,e))", "f"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	for _, bad := range []string{"a(", "a)", "a)(", "(a))("} {
		if _, err := Split(bad, ','); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// What has no counterpart is named, with its column.
func TestUnbalancedTextsAreLocated(t *testing.T) {
	for text, want := range map[string]string{
		"a(b":       `"a(b": unbalanced parentheses: the ( in column 2 is not closed; add a )`,
		"é,b(c=1,d": "the ( in column 4 is not closed",
		"a(b(c)":    "the ( in column 2 is not closed",
		"a(b=(c":    "2 are not closed, the first in column 2; add 2 )",
		"a),b":      "the ) in column 2 closes none; remove it, or add a ( before it",
		"'a(b=1'":   "the ( in column 3 is not closed; add a ), and remove the quotes ' around it",
		"'a(b=1)'":  "the quotes ' around it are part of the text; remove them",
		`"a"`:       `the quotes " around it are part of the text; remove them`,
		"'a":        "the quote ' in column 1 has no counterpart; remove it",
		"a'":        "the quote ' in column 2 has no counterpart; remove it",
		"a'b'c":     "the name has the quote ' in column 2; remove it",
		"a(b=1)c":   `text after the closing parenthesis: "c" from column 7`,
		"a(b='x)":   "", // of the arguments
		"a(b=1)":    "",
	} {
		_, err := Split(text, ',')
		if err == nil {
			_, _, err = SplitCall(text)
		}
		switch want {
		case "":
			must.Do(t, err)
		default:
			must.Fail(t, err, want, text)
		}
	}
}

func TestSplitCall(t *testing.T) {
	for text, want := range map[string][2]string{"lru": {"lru", ""}, " x( k=1 ) ": {"x", " k=1 "}, "x()": {"x", ""},
		"m(a(b=1))": {"m", "a(b=1)"}} {
		name, args, err := SplitCall(text)
		if err != nil || name != want[0] || args != want[1] {
			t.Errorf("%q: got %q %q %v, want %q", text, name, args, err, want)
		}
	}
	if _, _, err := SplitCall("x(k=1)y"); err == nil {
		t.Error("text after the parenthesis: no error")
	}
}
