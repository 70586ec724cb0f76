package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// policy is one as `cachesim policies --format json` describes it.
type policy struct {
	Name, Family, Kind, Summary, Source, Capacity string

	Aliases, Caches           []string
	Bypass, Unbounded         bool
	NeedsTime                 bool `json:"needs_time"`
	Predicts                  bool
	Memory                    memory
	Parameters                []parameter
	metrics                   []metric
	described, section, title string // the page of docs about it, the name of a heading there, and the page's title
	sentence                  string // the summary
}

type memory struct {
	Fixed     float64
	PerObject float64 `json:"per_object"`
	PerSlot   float64 `json:"per_slot"`
}

type parameter struct {
	Name     string
	Default  any
	Doc      string
	Min, Max *float64
	Choices  []string
}

type metric struct {
	Name, Unit, Meaning string
	By                  []string `json:"produced_by"`
}

type policies struct {
	tool
	all []policy
}

// tool is the program, run in the folder of the repository.
type tool struct{ program, root string }

func readPolicies(ctx context.Context, root, program string) (p policies, err error) {
	absolute, err := filepath.Abs(program)
	if err != nil {
		return p, err
	}
	p.tool = tool{absolute, root}
	out, err := p.run(ctx, nil, "policies", "--format", "json")
	if err != nil {
		return p, err
	}
	if p.all, err = lines[policy](out); err != nil {
		return p, err
	}
	out, err = p.run(ctx, nil, "metrics", "--format", "json")
	if err != nil {
		return p, err
	}
	metrics, err := lines[metric](out)
	if err != nil {
		return p, err
	}
	return p, p.complete(root, metrics)
}

// complete adds to what the program says of policies the metrics of each, and the page of docs about it.
func (p policies) complete(root string, metrics []metric) error {
	index, err := os.ReadFile(filepath.Join(root, "docs/policies.md"))
	if err != nil {
		return err
	}
	for i := range p.all {
		one := &p.all[i]
		for _, m := range metrics {
			if slices.Contains(m.By, "policy "+one.Name) || one.Predicts && slices.Contains(m.By, usesPredictor) {
				one.metrics = append(one.metrics, m)
			}
		}
		one.sentence = p.sentence(one.Summary)
		if err := one.find(root, string(index)); err != nil {
			return err
		}
	}
	return nil
}

