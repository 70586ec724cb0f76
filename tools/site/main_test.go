package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

var update = flag.Bool("update", false, "write the golden pages")

// Every page of docs is on the site, has one place in the navigation, and no dead link.
func TestPagesAreNavigated(t *testing.T) {
	out := t.TempDir()
	staged, err := stage(root, filepath.Join(out, "docs"))
	if err != nil {
		t.Fatal(err)
	}
	if err := configure(root, out, staged, described(t)); err != nil {
		t.Error(err)
	}
	config := string(read(t, filepath.Join(out, "mkdocs.yml")))
	for _, want := range []string{"\n          - Predicting:\n", "\n            - guard: policy/guard.md\n"} {
		if !strings.Contains(config, want) {
			t.Errorf("the configuration lacks %q", want)
		}
	}
	front := string(read(t, filepath.Join(out, "docs/index.md")))
	if !strings.Contains(front, "](tour.md)") || strings.Contains(front, "](docs/") {
		t.Error("the links of the front page lead to docs/, want them to the pages of the site")
	}
	command := string(read(t, filepath.Join(out, "docs/commands/cachesim_run.md")))
	if !strings.HasPrefix(command, "# cachesim run\n") || !strings.Contains(command, "\n## Synopsis\n") {
		t.Errorf("a page of a command begins with %.40q, want its name as the title", command)
	}
	text := string(read(t, filepath.Join(root, "packaging/site/mkdocs.yml")))
	for from, want := range map[string]string{
		"  - A tour: tour.md\n":  "nav has tour.md 0 times; want each page once",
		"  - Start: index.md\n":  "nav has index.md 0 times; want each page once",
		"          # policies\n": "the line # policies must be there once",
	} {
		if err := named(strings.Replace(text, from, "", 1), staged); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %q: %v, want %q", from, err, want)
		}
	}
	err = named(text+"  - tour.md\n  - None: none.md\n", staged)
	if want := "nav has none.md, which is no page, tour.md 2 times"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("with more: %v, want %q", err, want)
	}
}

func TestLinksAreTurned(t *testing.T) {
	all, err := pages(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{"README.md", "[a](docs/tour.md#x) and `[b](docs/tour.md)`", "[a](tour.md#x) and `[b](docs/tour.md)`"},
		{"README.md", "`over\ntwo lines` [a](docs/tour.md)", "`over\ntwo lines` [a](tour.md)"},
		{"docs/tour.md", "[a](../README.md)[b](README.md)", "[a](index.md)[b](contents.md)"},
		{"docs/tour.md", "[a](../configs)", "[a](" + repository + "configs)"},
		{"docs/commands/cachesim.md", "[a](../tour.md)", "[a](../tour.md)"},
		{"docs/tour.md", "[a](https://example.org/x.md) [b](#c)", "[a](https://example.org/x.md) [b](#c)"},
		{"docs/tour.md", "    [a](none.md)\n```\n[a](none.md)\n```\n", "    [a](none.md)\n```\n[a](none.md)\n```\n"},
		{"docs/tour.md", "text:\n- one\n- two\n", "text:\n\n- one\n- two\n"},
		{"README.md", `<img src="docs/figures/demo_hit_ratio.png">`, `<img src="figures/demo_hit_ratio.png">`},
	} {
		if got, err := turn(root, c[1], c[0], all); err != nil || got != c[2] {
			t.Errorf("%s: %q became %q (%v), want %q", c[0], c[1], got, err, c[2])
		}
	}
	_, err = turn(root, "[a](none.md)", "docs/tour.md", all)
	if want := "docs/tour.md: a link to none.md, which is no file"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a dead link: %v, want %q", err, want)
	}
}

// The pages of two policies and the list of all are those in testdata, but for results, which are made up.
func TestPolicyPages(t *testing.T) {
	p := described(t)
	ratio := func(policy, capacity string, x float64) record {
		return record{Policy: policy, CapacityText: capacity, HitRatio: &x}
	}
	r := &results{
		setting: setting{traces: []string{"zipf(alpha=1)"}, flags: []string{"--predictor", "oracle(p=1)"},
			beside: []string{"lru", "opt"}, why: "A reason. "},
		tables: [][]record{{ratio("lru", "1%", 0.1), ratio("guard", "1%", 0.2), ratio("opt", "1%", 0.3),
			ratio("lru", "3%", 0.11), ratio("guard", "3%", 0.21), {Policy: "opt", CapacityText: "3%"}}},
	}
	golden := map[string]string{"index": p.index()}
	for _, one := range p.all {
		switch one.Name {
		case "guard":
			golden[one.Name] = one.page(r)
		case "lirs":
			golden[one.Name] = one.page(&results{setting: setting{why: "No trace."}})
		}
	}
	for name, got := range golden {
		file := "testdata/" + name + ".golden"
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want := string(read(t, file)); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s\n(-update writes it)", name, got, want)
		}
	}
	if len(golden) != 3 {
		t.Errorf("%d pages, want 3", len(golden))
	}
}

// A policy that the index of docs lacks has no page to link to.
func TestIndexNamesAll(t *testing.T) {
	lost := policy{Name: "lost"}
	err := lost.find(root, string(read(t, filepath.Join(root, "docs/policies.md"))))
	if want := "no row of its table names lost"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// described are three policies as the program describes them.
func described(t *testing.T) (p policies) {
	t.Helper()
	var err error
	if p.all, err = lines[policy](read(t, "testdata/policies.jsonl")); err != nil {
		t.Fatal(err)
	}
	metrics := []metric{{"guards", "count", "objects that were guarded", []string{"policy guard"}},
		{"predictions", "count", "asked | answered", []string{"policies that use a predictor"}}}
	if err := p.complete(root, metrics); err != nil {
		t.Fatal(err)
	}
	return p
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
