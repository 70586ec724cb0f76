package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// setting is how policies of some families are replayed, since not every trace suits every policy.
type setting struct {
	families []string
	only     []string // policies of these names, of all families; they go before families
	traces   []string // the figure is of the first one
	flags    []string
	named    map[string]string // what --policy gets instead of the name
	beside   []string          // drawn and listed beside each
	why      string            // these
}

const zipf = "zipf(objects=5000,alpha=0.9,requests=20000)"

// general are plain requests: popularity alone, with scans, with a popularity that moves, and a loop that all policies
// but those that expect it fail on.
var general = []string{zipf, "zipf-scan(objects=5000,requests=20000,scan-share=0.3,scan-length=500)",
	"zipf-drift(objects=5000,requests=20000,period=1000,shift=50)", "loop(objects=2000,requests=20000)"}

const sized = "zipf(objects=4000,alpha=0.9,requests=20000,size=lognormal(mean=16384,sigma=1))"

const demo = "testdata/demo.oracleGeneral.zst"

const talk = "dialogue(requests=3000)"

var settings = []setting{
	{only: []string{"opt-unheld"}, traces: []string{"llm(prompts=1000)"}, beside: []string{"lru", "opt"},
		flags: []string{"--cache", "prefix(concurrency=4)"}},
	{only: []string{"belady-size", "pfoo-l"}, traces: []string{demo, sized}, flags: []string{"--bytes"},
		beside: []string{"lru", "belady-size", "pfoo-l"}},
	{only: []string{"farthest-similar", "farthest-similar-bypass", "pfoo-similar"}, families: []string{"topics"},
		traces: []string{talk, "dialogue(requests=3000,drift=0.5)"}, flags: []string{"--cache", "semantic"},
		beside: []string{"lru", "farthest-similar"}},
	{only: []string{"vllm-arc"}, traces: []string{demo, zipf}, beside: []string{"lru", "opt"}},
	{only: []string{"sglang-priority"}, why: "It needs a trace of prompts with priorities, which no generator makes."},
	{only: []string{"igtcache"}, traces: []string{"readers(requests=20000)"}, beside: []string{"lru", "opt"}},
	{families: []string{"systems"}, traces: []string{"attention(layers=2,context=2048,steps=64)"},
		flags: []string{"--cache", "attention"}, beside: []string{"lru"}},
	{families: []string{"engines"}, traces: []string{"llm(prompts=1000)"}, flags: []string{"--cache", "prefix"},
		beside: []string{"lru", "opt"}},
	{families: []string{"servers"}, traces: []string{demo, sized}, flags: []string{"--bytes"},
		beside: []string{"lru", "belady-size"}},
	{families: []string{"predicting"}, traces: general, flags: []string{"--predictor", "noisy(p=0.1)"},
		beside: []string{"lru", "opt"},
		why:    "Those that follow predictions have a predictor that is wrong one time in ten. "},
	{families: []string{"custom"}, traces: general[:2], beside: []string{"lru", "opt"},
		named: map[string]string{"wasm": "wasm(file=examples/wasm/s3fifo.wasm)",
			"exec": `exec(command="python3 examples/exec/arc.py")`},
		why: "By default `rank` is LRU; the module is the S3-FIFO and the program the ARC of the examples. "},
	{traces: append([]string{demo}, general...), beside: []string{"lru", "opt"}},
}

// The capacities of a figure, and those of a table.
const inFigure, inTable = "0.5%..64%x2", "1%,3%,10%,30%"

// steps are the capacities in the cache of a language model, which hold at least a block.
const steps = "10%,20%,30%,50%"

// record is a result, with the line that says all of it.
type record struct {
	Trace        string
	Policy       string
	CapacityText string   `json:"capacity_text"`
	HitRatio     *float64 `json:"hit_ratio"`
	line         []byte
}

// results are those of a setting: of the figure, and of each trace of the table.
type results struct {
	setting
	figure []record
	tables [][]record
}

func settingOf(p policy) setting {
	i := slices.IndexFunc(settings, func(s setting) bool {
		rest := s.only == nil && s.families == nil
		return rest || slices.Contains(s.only, p.Name) || slices.Contains(s.families, p.Family)
	})
	return settings[i]
}

func (t tool) run(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, t.program, args...)
	cmd.Dir, cmd.Stdin = t.root, bytes.NewReader(input)
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return nil, fmt.Errorf("%s %s: %w\n%s", t.program, strings.Join(args, " "), err, failed.Stderr)
	}
	return out, err
}

// replay returns the records of some policies on a trace.
func (t tool) replay(ctx context.Context, s setting, trace, capacities string, names []string) ([]record, error) {
	var specs []string
	for _, name := range names {
		if spec, ok := s.named[name]; ok {
			name = spec
		}
		specs = append(specs, name)
	}
	args := []string{"run", trace, "--policy", strings.Join(specs, ","), "--capacity", capacities, "--format", "json",
		"--quiet", "--target", "none"}
	out, err := t.run(ctx, nil, append(args, s.flags...)...)
	if err != nil {
		return nil, err
	}
	all, err := lines[record](out)
	if err != nil {
		return nil, err
	}
	for i, line := range bytes.Split(bytes.TrimSpace(out), []byte("\n")) {
		all[i].line = line
	}
	return all, nil
}

