package experiment

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// base is the shortest experiment; the text that tests add starts on line 7.
const base = `name: test
title: a test
source: none
traces: [{name: t, generate: zipf}]
policies: [lru, arc]
capacities: [1%, 2%]
`

func TestLoadErrors(t *testing.T) {
	replace := func(old, new string) string { return strings.Replace(base, old, new, 1) }
	for _, test := range []struct{ text, want string }{
		{"", "x.yaml: is empty; want an experiment: name, title, source, traces, policies, capacities"},
		{"# nothing\n", "x.yaml: is empty"},
		{"hello", `x.yaml:1: want the experiment to have keys with values, not "hello"`},
		{"\x1f\x8b\x08\xff", "x.yaml: is not text"},
		{base + "---\n" + base, "x.yaml: has 2 documents; want one experiment per file"},
		{base + "about: 'abc\n", "x.yaml:7: could not find end character of single-quoted text"},
		{base + "about: " + strings.Repeat("[", 100000), "x.yaml:7: is nested more than 100 levels deep"},
		{base + "about:\n" + strings.Repeat("- ", 5000), "x.yaml:8: is nested more than 100 levels deep"},

		{replace("[lru, arc]", "[lru, s3fifo(small=0.1,ghost=0.9)]"),
			"x.yaml:5: the comma ends the text s3fifo(small=0.1; put it in quotes: 's3fifo(small=0.1,ghost=0.9)'"},
		{replace("generate: zipf", "generate: zipf(objects=10,alpha=1)"),
			"x.yaml:4: the comma ends the text zipf(objects=10; put it in quotes: 'zipf(objects=10,alpha=1)'"},
		{replace("[lru, arc]", "[lru, 's3fifo(small=0.1,ghost=0.9)', arc(]"), `x.yaml:5: policy "arc("`},
		{replace("a test", "a: test, it's"),
			"x.yaml:2: a text with a colon and a space in it needs quotes: title: 'a: test, it''s'"},
		{base + "figurs: []\n", `x.yaml:7: unknown key "figurs"; did you mean "figures"? (exists: figures, groups, title, `},
		{base + "figures:\n  - {name: a, x: capacity, y: misses,\n     panel: trace}\n", `x.yaml:9: unknown key "panel"; ` +
			`did you mean "panels"?`},
		{base + "figures:\n  - {name: a, x: capacity, y: misses, along: capacity}\n", `x.yaml:8: with along, x is a ` +
			`metric: unknown metric "capacity"`},
		{base + "figures:\n  - {name: a, x: hits, y: misses, along: noise}\n", `x.yaml:8: unknown dimension "noise"`},
		{base + "series: 10\nfigures:\n  - {name: a, x: time, y: trace, color: hit_ratio}\n",
			"x.yaml:9: over time, the rows of a heat map are the labels of the series: want y: label, not trace"},
		{base + "series: 10\nfigures:\n  - {name: a, x: time, y: label, color: hit_ratio, panels: trace}\n",
			"x.yaml:9: a heat map over time has only the keys name, title, x, y, color, " +
				"only, x-label and y-label"},
		{base + "series: 10:evictions\nfigures:\n  - {name: a, x: time, y: label, color: hit_ratio}\n",
			"x.yaml:9: series: 10:evictions does not include hit_ratio"},
		{base + "figures:\n  - {name: a, x: time, y: label, color: hit_ratio}\n",
			"x.yaml:8: figure a is over time, but the experiment keeps no series; add, for example, series: 10000"},
		{base + "figures:\n  - {name: a, x: hits, y: misses, along: [capacity, noise]}\n",
			`x.yaml:8: unknown dimension "noise"`},
		{replace("{name: t, generate: zipf}", "{name: t, file: q.jsonl, embeddings: magic}"), `x.yaml:4: trace t: ` +
			`embeddings magic: unknown embedder "magic"`},
		{base + "title: b\n", `x.yaml:7: key "title" appears twice; it is on line 2 already`},
		{base + "warmup:\n", "x.yaml:7: want warmup to be a whole number, not nothing"},
		{base + "warmup: many\n", `x.yaml:7: want warmup to be a whole number, not "many"`},
		{base + "warmup: 1.5\n", `x.yaml:7: want warmup to be a whole number, not "1.5"`},
		{base + "warmup: 99999999999999999999\n", "x.yaml:7: want warmup to be a whole number"},
		{replace("generate: zipf}", "generate: zipf, warmup: -1}"),
			"x.yaml:4: trace t: warmup -1: want a number of requests, at least 0"},
		{base + "warmup: -1\n", "x.yaml:7: warmup -1: want a number of requests, at least 0"},
		{base + "bytes: yes\n", `x.yaml:7: want bytes to be true or false, not "yes"`},
		{base + "groups: {a: lru}\n", "x.yaml:7: want a to be a list, written [a, b] or with one - for each, not \"lru\""},
		{base + "about: 0.10\n", `x.yaml:7: want about to be a text, in quotes, not "0.10"`},
		{base + "absent: {0.10: why}\n", "x.yaml:7: want a name as a key of absent; numbers, true and false need quotes"},
		{base + "groups: [a]\n", "x.yaml:7: want groups to have keys with values, not a list"},
		{base + "about: \"a\\tb\"\n", "x.yaml:7: want about to be a text, not a text with tabs or control characters"},
		{base + "about: &a x\n", "x.yaml:7: want about to be a text, not an anchor, alias or tag"},
		{base + "groups: {a: &x [lru], b: *x}\n", "x.yaml:7: want a to be a list"},
		{replace("[lru, arc]", "[lru, [arc]]"), "x.yaml:5: want each of policies to have keys with values, not a list"},
		{replace("title: a test\n", ""), "x.yaml:1: the experiment has no title; add one"},
		{replace("[1%, 2%]", "{a: b}"), "x.yaml:6: want a capacity (1%)"},
		{base + "seeds: 0\n", `x.yaml:7: seeds "0": want a number of seeds (from 1 to 10000)`},
		{base + "seeds: [3, 3]\n", "x.yaml:7: seed 3 is listed twice"},
		{base + "seeds: [-1]\n", `x.yaml:7: seed "-1": want a whole number from 0`},

		{replace("arc", "arcc"), `x.yaml:5: unknown policy "arcc"; did you mean "arc"?`},
		{replace("arc", "lru"), "x.yaml:5: two policies are called lru; give one of them another name under as"},
		{replace("arc", "{policy: s3fifo, with: {smal: 0.1}}"), `x.yaml:5: policy s3fifo: unknown parameter "smal"; did ` +
			`you mean "small"?`},
		{replace("arc", "{policy: s3fifo(small=0.1), with: {small: 0.2}}"), "x.yaml:5: policy s3fifo: parameter small is " +
			"given twice"},
		{replace("arc", "{policy: s3fifo, with: {small: [0.1, 0.10]}}"), "x.yaml:5: policy s3fifo: with: small: 0.10 " +
			"appears twice"},
		{replace("generate: zipf", "generate: zipff"), `x.yaml:4: trace t: unknown generator "zipff"; did you mean "zipf"?`},
		{replace("generate: zipf", "generate: zipf, with: {seed: [1, 2]}"), "x.yaml:4: t: with: seed: is not an axis; " +
			"write the experiment's seeds under seeds"},
		{replace("generate: zipf", "generate: zipf, with: {size: 'lognormal(mean=1,sigma=1)'}"), "x.yaml:4: t: with: size: " +
			"\"lognormal(mean=1,sigma=1)\" cannot be a place on an axis"},
		{replace("generate: zipf", "generate: zipf, file: a"), "x.yaml:4: trace t: want exactly one of file, files and " +
			"generate"},
		{replace("generate: zipf", "file: a, format: csb"), `x.yaml:4: trace t: unknown trace format "csb"; did you mean ` +
			`"csv"?`},
		{replace("name: t,", "name: a b,"), "x.yaml:4: trace a b: want letters, digits, - and _ in its name"},
		{replace("[1%, 2%]", "1gb"), `x.yaml:6: capacity "1gb": unknown unit "gb"; did you mean 1GB or 1GiB?`},
		{replace("[1%, 2%]", "[1%, 1%]"), "x.yaml:6: capacity 1% is listed twice"},
		{replace("[1%, 2%]", "64MiB"), "x.yaml:4: trace t: its capacities count bytes, but its objects have no sizes"},
		{replace("[1%, 2%]", "64MiB") + "unit-size: true\n", "x.yaml:7: trace t: its capacities count bytes, but unit-size " +
			"ignores sizes"},
		{strings.NewReplacer("generate: zipf", "file: a", "arc", "opt-bypass", "[1%, 2%]",
			"64MiB").Replace(base), "x.yaml:5: capacity 64MiB: policy opt-bypass works with capacities in objects only, not " +
			"in bytes"},
		{base + "bytes: true\nunit-size: true\n", "x.yaml:8: bytes and unit-size exclude each other"},
		{replace("capacities: [1%, 2%]\n", ""), "x.yaml:4: trace t has no capacities"},
		{replace("[1%, 2%]", "1..9999+1") + "seeds: 9999\n", "x.yaml:1: the experiment has 199960002 cells, more than " +
			"100000: 1 traces, 9999 capacities, 2 policies, 9999 seeds, with their axes"},
		{base + "caches: [magic]\n", `x.yaml:7: unknown cache "magic"`},
		{base + "metrics:\n- misses\n- hit_rate\n", `x.yaml:9: unknown metric "hit_rate"; did you mean "hit_ratio"?`},
		{base + "groups: {a: [lru, lruu]}\n", `x.yaml:7: group a: unknown policy "lruu"; did you mean "lru"?`},
		{base + "groups: {lru: [arc]}\n", "x.yaml:7: group lru has the name of a policy"},
		{base + "absent: {lru: why}\n", "x.yaml:7: lru is absent, but it is one of the policies"},
		{base + "figures: [{name: ../a, x: capacity, y: misses}]\n", `x.yaml:7: name "../a": want letters, digits, - and _`},
		{base + "figures:\n- {name: a, x: capacity, y: misses}\n- {name: A, x: capacity, y: misses}\n", "x.yaml:9: the " +
			"name A appears twice"},
		{base + "figures: [{name: a, x: alpha, y: misses}]\n", `x.yaml:7: unknown dimension "alpha" (exists: trace, ` +
			`policy, capacity, seed)`},
		{base + "predictors: [oracle, 'noisy(p=0.1)']\n", "x.yaml:7: the name \"noisy(p=0.1)\" cannot be a place on the " +
			"axis predictor; choose a simple one: {use: \"noisy(p=0.1)\", as: NAME}"},
		{base + "predictors: [oracle, {use: noisy, as: oracle}]\n", "x.yaml:7: two predictors are called oracle"},
		{base + "predictors: [orakel]\n", `x.yaml:7: unknown predictor "orakel"; did you mean "oracle"?`},
		{base + "models: [quick]\n", `x.yaml:7: unknown model "quick"`},
		{base + "predictors: [{use: noisy, with: {q: 1}}]\n", `x.yaml:7: predictor noisy: unknown parameter "q"`},
		{base + "figures: [{name: a, x: capacity, y: misses, only: {capacity: 3%}}]\n", `x.yaml:7: unknown capacity "3%"`},
		{base + "figures: [{name: a, x: capacity, y: misses, references: paper}]\n", `x.yaml:7: unknown reference "paper"`},
		{base + "figures: [{name: a, x: capacity, y: misses, log: z}]\n", `x.yaml:7: log: want x, y or both, not "z"`},
		{base + "figures: [{name: a, x: capacity, y: misses, from: 5}]\n",
			"x.yaml:7: from is the time at which a figure over time begins; use it with x: time"},
		{base + "series: 10\nfigures: [{name: a, x: time, y: hit_ratio, from: -5}]\n",
			"x.yaml:8: from -5: want a number of requests or, with windows of time, of seconds, from 0"},
		{base + "figures: [{name: a, x: capacity, y: policy, color: mises}]\n",
			`x.yaml:7: unknown metric "mises"; did you mean "misses"?`},
		{base + "figures: [{name: a, x: capacity, y: hits, color: misses}]\n", `x.yaml:7: unknown dimension "hits"`},
		{base + "figures: [{name: a, x: policy, y: policy, color: misses}]\n",
			"x.yaml:7: with color, x, y and panels are three different dimensions"},
		{base + "figures: [{name: a, x: capacity, y: policy, panels: capacity, color: misses}]\n",
			"x.yaml:7: with color, x, y and panels are three different dimensions"},
		{base + "figures: [{name: a, x: capacity, y: policy, color: misses, lines: trace}]\n",
			"x.yaml:7: a heat map has cells, and neither lines nor marks; remove along, lines, references and from"},
		{base + "figures: [{name: a, x: capacity, y: policy, color: misses, log: [color, x]}]\n",
			`x.yaml:7: log: with color, want color, not "x": all cells are equally large`},
		{base + "figures: [{name: a, x: capacity, values: {b: misses(lru)}}]\n",
			"x.yaml:7: values are lines with a y-label, or with y"},
		{base + "figures: [{name: a, x: capacity, y-label: b, values: {b: misses(lur)}}]\n",
			`x.yaml:7: unknown policy "lur"`},
		{base + "figures: [{name: a, x: capacity, y-label: b, values: {b: misses(lru) >}}]\n",
			`x.yaml:7: column 13: ">" is unexpected here; want the end or where`},
		{base + "figures: [{name: a, x: capacity, y: trace, values: {b: misses(lru), c: misses(arc)}}]\n",
			"x.yaml:7: values are lines with a y-label, or with y"},
		{base + "figures: [{name: a, x: capacity, y: capacity, values: {b: misses(lru)}}]\n",
			"x.yaml:7: with color, x, y and panels are three different dimensions"},
		{base + "figures: [{name: a, x: capacity, y-label: b, lines: trace, values: {b: misses(lru)}}]\n",
			"x.yaml:7: values are lines with a y-label, or with y"},
		{base + "figures: [{name: a, x: capacity, y-label: b, only: {policy: lru}, values: {b: misses(lru)}}]\n",
			"x.yaml:7: values are lines with a y-label, or with y"},
		{base + "figures: [{name: a, x: noise, y-label: b, values: {b: misses(lru)}}]\n",
			`x.yaml:7: unknown dimension "noise"`},
		{base + "figures: [{name: a, x: capacity}]\n", "x.yaml:7: figures[0] has no y; add one"},
		{base + "figures: [{name: a, x: time, y: policy, color: misses}]\n",
			"x.yaml:7: figure a is over time, but the experiment keeps no series; add, for example, series: 10000"},
		{base + "figures: [{name: a, x: capacity_share, y: policy, color: misses, only: {policy: lur}}]\n",
			`x.yaml:7: unknown policy "lur"; did you mean "lru"?`},
		{base + "tables: [{name: a}]\n", "x.yaml:7: tables[0] has no cells; add one"},
		{base + "references: [{name: a, source: b, metric: misses, points: [{policy: lru, capacity: [1%, 2%], values: " +
			"1}]}]\n", "x.yaml:7: reference a: a point has 1 values for 2 places"},
		{base + "references: [{name: a, source: b, metric: misses, points: [{policy: lru, values: x}]}]\n", `x.yaml:7: ` +
			`want a number (0.05) or a percentage (5%), not "x"`},
		{base + "claims:\n- claim: misses(lru) >\n", "x.yaml:8: "},
		{base + "claims:\n- claim: misses(lru) > 3\n  name: p\n- claim: misses(lru) > 4\n  given: pp\n",
			`x.yaml:11: unknown claim "pp"; did you mean "p"?`},
		{base + "claims:\n- claim: misses(lru) > 3\n  given: p\n- claim: misses(lru) > 4\n  name: p\n",
			`x.yaml:9: unknown claim "p"`},
		{base + "claims:\n- claim: misses(lru) > 3\n  name: p\n- claim: misses(lru) > 4\n  name: p\n",
			`x.yaml:11: two claims are called "p"`},
		{base + "claims:\n- claim: misses(lru) > 3\n  calibrated: scale\n", `x.yaml:9: "scale" names no constant`},
		{base + "claims:\n- claim: misses(lru) > 3\n  expected: fails\n", `x.yaml:9: unknown verdict "fails"`},
		{base + "claims:\n- claim: misses(lru) about 3 or mor\n", `x.yaml:8: column 24: "mor" is unexpected here`},
		{base + "claims:\n- claim: misses(lru) > misses(arcc)\n", "x.yaml:8: unknown policy \"arcc\""},
		{base + "claims:\n- claim: misses(lru) > 3 where trace = nowhere\n", "x.yaml:8: unknown trace \"nowhere\""},
		{replace("arc", "{policy: s3fifo, with: {small: }}"), "x.yaml:5: want small to have a value, not nothing"},
		{replace("[1%, 2%]", "[]"), "x.yaml:6: want a capacity (1%), a text with several (1%,5%,10%..40%x2) or a list of " +
			"them, not an empty list"},
		{base + "seeds: [9223372036854775808]\n", `x.yaml:7: seed "9223372036854775808": want a whole number from 0 to ` +
			`9223372036854775807`},
		{base + "groups: {all: [arc]}\n", "x.yaml:7: group all has the name of a built-in group"},
		{base + "absent: {laru: ''}\n", "x.yaml:7: absent: laru has no reason; say why it is missing"},
		{base + "quick: {limit: -1}\n", "x.yaml:7: limit -1: want a number of requests, from 1"},
		{base + "quick: {traces: [oltp]}\n", `x.yaml:7: unknown trace "oltp"`},
		{base + "quick: {set: [seeds=x]}\n", `x.yaml:7: seeds=x: seeds "x"`},
		{base + "quick: {capacities: 1gb}\n", `x.yaml:7: the quick version: capacities: capacity "1gb"`},
		{base + "only: [policy=lur]\n", `x.yaml: --only policy=lur: unknown policy "lur"; did you mean "lru"? (exists: ` +
			`lru, arc)`},
	} {
		_, err := parse([]byte(test.text), source{name: "x.yaml"})
		if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.200s\ngives %v\nwant  %s", test.text, err, test.want)
		}
	}
}

