package params

import (
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"pgregory.net/rapid"
)

func TestQuotedValues(t *testing.T) {
	for args, want := range map[string]string{
		`size='a,b'`:                  "a,b",
		`size="a,b" , k=3`:            "a,b",
		`k=3, size='(a=1,[^"]\)' `:    `(a=1,[^"]\)`,
		`size='"$request" it's $x'`:   `"$request" it's $x`,
		`size=lognormal(a=1,b=2),k=3`: "lognormal(a=1,b=2)",
		`size=''`:                     "",
		`size=it's,k=3`:               "it's",
	} {
		if got := must.Get(ParseArgs(sample, args))(t).Text("size"); got != want {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
	must.NotGet(ParseArgs(sample, `size='a,b`))(t, "not closed")
	must.NotGet(ParseArgs(sample, `size='a'b`))(t, "not closed")
	if !Has(`size='a(',k=3`, "k") || Has(`size='a,k=3'`, "k") {
		t.Error("Has does not see quotes")
	}
}

// TestRestOfText: a parameter with Rest takes the text that follows as it is, unless it is in single quotes.
func TestRestOfText(t *testing.T) {
	ps := append(slices.Clone(sample), Param{Name: "format", Default: "", Rest: true})
	for args, want := range map[string]string{
		`k=3,format="$a","$b" (c,size=x`: `"$a","$b" (c,size=x`,
		`format='$a,$b',k=3`:             `$a,$b`,
		`k=3,format=`:                    ``,
	} {
		v := must.Get(ParseArgs(ps, args))(t)
		if v.Text("format") != want || v.Int("k") != 3 || v.Text("size") != "" {
			t.Errorf("%s: got %v, want the format %q", args, v, want)
		}
		if again := must.Get(ParseArgs(ps, Format(ps, v)))(t); again.Text("format") != want {
			t.Errorf("%s: written as %s", args, Format(ps, v))
		}
	}
}

// TestFormatQuotes checks that whatever can be read in some quotes is written so that it is read again.
func TestFormatQuotes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune(`ab='"(), `))).Draw(t, "text")
		quote := rapid.SampledFrom([]string{"", "'", `"`}).Draw(t, "quote")
		v, err := ParseArgs(sample, "k=5,size="+quote+text+quote+",share=0.5")
		if err != nil || v.Int("k") != 5 || v.Float("share") != 0.5 {
			return
		}
		again, err := ParseArgs(sample, Format(sample, v))
		if err != nil || again.Text("size") != v.Text("size") {
			t.Errorf("%q was written as %s and read as %v, %v", v.Text("size"), Format(sample, v), again["size"], err)
		}
	})
}