// measure replays all policies of a setting together.
func (t tool) measure(ctx context.Context, s setting, names []string) (r *results, err error) {
	r = &results{setting: s}
	for _, name := range s.beside {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	figure, table := inFigure, inTable
	if slices.Contains(s.flags, "attention") {
		figure, table = steps, steps
	}
	for i, trace := range s.traces {
		if i == 0 {
			if r.figure, err = t.replay(ctx, s, trace, figure, names); err != nil {
				return nil, err
			}
		}
		records, err := t.replay(ctx, s, trace, table, names)
		if err != nil {
			return nil, err
		}
		r.tables = append(r.tables, records)
	}
	return r, nil
}

// writePolicies writes the page and the figure of each policy, and the list of all.
func writePolicies(ctx context.Context, p policies, out string) error {
	if err := writeFile(filepath.Join(out, "index.md"), []byte(p.index())); err != nil {
		return err
	}
	for _, s := range settings {
		var names []string
		of := slices.DeleteFunc(slices.Clone(p.all), func(one policy) bool { return !same(settingOf(one), s) })
		for _, one := range of {
			names = append(names, one.Name)
		}
		r, err := p.measure(ctx, s, names)
		if err != nil {
			return err
		}
		for _, one := range of {
			if err := writeFile(filepath.Join(out, one.Name+".md"), []byte(one.page(r))); err != nil {
				return err
			}
			if err := p.draw(ctx, r, one, of, out); err != nil {
				return err
			}
		}
	}
	return nil
}

func same(a, b setting) bool {
	return slices.Equal(a.only, b.only) && slices.Equal(a.families, b.families)
}

// draw draws the hit ratios of a policy above those of up to three of its family and those beside it.
func (t tool) draw(ctx context.Context, r *results, one policy, of []policy, out string) error {
	if len(r.figure) == 0 {
		return nil
	}
	var family []string
	for _, other := range of {
		if other.Family == one.Family && other.Name != one.Name && !slices.Contains(r.beside, other.Name) {
			family = append(family, other.Name)
		}
	}
	shown := append(slices.Clone(r.beside), one.Name)
	shown = append(shown, family[:min(3, len(family))]...)
	var input []byte
	for _, rec := range r.figure {
		if slices.Contains(shown, rec.Policy) {
			input = append(append(input, rec.line...), '\n')
		}
	}
	dir, err := os.MkdirTemp("", "site")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	_, err = t.run(ctx, input, "plot", "-", "-o", dir, "--highlight", one.Name, "--figure",
		"width=6.5in,height=3.6in,title=off,format=svg")
	if err != nil {
		return err
	}
	figure, err := os.ReadFile(filepath.Join(dir, "hit_ratio.svg"))
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(out, one.Name+".svg"), figure)
}

// String is the part of a page with the figure and the table.
func (r *results) String(name string) string {
	if len(r.tables) == 0 {
		return r.why + "\n"
	}
	var w strings.Builder
	fmt.Fprintf(&w, "![Hit ratios over the capacity](%s.svg)\n\nHit ratios on `%s`. ", name, r.traces[0])
	policies := r.beside
	if !slices.Contains(policies, name) {
		policies = append([]string{name}, policies...)
	}
	w.WriteString(r.why + "The same at some capacities, and on other traces:\n\n")
	for i, records := range r.tables {
		if i == 0 {
			capacities := texts(records, name)
			fmt.Fprintf(&w, "| trace | policy | %s |\n|---|---|%s\n", strings.Join(capacities, " | "),
				strings.Repeat("--:|", len(capacities)))
		}
		for k, policy := range policies {
			trace, shown := "", policy
			if k == 0 {
				trace = "`" + r.traces[i] + "`"
			}
			if policy == name {
				shown = "**" + policy + "**"
			}
			fmt.Fprintf(&w, "| %s | %s | %s |\n", trace, shown, strings.Join(ratios(records, policy), " | "))
		}
	}
	spec := name
	if s, ok := r.named[name]; ok {
		spec = s
	}
	fmt.Fprintf(&w, "\n    cachesim run '%s' --policy '%s' --capacity %s", r.traces[0],
		strings.Join(append([]string{spec}, slices.DeleteFunc(slices.Clone(policies),
			func(p string) bool { return p == name })...), ","), strings.Join(texts(r.tables[0], name), ","))
	for _, flag := range r.flags {
		if strings.Contains(flag, "(") {
			flag = "'" + flag + "'"
		}
		w.WriteString(" " + flag)
	}
	return w.String() + "\n"
}

// texts are the capacities of the records of a policy.
func texts(records []record, policy string) (all []string) {
	for _, r := range records {
		if r.Policy == policy {
			all = append(all, r.CapacityText)
		}
	}
	return all
}

// ratios are the hit ratios of a policy, in the order of capacities.
func ratios(records []record, policy string) (all []string) {
	for _, r := range records {
		switch {
		case r.Policy != policy:
		case r.HitRatio == nil:
			all = append(all, "")
		default:
			all = append(all, fmt.Sprintf("%.2f%%", 100**r.HitRatio))
		}
	}
	return all
}
