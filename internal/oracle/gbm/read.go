package gbm

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/filestate"
)

// maxFile is how many bytes of a model are read; a tree of 31 leaves takes about 2 kB.
const maxFile = 1 << 28

// ReadFile reads a model from a file; see Read.
func ReadFile(path string) (*Model, error) {
	f, err := filestate.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the model: %w", err)
	}
	defer f.Close()
	return Read(f, path)
}

// Read reads a model in LightGBM's text format, version 2, 3 or 4: what `save_model` of LightGBM and WriteTo write.
// Models that cannot be evaluated as LightGBM does are rejected with the reason: several classes, linear trees,
// objectives whose scores are not predictions, and files that are cut off or contradict themselves. Errors begin with
// the name.
func Read(r io.Reader, name string) (*Model, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read the model %s: %w", name, err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("model %s: larger than 256 MiB, which is 100,000 trees", name)
	}
	m, err := parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	return m, nil
}

// parser reads a file line by line.
type parser struct {
	rest string
	line int // number of the last line that was read
}

// next returns the next line without its line break, or false at the end of the file.
func (p *parser) next() (string, bool) {
	if p.rest == "" {
		return "", false
	}
	var line string
	line, p.rest, _ = strings.Cut(p.rest, "\n")
	p.line++
	return strings.TrimSpace(line), true
}

// errorf returns an error that names the last line.
func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %w", p.line, fmt.Errorf(format, args...))
}

// entry is the value of a key and its line.
type entry struct {
	value string
	line  int
}

// section is a run of lines with a key and a value each.
type section struct {
	title   string // of the section, in errors
	line    int    // where it begins
	entries map[string]entry
}

// section reads up to a blank line or the end of the file.
func (p *parser) section(title string) (section, error) {
	s := section{title: title, line: p.line, entries: map[string]entry{}}
	for {
		line, ok := p.next()
		if !ok || line == "" {
			return s, nil
		}
		key, value, _ := strings.Cut(line, "=")
		if _, twice := s.entries[key]; twice {
			return s, p.errorf("%s is given twice in %s", key, title)
		}
		s.entries[key] = entry{value, p.line}
	}
}

// get returns the entry of a required key.
func (s section) get(key string) (entry, error) {
	e, ok := s.entries[key]
	if !ok {
		return e, fmt.Errorf("line %d: %s has no %s; the file may be cut off or edited", s.line, s.title, key)
	}
	return e, nil
}

// integer returns a whole number from low to high.
func (s section) integer(key string, low, high int) (int, error) {
	e, err := s.get(key)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(e.value)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("line %d: %s of %s is %q, want a whole number from %d to %d", e.line, key, s.title,
			clip(e.value), low, high)
	}
	return n, nil
}

// list returns n values, each read by parse.
func list[T any](s section, key string, n int, parse func(string) (T, bool)) ([]T, error) {
	e, err := s.get(key)
	if err != nil {
		return nil, err
	}
	words := strings.Fields(e.value)
	if len(words) != n {
		return nil, fmt.Errorf("line %d: %s of %s has %d values, want %d; the file may be cut off or edited", e.line,
			key, s.title, len(words), n)
	}
	values := make([]T, n)
	for i, w := range words {
		v, ok := parse(w)
		if !ok {
			return nil, fmt.Errorf("line %d: value %d of %s of %s is %q, which cannot be used", e.line, i+1, key,
				s.title, clip(w))
		}
		values[i] = v
	}
	return values, nil
}

// clip keeps errors short.
func clip(text string) string {
	if shown := 40; len(text) > shown {
		return text[:shown] + "..."
	}
	return text
}

func parseFinite(text string) (float64, bool) {
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
}

// parseThreshold allows infinity: all values that are not missing go left.
func parseThreshold(text string) (float64, bool) {
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil && !math.IsNaN(x)
}

func parseIndex(text string) (int32, bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	return int32(n), err == nil
}

func parseWord(text string) (uint32, bool) {
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), err == nil
}

func parse(text string) (*Model, error) {
	p := &parser{rest: text}
	if first, _ := p.next(); first != "tree" {
		return nil, fmt.Errorf("line 1 is %q, want \"tree\": not a text file of LightGBM; write one with save_model, or "+
			"with `cachesim train`", clip(first))
	}
	header, err := p.section("the header")
	if err != nil {
		return nil, err
	}
	m, trees, err := parseHeader(header)
	if err != nil {
		return nil, err
	}
	if err := m.parseTrees(p, trees); err != nil {
		return nil, err
	}
	m.parseNotes(p)
	m.evaluator = newEvaluator(m.trees)
	return m, nil
}