func TestLoadWantsAnExperiment(t *testing.T) {
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge.yaml")
	must.Do(t, os.WriteFile(huge, []byte(base+"about: "+strings.Repeat("x", maxFileSize)), 0o600))
	for path, want := range map[string]string{
		dir:                             "is a folder",
		huge:                            "has at most 256 KiB",
		filepath.Join(dir, "none.yaml"): "no such file",
		"-":                             "cannot be read from standard input; give the name of its file",
		"":                              `unknown experiment "" (exists: classic-block`,
		"zipf-skw":                      `unknown experiment "zipf-skw"; did you mean "zipf-skew"?`,
	} {
		must.NotGet(Load(path))(t, want, path)
	}
}

func TestAFolderThatTheFileCannotNameIsRefused(t *testing.T) {
	f := must.Get(parse([]byte(base), source{name: "x.yaml", dir: "/a\nb"}))(t)
	must.NotGet(f.Encode())(t, `cannot store "/a\nb"`)
}

// The experiment that a sweep writes next to its results also finds the traces from there.
func TestTracesAreLookedForBesideTheFile(t *testing.T) {
	t.Setenv(workload.Env, "/traces")
	dir := t.TempDir()
	path := filepath.Join(dir, "x.yaml")
	for text, want := range map[string]string{base: dir, base + "traces-in: sub\n": filepath.Join(dir, "sub"),
		base + "traces-in: /abs\n": "/abs"} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		f := must.Get(Load(path))(t)
		encoded := must.Get(f.Encode())(t)
		again := must.Get(parse(encoded, source{name: "out/experiment.yaml", dir: "out"}))(t)
		for _, file := range []*File{f, again} {
			if got := file.Dirs(); !slices.Equal(got, []string{want, "/traces"}) {
				t.Errorf("traces are looked for in %q, want %s", got, want)
			}
		}
	}
	f, err := Load("example")
	if err != nil || !slices.Equal(f.Dirs(), []string{"/traces"}) {
		t.Errorf("%v: traces of the program's own experiments are looked for in %q", err, f.Dirs())
	}
}

