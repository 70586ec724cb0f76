package pins

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment/claims"
)

// run is a run with one claim that compares two values, the second of which varies between seeds.
func run(first, second float64, digest string) Measured {
	return Measured{Quick: true, Digest: digest, Claims: []Claim{
		{Text: `hits(a) > "hits"(b)`, Quantities: []claims.Quantity{
			{Of: "hits(a)", Mean: first}, {Of: "hits(b)", Mean: second, Half: 0.5}}},
		{Text: "cannot be checked"},
	}}
}

func TestBothWays(t *testing.T) {
	pinned := Of(run(1.0/3, 20, "d1"), "1.0+abc", "2026-11-29")
	for _, c := range []struct {
		now  Measured
		want []string
	}{
		{run(1.0/3, 20, "d1"), nil},
		{run(1.0/3*(1+1e-10), 20.49, "d1"), nil},
		{run(1.0/3, 19.51, "d1"), nil},
		{run(0.3334, 20, "d1"), []string{`hits(a) in the claim "hits(a) > \"hits\"(b)" went from 0.333333 to 0.3334, ` +
			`pinned by 1.0+abc on 2026-11-29`}},
		{run(1.0/3, 20.51, "d1"), []string{`hits(b) in the claim "hits(a) > \"hits\"(b)" went from 20 ±0.5 to 20.51, ` +
			`pinned by 1.0+abc on 2026-11-29`}},
		{run(1.0/3, 19.49, "d1"), []string{`hits(b) in the claim "hits(a) > \"hits\"(b)" went from 20 ±0.5 to 19.49, ` +
			`pinned by 1.0+abc on 2026-11-29`}},
		{run(1.0/3, 20, "d2"), []string{
			"records without random choices are not those that were pinned by 1.0+abc on 2026-11-29",
		}},
		{Measured{Quick: true, Digest: "d1", Claims: []Claim{{Text: `hits(a) > "hits"(b)`,
			Quantities: []claims.Quantity{{Of: "hits(a)", Mean: 1.0 / 3}, {Of: "hits(c)", Mean: 2}}}}}, []string{
			`hits(b) in the claim "hits(a) > \"hits\"(b)" was 20, pinned by 1.0+abc on 2026-11-29, and was not measured`,
			`hits(c) in the claim "hits(a) > \"hits\"(b)" is 2, and has no pin`}},
		{Measured{Digest: "another version"}, nil},
	} {
		if got := pinned.Moved(c.now); !slices.Equal(got, c.want) {
			t.Errorf("moved %q, want %q", got, c.want)
		}
	}
	if got := (Pins{}).Moved(run(1, 2, "d")); got != nil {
		t.Errorf("without pins %q moved", got)
	}
}

func TestUpdate(t *testing.T) {
	full := run(3, 4, "full")
	full.Quick = false
	pinned := must.Get(Of(run(1, 20, "d1"), "old", "2026-11-01").Update(full, "old", "2026-11-02", ""))(t)
	if _, err := pinned.Update(run(1, 21, "d1"), "new", "2026-11-29", ""); !errors.Is(err, ErrWhy) ||
		!strings.Contains(err.Error(), "20 to 21") {
		t.Errorf("a pin that moves without a reason: error %v", err)
	}
	moved := must.Get(pinned.Update(run(2, 20.4, "d2"), "new", "2026-11-29", "a rule changed"))(t)
	moved = must.Get(moved.Update(run(3, 20.3, "d2"), "newer", "2026-11-30", "and changed again"))(t)
	want := strings.Join([]string{
		strings.Join(columns, "\t"),
		"full\t\trecords\tfull\t0\told\t2026-11-02\t",
		"full\t\"hits(a) > \"\"hits\"\"(b)\"\thits(a)\t3\t0\told\t2026-11-02\t",
		"full\t\"hits(a) > \"\"hits\"\"(b)\"\thits(b)\t4\t0.5\told\t2026-11-02\t",
		"quick\t\trecords\td2\t0\tnew\t2026-11-29\t2026-11-29: d1 to d2, a rule changed",
		"quick\t\"hits(a) > \"\"hits\"\"(b)\"\thits(a)\t3\t0\tnewer\t2026-11-30\t2026-11-29: 1 to 2, a rule changed; " +
			"2026-11-30: 2 to 3, and changed again",
		"quick\t\"hits(a) > \"\"hits\"\"(b)\"\thits(b)\t20\t0.5\told\t2026-11-01\t\n",
	}, "\n")
	if got := write(t, moved); got != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
}

func write(t must.TB, p Pins) string {
	var b bytes.Buffer
	must.Do(t, p.Write(&b))
	return b.String()
}

// What has no interval, or is no number, has no pin.
func TestOnlyNumbersArePinned(t *testing.T) {
	m := Measured{Claims: []Claim{{Text: "c", Quantities: []claims.Quantity{{Of: "a", Mean: math.NaN()},
		{Of: "b", Mean: math.Inf(1)}, {Of: "c", Mean: 1, Half: math.Inf(1)}}}}}
	if got := Of(m, "", ""); len(got.pins) != 1 {
		t.Errorf("pins %+v, want only the records", got.pins)
	}
}

func TestReadRejects(t *testing.T) {
	head := strings.Join(columns, "\t") + "\n"
	for text, want := range map[string]string{
		"a\tb\n":                            "wrong number of fields; want tab-separated version, claim",
		strings.ToUpper(head):               "line 1 is",
		head + "quick\tc\to\t1\t0\n":        "wrong number of fields",
		head + "brief\tc\to\t1\t0\t\t\t\n":  `line 2: the version is "brief", want full or quick`,
		head + "full\tc\to\tx\t0\t\t\t\n":   `line 2: "x" is no number`,
		head + "full\tc\to\t1\tNaN\t\t\t\n": `line 2: "NaN" is no number`,
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if p := must.Get(Read(strings.NewReader("")))(t); p.pins != nil {
		t.Errorf("an empty file has pins %v", p)
	}
}

// FuzzRead: what can be read is written as it can be read again.
func FuzzRead(f *testing.F) {
	f.Add(write(f, Of(run(1, 2, "d"), "v", "2026-11-29")))
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		again := must.Get(Read(strings.NewReader(write(t, p))))(t)
		if len(again.pins) != len(p.pins) {
			t.Fatalf("%d pins were read, and %d after writing them", len(p.pins), len(again.pins))
		}
	})
}