// parseHeader returns the model without its trees, and their number.
func parseHeader(h section) (*Model, int, error) {
	if err := checkVersion(h); err != nil {
		return nil, 0, err
	}
	for _, key := range []string{"num_class", "num_tree_per_iteration"} {
		if n, err := h.integer(key, 1, math.MaxInt32); err != nil {
			return nil, 0, err
		} else if n != 1 {
			return nil, 0, fmt.Errorf("line %d: %s is %d: a prediction is one number, and this model gives one per class",
				h.entries[key].line, key, n)
		}
	}
	m := &Model{}
	if err := m.parseFeatures(h); err != nil {
		return nil, 0, err
	}
	e, ok := h.entries["objective"]
	if !ok {
		return nil, 0, fmt.Errorf("line %d: the header has no objective, so the meaning of predictions is unknown; train "+
			"with objective regression", h.line)
	}
	var err error
	if m.objective, err = parseObjective(e.value); err != nil {
		return nil, 0, fmt.Errorf("line %d: %w", e.line, err)
	}
	_, m.average = h.entries["average_output"]
	sizes, err := h.get("tree_sizes")
	if err != nil {
		return nil, 0, err
	}
	trees := len(strings.Fields(sizes.value))
	if trees == 0 {
		return nil, 0, fmt.Errorf("line %d: the model has no trees", sizes.line)
	}
	return m, trees, nil
}

func checkVersion(h section) error {
	e, err := h.get("version")
	if err != nil {
		return err
	}
	switch e.value {
	case "v2", "v3", "v4":
		return nil
	}
	return fmt.Errorf("line %d: version is %q, want v2, v3 or v4", e.line, clip(e.value))
}

func (m *Model) parseFeatures(h section) error {
	last, err := h.integer("max_feature_idx", 0, math.MaxInt32-1)
	if err != nil {
		return err
	}
	e, err := h.get("feature_names")
	if err != nil {
		return err
	}
	m.names = strings.Fields(e.value)
	if len(m.names) != last+1 {
		return fmt.Errorf("line %d: feature_names has %d names, but max_feature_idx is %d, so want %d", e.line,
			len(m.names), last, last+1)
	}
	m.infos = strings.Fields(h.entries["feature_infos"].value)
	if len(m.infos) != len(m.names) {
		m.infos = slices.Repeat([]string{"none"}, len(m.names))
	}
	return nil
}

func (m *Model) parseTrees(p *parser, trees int) error {
	for i := range trees {
		line, ok := p.skipBlank()
		if !ok || line == "end of trees" {
			return p.errorf("the file ends after %d of %d trees: it is cut off", i, trees)
		}
		if line != fmt.Sprintf("Tree=%d", i) {
			return p.errorf("%q, want \"Tree=%d\"", clip(line), i)
		}
		s, err := p.section(fmt.Sprintf("tree %d", i))
		if err != nil {
			return err
		}
		t, err := parseTree(s, len(m.names))
		if err != nil {
			return err
		}
		m.trees = append(m.trees, t)
	}
	if line, ok := p.skipBlank(); !ok {
		return p.errorf("no \"end of trees\" after tree %d: the file is cut off", trees-1)
	} else if line != "end of trees" {
		return p.errorf("%q, want \"end of trees\": tree_sizes in the header has %d values", clip(line), trees)
	}
	return nil
}

// skipBlank returns the next line that is not blank.
func (p *parser) skipBlank() (string, bool) {
	for {
		if line, ok := p.next(); !ok || line != "" {
			return line, ok
		}
	}
}

// parseNotes reads the parameters that the model was trained with. Evaluation needs none of them.
func (m *Model) parseNotes(p *parser) {
	for line, ok := p.next(); ok && line != "end of parameters"; line, ok = p.next() {
		inner, isNote := strings.CutPrefix(line, "[")
		if inner, closed := strings.CutSuffix(inner, "]"); isNote && closed {
			key, value, _ := strings.Cut(inner, ":")
			m.AddNote(key, strings.TrimSpace(value))
		}
	}
}

func parseTree(s section, features int) (t tree, err error) {
	if e := s.entries["is_linear"]; e.value != "" && e.value != "0" {
		return t, fmt.Errorf("line %d: %s is linear; train with linear_tree=false", e.line, s.title)
	}
	leaves, err := s.integer("num_leaves", 1, math.MaxInt32)
	if err != nil {
		return t, err
	}
	values, err := list(s, "leaf_value", leaves, parseFinite)
	if err != nil {
		return t, err
	}
	t.leaves = make([]treeLeaf, leaves)
	for i, v := range values {
		t.leaves[i].value = v
	}
	if t.shrinkage, err = optional(s, "shrinkage", 1); err != nil || leaves == 1 {
		return t, err
	}
	if err := t.parseNodes(s, features); err != nil {
		return t, err
	}
	if err := t.parseCategories(s); err != nil {
		return t, err
	}
	return t, t.parseDescription(s)
}

// optional returns a number that may be missing.
func optional(s section, key string, otherwise float64) (float64, error) {
	if _, ok := s.entries[key]; !ok {
		return otherwise, nil
	}
	values, err := list(s, key, 1, parseFinite)
	if err != nil {
		return 0, err
	}
	return values[0], nil
}

