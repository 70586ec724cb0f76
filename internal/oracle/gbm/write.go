package gbm

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// WriteTo writes the model as LightGBM's text format, version 3, which LightGBM 3 and 4 and leaves load.
func (m *Model) WriteTo(w io.Writer) (int64, error) {
	var trees, file bytes.Buffer
	var sizes []string
	for i := range m.trees {
		before := trees.Len()
		m.trees[i].write(&trees, i)
		sizes = append(sizes, strconv.Itoa(trees.Len()-before))
	}
	fmt.Fprintf(&file,
		"tree\nversion=v3\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=%d\nobjective=%s\n",
		len(m.names)-1, m.objective)
	if m.average {
		file.WriteString("average_output\n")
	}
	fmt.Fprintf(&file, "feature_names=%s\nfeature_infos=%s\ntree_sizes=%s\n\n",
		strings.Join(m.names, " "), strings.Join(m.infos, " "), strings.Join(sizes, " "))
	file.Write(trees.Bytes())
	file.WriteString("end of trees\n\n")
	m.writeImportance(&file)
	file.WriteString("\nparameters:\n")
	for _, n := range m.notes {
		fmt.Fprintf(&file, "[%s: %s]\n", n.key, n.value)
	}
	file.WriteString("\nend of parameters\n")
	return file.WriteTo(w)
}

// writeImportance lists how many nodes split on each feature, the most frequent first.
func (m *Model) writeImportance(w *bytes.Buffer) {
	splits, _ := m.Importance()
	order := make([]int, 0, len(splits))
	for f, n := range splits {
		if n > 0 {
			order = append(order, f)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return splits[b] - splits[a] })
	w.WriteString("feature_importances:\n")
	for _, f := range order {
		fmt.Fprintf(w, "%s=%d\n", m.names[f], splits[f])
	}
}

func (t *tree) write(w *bytes.Buffer, index int) {
	boundaries, bitset := t.categories()
	fmt.Fprintf(w, "Tree=%d\nnum_leaves=%d\nnum_cat=%d\n", index, len(t.leaves), len(boundaries)-1)
	category := 0
	line(w, "split_feature", t.nodes, func(n treeNode) string { return strconv.Itoa(int(n.feature)) })
	line(w, "split_gain", t.nodes, func(n treeNode) string { return number(n.gain) })
	line(w, "threshold", t.nodes, func(n treeNode) string {
		if n.categories == nil {
			return number(n.threshold)
		}
		category++
		return strconv.Itoa(category - 1)
	})
	line(w, "decision_type", t.nodes, func(n treeNode) string { return strconv.Itoa(int(n.decisionType())) })
	line(w, "left_child", t.nodes, func(n treeNode) string { return strconv.Itoa(int(n.left)) })
	line(w, "right_child", t.nodes, func(n treeNode) string { return strconv.Itoa(int(n.right)) })
	line(w, "leaf_value", t.leaves, func(l treeLeaf) string { return number(l.value) })
	line(w, "leaf_weight", t.leaves, func(l treeLeaf) string { return strconv.Itoa(l.rows) })
	line(w, "leaf_count", t.leaves, func(l treeLeaf) string { return strconv.Itoa(l.rows) })
	line(w, "internal_value", t.nodes, func(n treeNode) string { return number(n.value) })
	line(w, "internal_weight", t.nodes, func(n treeNode) string { return strconv.Itoa(n.rows) })
	line(w, "internal_count", t.nodes, func(n treeNode) string { return strconv.Itoa(n.rows) })
	if len(bitset) > 0 {
		line(w, "cat_boundaries", boundaries, strconv.Itoa)
		line(w, "cat_threshold", bitset, func(word uint32) string { return strconv.FormatUint(uint64(word), 10) })
	}
	fmt.Fprintf(w, "is_linear=0\nshrinkage=%s\n\n\n", number(t.shrinkage))
}

// categories returns the categories of all nodes one after another, and where the categories of each node begin and
// end.
func (t *tree) categories() (boundaries []int, bitset []uint32) {
	boundaries = []int{0}
	for _, n := range t.nodes {
		if n.categories != nil {
			bitset = append(bitset, n.categories...)
			boundaries = append(boundaries, len(bitset))
		}
	}
	return boundaries, bitset
}

// Bits of LightGBM's decision_type; the kind of missing values is in the bits above them.
const (
	decisionCategorical = 1 << 0
	decisionDefaultLeft = 1 << 1
	decisionMissing     = 2 // bits to the right of the kind of missing values
)

func (n *treeNode) decisionType() uint8 {
	d := uint8(n.missing) << decisionMissing
	if n.defaultLeft {
		d |= decisionDefaultLeft
	}
	if n.categories != nil {
		d |= decisionCategorical
	}
	return d
}

// line writes one key of a tree with the value of each item.
func line[T any](w *bytes.Buffer, key string, items []T, text func(T) string) {
	w.WriteString(key)
	w.WriteByte('=')
	for i, item := range items {
		if i > 0 {
			w.WriteByte(' ')
		}
		w.WriteString(text(item))
	}
	w.WriteByte('\n')
}

// number writes the shortest text that reads back as the same number.
func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
