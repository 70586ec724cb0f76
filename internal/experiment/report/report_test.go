package report

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	size "github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// amount parses a capacity.
func amount(text string) size.Spec {
	spec, err := size.Parse(text)
	if err != nil {
		panic(err)
	}
	return spec
}

// sample is an experiment of two policies at two capacities with a claim of each verdict. One record is missing.
func sample() Input {
	in := Input{
		File: &experiment.File{
			Name: "sample", Title: "A <script>alert(1)</script> title", Source: "Doe & Roe 2003", About: "Short traces.",
			Seeds: experiment.Seeds{0}, Metrics: []string{"hit_ratio", "misses"},
			References: []experiment.Reference{{
				Name: "paper", Source: "Table 1", Metric: "hit_ratio", Within: 0.005, Points: []experiment.Point{{
					At:     map[string]experiment.Values{"policy": {"lru"}, "capacity": {"10%", "20%"}},
					Values: experiment.Numbers{0.25, 0.31},
				}},
			}},
			Figures: []experiment.Figure{{Name: "curve", Title: "Curve <b>", X: "capacity", Y: "hit_ratio",
				References: experiment.Values{"paper"}}},
			Tables: []experiment.Table{{Name: "ratios", Title: "Ratios", Cells: "hit_ratio", Against: "paper"}},
			Claims: []experiment.Claim{
				{Claim: "hit_ratio(arc) > hit_ratio(lru)", Stated: "ARC <i>outperforms</i> LRU", At: "Fig. 1"},
				{Claim: "hit_ratio(lru) decreases with capacity", Stated: "never stated", At: "Fig. 2", Note: "Made up."},
				{Claim: "misses(laru) == misses(opt)", Stated: "1-consistent", At: "Fig. 2"},
			},
			Absent: map[string]string{"laru": "laru comes later", "opt": "not here"},
		},
		Version: "1.2.3", Command: "cachesim sweep sample",
	}
	for i, text := range []string{"10%", "20%"} {
		spec := amount(text)
		for j, label := range []string{"lru", "arc"} {
			cell := experiment.Cell{
				Number: len(in.Cells), Hash: label + text, Label: label, Capacity: size.Capacity{Spec: spec},
				Workload: workload.Workload{Name: "demo", Files: []string{"demo.zst"}, Checksum: "sha256:abcdef"},
			}
			parts, err := sim.PartsOf(&records.Record{Policy: label, Cache: "exact"})
			if err != nil {
				panic(err)
			}
			cell.Parts = experiment.NewParts(parts)
			in.Cells = append(in.Cells, cell)
			if label == "arc" && i == 1 {
				continue
			}
			hits := int64(1000 + 200*i + 100*j)
			in.Records = append(in.Records, records.Record{
				Trace:  "demo",
				Policy: label,
				Label:  label,
				Kind:   "online",
				Cell:   cell.Hash,
				Capacity: int64(
					100 * (i + 1),
				),
				CapacityUnit:  records.Objects,
				CapacityText:  text,
				CapacityShare: new(0.1 * float64(i+1)),
				Values: metric.ValuesOf(map[string]float64{"requests": 4000, "hits": float64(hits),
					"misses": float64(4000 - hits), "hit_ratio": float64(hits) / 4000}),
				SampleRate: 1,
			})
		}
	}
	return in
}

func write(t *testing.T, in Input) (page string, elements []*html.Node, summary Summary) {
	t.Helper()
	dir := t.TempDir()
	summary = must.Get(Write(dir, in))(t)
	text := must.Get(os.ReadFile(filepath.Join(dir, sweep.PageName)))(t)
	return string(text), parse(t, string(text)), summary
}

func parse(t *testing.T, page string) (elements []*html.Node) {
	t.Helper()
	root := must.Get(html.Parse(strings.NewReader(page)))(t)
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			elements = append(elements, n)
		}
	}
	return elements
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// content is the text in an element.
func content(n *html.Node) string {
	var s strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			s.WriteString(d.Data)
		}
	}
	return s.String()
}

func texts(elements []*html.Node, name string) (all []string) {
	for _, n := range elements {
		if n.Data == name {
			all = append(all, content(n))
		}
	}
	return all
}