func TestShortForms(t *testing.T) {
	f := mustParse(t, `
about: |
  Two
  lines.
traces:
  - {name: t, generate: zipf, with: {alpha: 0.90}}
policies: [lru, {policy: s3fifo, as: s3, with: {small: [0.1, 0.20]}}]
capacities: 1%, 2%..8%x2
seeds: 3
references:
  - {name: r, source: s, metric: hit_ratio, within: 0.005%,
     points: [{policy: lru, capacity: [1%, 2%], values: [16.47%, 0.2]}]}
`)
	for _, test := range []struct{ got, want any }{
		{f.About, "Two lines."},
		{f.Traces[0].With, map[string]Values{"alpha": {"0.90"}}},
		{f.Policies, []Policy{{Policy: "lru"}, {Policy: "s3fifo", As: "s3", With: map[string]Values{"small": {"0.1",
			"0.20"}}}}},
		{f.Capacities, Capacities{"1%", "2%..8%x2"}},
		{f.Seeds, Seeds{0, 1, 2}},
		{f.References[0].Within, Number(0.00005)},
		{f.References[0].Points, []Point{{At: map[string]Values{"policy": {"lru"}, "capacity": {"1%",
			"2%"}}, Values: Numbers{0.1647, 0.2}}}},
	} {
		if !reflect.DeepEqual(test.got, test.want) {
			t.Errorf("got %#v, want %#v", test.got, test.want)
		}
	}
}