// parseNodes reads what evaluation needs from the nodes, except categories.
func (t *tree) parseNodes(s section, features int) error {
	n := len(t.leaves) - 1
	feature, err := list(s, "split_feature", n, func(w string) (int32, bool) {
		f, ok := parseIndex(w)
		return f, ok && f >= 0 && int(f) < features
	})
	if err != nil {
		return err
	}
	threshold, err := list(s, "threshold", n, parseThreshold)
	if err != nil {
		return err
	}
	decision, err := list(s, "decision_type", n, func(w string) (int32, bool) {
		d, ok := parseIndex(w)
		return d, ok && d >= 0 && d>>decisionMissing <= int32(missingNaN)
	})
	if err != nil {
		return err
	}
	left, right, err := t.parseChildren(s)
	if err != nil {
		return err
	}
	t.nodes = make([]treeNode, n)
	for i := range t.nodes {
		t.nodes[i] = treeNode{feature: feature[i], threshold: threshold[i], left: left[i], right: right[i],
			missing: missing(decision[i] >> decisionMissing), defaultLeft: decision[i]&decisionDefaultLeft != 0}
		if decision[i]&decisionCategorical != 0 {
			t.nodes[i].categories = []uint32{} // filled by parseCategories
		}
	}
	return nil
}

// parseChildren checks that each leaf and each node but the first is the child of exactly one node before it, so that
// the nodes form a tree.
func (t *tree) parseChildren(s section) (left, right []int32, err error) {
	n := len(t.leaves) - 1
	isChild := func(w string) (int32, bool) {
		c, ok := parseIndex(w)
		return c, ok && (c > 0 && int(c) < n || c < 0 && int(^c) <= n)
	}
	if left, err = list(s, "left_child", n, isChild); err != nil {
		return nil, nil, err
	}
	if right, err = list(s, "right_child", n, isChild); err != nil {
		return nil, nil, err
	}
	parents := make([]int, 2*n+1) // of nodes, then of leaves
	for i := range n {
		for _, c := range []int32{left[i], right[i]} {
			at := int(c)
			if c < 0 {
				at = n + int(^c)
			} else if at <= i {
				return nil, nil, fmt.Errorf("line %d: node %d of %s has node %d as its child, which is not after it",
					s.entries["left_child"].line, i, s.title, c)
			}
			if parents[at]++; parents[at] > 1 {
				return nil, nil, fmt.Errorf("line %d: child %d of %s has two parents", s.entries["left_child"].line, c, s.title)
			}
		}
	}
	return left, right, nil
}

// parseCategories reads the sets of categories that go left. The threshold of a node that has one is its number.
func (t *tree) parseCategories(s section) error {
	sets, err := s.integer("num_cat", 0, len(t.nodes))
	if err != nil {
		return err
	}
	var boundaries []int32
	var words []uint32
	if sets > 0 {
		if boundaries, err = list(s, "cat_boundaries", sets+1, parseIndex); err != nil {
			return err
		}
		if words, err = list(s, "cat_threshold", len(strings.Fields(s.entries["cat_threshold"].value)),
			parseWord); err != nil {
			return err
		}
	}
	for i := range t.nodes {
		n := &t.nodes[i]
		if n.categories == nil {
			continue
		}
		set := int(n.threshold)
		if n.threshold < 0 || set >= sets || float64(set) != n.threshold {
			return fmt.Errorf("line %d: node %d of %s has the categories number %v, want a number below num_cat, which is %d",
				s.entries["threshold"].line, i, s.title, n.threshold, sets)
		}
		first, last := boundaries[set], boundaries[set+1]
		if first < 0 || first >= last || int(last) > len(words) {
			return fmt.Errorf("line %d: categories number %d of %s are from %d to %d of %d words of cat_threshold",
				s.entries["cat_boundaries"].line, set, s.title, first, last, len(words))
		}
		n.categories = words[first:last:last]
	}
	return nil
}

// parseDescription reads what evaluation does not need, if the file has it.
func (t *tree) parseDescription(s section) error {
	n := len(t.nodes)
	set := func(key string, count int, store func(i int, x float64)) error {
		if _, ok := s.entries[key]; !ok {
			return nil
		}
		values, err := list(s, key, count, func(w string) (float64, bool) {
			x, err := strconv.ParseFloat(w, 64)
			return x, err == nil
		})
		for i, x := range values {
			store(i, x)
		}
		return err
	}
	return errors.Join(set("split_gain", n, func(i int, x float64) { t.nodes[i].gain = x }),
		set("internal_value", n, func(i int, x float64) { t.nodes[i].value = x }),
		set("internal_count", n, func(i int, x float64) { t.nodes[i].rows = int(x) }),
		set("leaf_count", n+1, func(i int, x float64) { t.leaves[i].rows = int(x) }))
}