func TestPageShowsTheExperiment(t *testing.T) {
	page, elements, summary := write(t, sample())
	for _, want := range []string{
		"Doe &amp; Roe 2003", "Short traces.", "abcdef", "1,000", "4,000", "10% (100), 20% (200)", "cachesim 1.2.3",
		"laru comes later", "Made up.", "Fig. 2",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	if got := texts(elements, "h1"); !slices.Equal(got, []string{"A <script>alert(1)</script> title"}) {
		t.Errorf("h1 is %q", got)
	}
	codes := texts(elements, "code")
	for _, c := range summary.Claims {
		if !slices.Contains(codes, c.Claim) {
			t.Errorf("the claim %q is not on the page", c.Claim)
		}
	}
	if !slices.Contains(codes, "cachesim sweep sample") {
		t.Error("the command is not on the page")
	}
}

func TestClaimsAreJudged(t *testing.T) {
	_, _, summary := write(t, sample())
	var got []claims.Verdict
	for _, c := range summary.Claims {
		got = append(got, c.Verdict)
	}
	if want := []claims.Verdict{claims.Reproduced, claims.Refuted, claims.NotTestable}; !slices.Equal(got, want) {
		t.Errorf("verdicts %v, want %v", got, want)
	}
	if want := "checked 2 of 3 claims: 1 reproduced, 1 refuted, 1 not testable here"; summary.Verdict() != want {
		t.Errorf("verdict %q, want %q", summary.Verdict(), want)
	}
	if c := summary.Claims[1]; len(c.Failing) != 1 || c.Measured == "" {
		t.Errorf("the claim that does not hold fails at %v, measured %q", c.Failing, c.Measured)
	}
	if want := []string{"Ratios: 1 of 2 agree with paper within 0.5 points"}; !slices.Equal(summary.Published, want) {
		t.Errorf("published %q, want %q", summary.Published, want)
	}
}

// TestPageStandsAlone checks that the page is readable offline and safe to open: it loads nothing.
func TestPageStandsAlone(t *testing.T) {
	page, elements, _ := write(t, sample())
	scripts := 0
	for _, n := range elements {
		switch n.Data {
		case "script":
			scripts++
		case "b", "i", "link", "img", "iframe", "object", "embed", "base", "form":
			t.Errorf("the page has a %s", n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "src" {
				t.Errorf("%s has an attribute %s", n.Data, a.Key)
			}
			if (a.Key == "href") && (strings.Contains(a.Val, ":") || strings.HasPrefix(a.Val, "/")) {
				t.Errorf("a link leads to %s", a.Val)
			}
		}
	}
	if scripts != 1 {
		t.Errorf("the page has %d scripts, want its own", scripts)
	}
	if strings.Contains(page, "url(") || strings.Contains(page, "@import") {
		t.Error("a style loads something")
	}
}

func TestPageIsAccessible(t *testing.T) {
	_, elements, _ := write(t, sample())
	ids := map[string]bool{}
	for _, n := range elements {
		if id := attribute(n, "id"); id != "" {
			if ids[id] {
				t.Errorf("two elements have the id %s", id)
			}
			ids[id] = true
		}
	}
	svgs := 0
	for _, n := range elements {
		switch n.Data {
		case "html":
			if attribute(n, "lang") == "" {
				t.Error("the page has no language")
			}
		case "th":
			if attribute(n, "scope") == "" {
				t.Errorf("the heading %q has no scope", content(n))
			}
		case "table":
			if !slices.ContainsFunc(slices.Collect(n.ChildNodes()), func(c *html.Node) bool { return c.Data == "caption" }) {
				t.Error("a table has no caption")
			}
		case "svg":
			svgs++
			if attribute(n.Parent, "role") != "img" || attribute(n.Parent, "aria-label") == "" {
				t.Error("a figure has no text that stands for it")
			}
		case "a":
			if name, ok := strings.CutPrefix(attribute(n, "href"), "#"); ok && !ids[name] {
				t.Errorf("a link leads to #%s, which is not there", name)
			}
		}
	}
	if svgs != 2 {
		t.Errorf("%d drawings, want one figure, drawn for large and small screens", svgs)
	}
}

func TestLinksLeadToFiles(t *testing.T) {
	dir := t.TempDir()
	must.Get(Write(dir, sample()))(t)
	page := must.Get(os.ReadFile(filepath.Join(dir, sweep.PageName)))(t)
	figures := 0
	for _, n := range parse(t, string(page)) {
		if href := attribute(n, "href"); strings.HasPrefix(href, "figures/") {
			figures++
			if _, err := os.Stat(filepath.Join(dir, href)); err != nil {
				t.Error(err)
			}
		}
	}
	if figures != 3 {
		t.Errorf("%d links to files of figures, want SVG, PNG and PDF", figures)
	}
}

func TestPageIsDeterministic(t *testing.T) {
	a, _, _ := write(t, sample())
	b, _, _ := write(t, sample())
	if a != b {
		t.Error("the same input gave two pages")
	}
}

func TestQuickVersionSaysSo(t *testing.T) {
	in := sample()
	page, _, _ := write(t, in)
	in.Quick = true
	quick, _, _ := write(t, in)
	if strings.Contains(page, "quick version") || !strings.Contains(quick, "quick version") {
		t.Error("the quick version, and it alone, should say that it is one")
	}
	if want := "It checks 2 of 3 claims, and its verdicts are hints."; !strings.Contains(quick, want) {
		t.Errorf("the page of the quick version has no %q", want)
	}
}

// A quick version that leaves out what most claims are about is a smoke test, and is called that wherever it is named.
func TestFewClaimsMakeASmokeTest(t *testing.T) {
	in := sample()
	in.Quick = true
	in.File.Claims = append(in.File.Claims, in.File.Claims[2], in.File.Claims[2])
	page, _, summary := write(t, in)
	if want := "It is a smoke test, which checks 2 of 5 claims."; !strings.Contains(page, want) {
		t.Errorf("the page has no %q", want)
	}
	var printed bytes.Buffer
	must.Do(t, Print(&printed, []Summary{summary}, "table", PrintOptions{}))
	for _, text := range []string{printed.String(), string(indexPart(summary, "").HTML)} {
		if want := "(quick version, a smoke test)"; !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	summary.Claims = summary.Claims[:4]
	if summary.IsSmokeTest() {
		t.Error("half of the claims are enough")
	}
	summary.Claims, summary.Quick = summary.Claims[2:], false
	if summary.IsSmokeTest() {
		t.Error("an experiment in full is no smoke test, whatever it checks")
	}
}

// TestWithoutRecords writes what can be written before anything has run.
func TestWithoutRecords(t *testing.T) {
	in := sample()
	in.Records = nil
	_, _, summary := write(t, in)
	want := []string{"figure curve: there are no records for it", "table ratios: there are no records for it"}
	if got := summary.Remarks(); !slices.Equal(got, want) {
		t.Errorf("remarks %q, want %q", got, want)
	}
	if n := summary.Count(claims.NotTestable); n != 3 {
		t.Errorf("%d claims are not checkable, want 3", n)
	}
}

func TestAFigureThatCannotBeWrittenIsAnError(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, sweep.FiguresDir), nil, 0o644))
	must.NotGet(Write(dir, sample()))(t, "it is a file, want a folder")
}