// sentence begins with a capital letter, unless with the name of a policy.
func (p policies) sentence(text string) string {
	first := word.FindString(text)
	if slices.ContainsFunc(p.all, func(one policy) bool { return one.Name == first }) {
		return text + "."
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// usesPredictor says of metrics that any such policy has them.
const usesPredictor = "policies that use a predictor"

// lines reads JSON, a value a line.
func lines[T any](text []byte) (all []T, err error) {
	for line := range bytes.Lines(text) {
		var one T
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

var (
	indexRow = regexp.MustCompile(`(?m)^\| \[([^\]]*)\]\(([\w-]+\.md)[^|]*\|([^\n]*)\|$`)
	heading  = regexp.MustCompile(`(?m)^##+ (.*)$`)
	word     = regexp.MustCompile(`[\w-]+`)
)

// find looks up in the index of docs which page describes a policy, and there the heading that names it.
func (p *policy) find(root, index string) error {
	for _, row := range indexRow.FindAllStringSubmatch(index, -1) {
		if !slices.Contains(word.FindAllString(row[3], -1), p.Name) {
			continue
		}
		p.title, p.described = row[1], row[2]
		text, err := os.ReadFile(filepath.Join(root, "docs", p.described))
		if err != nil {
			return err
		}
		for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
			if slices.Contains(strings.Fields(m[1]), p.Name) {
				p.section = "#" + strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")
				break
			}
		}
		return nil
	}
	return fmt.Errorf("docs/policies.md: no row of its table names %s; add it to that of its page", p.Name)
}

// families are all, in the order of the program.
func (p policies) families() (names []string) {
	for _, one := range p.all {
		if !slices.Contains(names, one.Family) {
			names = append(names, one.Family)
		}
	}
	return names
}

func (p policies) of(family string) []policy {
	return slices.DeleteFunc(slices.Clone(p.all), func(one policy) bool { return one.Family != family })
}

func title(family string) string { return strings.ToUpper(family[:1]) + family[1:] }

// navigation has the pages of policies, family by family.
func (p policies) navigation(indent string) string {
	var w strings.Builder
	fmt.Fprintf(&w, "%s- %s/index.md\n", indent, policyFolder)
	for _, family := range p.families() {
		fmt.Fprintf(&w, "%s- %s:\n", indent, title(family))
		for _, one := range p.of(family) {
			fmt.Fprintf(&w, "%s  - %s: %s/%s.md\n", indent, one.Name, policyFolder, one.Name)
		}
	}
	return w.String()
}

// index lists all policies.
func (p policies) index() string {
	var w strings.Builder
	w.WriteString("# Policy by policy\n\nA page for each policy: what it evicts, its paper, its parameters, the " +
		"memory that it takes, and its hit ratios beside those of LRU and the optimum.\n[Policies](../policies.md) " +
		"describes them by subject.\n")
	for _, family := range p.families() {
		fmt.Fprintf(&w, "\n## %s\n\n| policy | evicts |\n|---|---|\n", title(family))
		for _, one := range p.of(family) {
			fmt.Fprintf(&w, "| [%s](%s.md) | %s |\n", one.Name, one.Name, cell(one.Summary))
		}
	}
	return w.String()
}

var cell = strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*").Replace

// page describes a policy; results are nil where no trace of ours suits it.
func (p policy) page(r *results) string {
	var w strings.Builder
	fmt.Fprintf(&w, "# %s\n\n%s\n\n", p.Name, cell(p.sentence))
	link := fmt.Sprintf("[%s](../%s%s)", p.title, p.described, p.section)
	rows := [][2]string{{"Source", cell(p.Source)}, {"Described in", link}, {"Kind", p.kind()},
		{"Capacity in", p.Capacity}, {"Works in the caches", strings.Join(p.Caches, ", ")},
		{"Memory", p.Memory.String()}}
	if len(p.Aliases) > 0 {
		rows = append(rows, [2]string{"Also called", strings.Join(p.Aliases, ", ")})
	}
	if p.NeedsTime {
		rows = append(rows, [2]string{"Needs", "a trace with times, unless its parameters say otherwise"})
	}
	w.WriteString("| | |\n|---|---|\n")
	for _, row := range rows {
		fmt.Fprintf(&w, "| **%s** | %s |\n", row[0], row[1])
	}
	w.WriteString("\n## Results\n\n" + r.String(p.Name))
	w.WriteString("\n## Parameters\n\n")
	if len(p.Parameters) == 0 {
		w.WriteString("None.\n")
	} else {
		w.WriteString("| parameter | default | values | meaning |\n|---|---|---|---|\n")
	}
	for _, q := range p.Parameters {
		fmt.Fprintf(&w, "| `%s` | %s | %s | %s |\n", q.Name, code(fmt.Sprint(q.Default)), cell(q.values()), cell(q.Doc))
	}
	w.WriteString("\n## Metrics\n\n")
	if len(p.metrics) == 0 {
		w.WriteString("Those of [every replay](../commands/list-of-metrics.md), and none of its own.\n")
	} else {
		w.WriteString("Beside those of [every replay](../commands/list-of-metrics.md):\n\n" +
			"| metric | unit | meaning |\n|---|---|---|\n")
	}
	for _, m := range p.metrics {
		fmt.Fprintf(&w, "| `%s` | %s | %s |\n", m.Name, m.Unit, cell(m.Meaning))
	}
	return w.String()
}

func (p policy) kind() string {
	kind := map[string]string{"online": "online: it sees the past only", "offline": "offline: it sees the whole trace",
		"bound": "a bound on the misses of any policy"}[p.Kind]
	if p.Predicts {
		kind += ", and asks a [predictor](../predictors.md)"
	}
	if p.Bypass {
		kind += "; it may bypass a missed object"
	}
	if p.Unbounded {
		kind += "; it ignores the capacity"
	}
	return kind
}

func list(names []string, shown func(string) string) string {
	var all []string
	for _, name := range names {
		all = append(all, shown(name))
	}
	return strings.Join(all, ", ")
}

func code(text string) string {
	if text == "" {
		return "none"
	}
	return "`" + text + "`"
}

// String says what replays plan with.
func (m memory) String() string {
	var parts []string
	if m.Fixed > 0 {
		parts = append(parts, fmt.Sprintf("%.3g MB", m.Fixed/1e6))
	}
	if m.PerObject > 0 {
		parts = append(parts, fmt.Sprintf("%.0f B per object of the trace", m.PerObject))
	}
	if m.PerSlot >= 1 {
		parts = append(parts, fmt.Sprintf("%.0f B per object that fits into the cache", m.PerSlot))
	}
	if len(parts) == 0 {
		return "none"
	}
	return "about " + strings.Join(parts, ", ") + ": what a replay plans with if capacities count objects"
}

// values says which values a parameter takes.
func (q parameter) values() string {
	switch {
	case len(q.Choices) > 0:
		return list(q.Choices, code)
	case q.Min != nil && q.Max != nil:
		return fmt.Sprintf("%v to %v", number(*q.Min), number(*q.Max))
	case q.Min != nil:
		return fmt.Sprintf("from %v", number(*q.Min))
	}
	if _, ok := q.Default.(bool); ok {
		return "`true`, `false`"
	}
	return "text"
}

// number is one without an exponent.
func number(x float64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.6f", x), "0"), ".")
}