// same reports whether two experiments are equal, regardless of their origin.
func same(a, b *File) bool {
	x, y := *a, *b
	x.source, y.source = source{}, source{}
	return reflect.DeepEqual(x, y)
}

func TestEncodeKeepsEmbeddedExperiments(t *testing.T) {
	for _, name := range brief.SampleLong(6, configs.Names()...) {
		for _, quick := range []bool{false, true} {
			f, err := Load(name)
			must.Do(t, err)
			must.Do(t, f.Apply([]string{"seeds=2"}, quick))
			text, err := f.Encode()
			must.Do(t, err)
			again, err := parse(text, source{name: name})
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			if !same(f, again) {
				t.Errorf("%s is not the same experiment:\n%s", name, text)
			}
		}
	}
}

// The YAML library omits the quotes of this one.
func TestEncodeKeepsAQuestion(t *testing.T) {
	f := mustParse(t, base[strings.Index(base, "traces"):]+"about: \"? why\"\n")
	text, err := f.Encode()
	must.Do(t, err)
	again, err := parse(text, source{name: "test.yaml"})
	if err != nil || !same(f, again) {
		t.Errorf("%v: not the same experiment: %s", err, text)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(base))
	for i, name := range configs.Names() {
		if i%10 == 0 { // TestEncodeKeepsEmbeddedExperiments has all
			f.Add(configs.Text(name))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := parse(text, source{name: "x.yaml"})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "x.yaml:") || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error %q is not one line about the file", err)
			}
			return
		}
		encoded, err := file.Encode()
		must.Do(t, err)
		if again, err := parse(encoded, source{name: "x.yaml"}); err != nil || !same(file, again) {
			t.Errorf("%v: not the same experiment: %s", err, encoded)
		}
	})
}