// What does not hold stands before everything else, and nowhere twice.
func TestFailuresStandFirst(t *testing.T) {
	page, elements, summary := write(t, sample())
	headings := texts(elements, "h2")
	if len(headings) < 2 || headings[0] != "What is refuted" || headings[1] != "Claims" {
		t.Errorf("headings %q", headings)
	}
	for _, c := range summary.Claims {
		if n := strings.Count(page, "<code>"+html.EscapeString(c.Claim)+"</code>"); n != 1 {
			t.Errorf("the claim %q stands there %d times", c.Claim, n)
		}
	}
	if !strings.Contains(page, "<p>"+summary.Published[0]+"</p>") {
		t.Error("that numbers differ from those published is not among the failures")
	}
	in := sample()
	in.File.Claims, in.File.Tables = in.File.Claims[:1], nil
	if _, elements, _ := write(t, in); slices.Contains(texts(elements, "h2"), "What is refuted") {
		t.Error("there are failures where everything holds")
	}
}

// The page of a quick version says which sizes ran, as its description is that of the whole.
func TestQuickPagesStateTheirSizes(t *testing.T) {
	in := sample()
	in.Quick = true
	for i := range in.Records {
		in.Records[i].Axes = "scale=0.005"
	}
	note := newPage(in, Summary{}, nil, nil).Notes[0]
	n, _ := requests(&in.Records[0])
	for _, want := range []string{"demo with " + show.Count(n) + " requests at capacity 10%", "20%", "scale = 0.005"} {
		if !strings.Contains(note, want) {
			t.Errorf("the note %q has no %q", note, want)
		}
	}
}