// The time to read an axis with many places grows with their number, not with its square: so do the texts that
// places are compared by.
func TestLongAxes(t *testing.T) {
	allocations := func(count int) float64 {
		var places []string
		for i := range count {
			places = append(places, strconv.Itoa(i+1))
		}
		text := strings.Replace(base, "[lru, arc]", "[{policy: lru-k, with: {crp: ["+strings.Join(places, ",")+"]}}]", 1)
		return testing.AllocsPerRun(1, func() {
			f := must.Get(parse([]byte(text), source{name: "x.yaml"}))(t)
			if n := len(f.Policies[0].With["crp"]); n != len(places) {
				t.Errorf("%d places, want %d", n, len(places))
			}
		})
	}
	if few, many := allocations(500), allocations(4000); many > 12*few {
		t.Errorf("%v allocations for 500 places and %v for 4000, want at most 12 times as many", few, many)
	}
}

func TestPlacesThatAreThereTwice(t *testing.T) {
	for _, places := range []string{"0.1, 0.10", "0, -0.0", "1e3, 5, 1000", "1, 2, 1"} {
		text := strings.Replace(base, "[lru, arc]", "[{policy: lru-k, with: {k: ["+places+"]}}]", 1)
		if _, err := parse([]byte(text), source{name: "x.yaml"}); err == nil ||
			!strings.Contains(err.Error(), "appears twice") {
			t.Errorf("[%s]: error %v", places, err)
		}
	}
}

func TestLabelsAreDimensionsOfTheirMetrics(t *testing.T) {
	base := "traces: [{name: t, generate: zipf}]\npolicies: [lru, arc]\ncapacities: 3\n"
	for text, want := range map[string]string{
		"figures: [{name: a, x: tenant, y: tenant_hit_ratio, only: {tenant: web}}]":        "",
		"tables: [{name: a, rows: tenant, cells: tenant_hit_ratio}]":                       "",
		"claims: [{claim: mean over tenant of tenant_hit_ratio(lru) > 0.5}]":               "",
		"claims: [{claim: 'tenant_hit_ratio(lru) > hit_ratio(arc) where tenant in a, b'}]": "",
		"figures: [{name: a, x: tenant, y: policy, color: tenant_hit_ratio}]":              "",
		"figures: [{name: a, x: tenant, y: policy, color: hit_ratio}]":                     `unknown dimension "tenant"`,
		"figures: [{name: a, x: tenant, y: hit_ratio}]":                                    `unknown dimension "tenant"`,
		"claims: [{claim: hit_ratio(lru) > 0.5 where tenant = a}]":                         `unknown dimension "tenant"`,
	} {
		_, err := parseText(base + text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
