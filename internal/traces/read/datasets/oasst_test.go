package datasets_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// exported is a message as the exports of OASST1 write it.
type exported struct {
	ID        string                        `json:"message_id"`
	Parent    *string                       `json:"parent_id"`
	User      string                        `json:"user_id"`
	Created   string                        `json:"created_date"`
	Text      string                        `json:"text"`
	Role      string                        `json:"role"`
	Lang      string                        `json:"lang"`
	Deleted   bool                          `json:"deleted"`
	Rank      *int                          `json:"rank"`
	Synthetic bool                          `json:"synthetic"`
	Emojis    map[string]int                `json:"emojis"`
	Labels    map[string]map[string]float64 `json:"labels"`
	Replies   []*exported                   `json:"replies,omitempty"`
	Tree      string                        `json:"message_tree_id,omitempty"`
	State     string                        `json:"tree_state,omitempty"`
	messages  []*exported                   // of the tree, by depth first
}

var exportEpoch = time.Date(2023, 2, 1, 0, 0, 0, 0, time.UTC)

// drawTree draws a tree whose first message has a second of its own.
func drawTree(t *rapid.T, number, second int) *exported {
	var root *exported
	var grow func(parent *exported, depth int) *exported
	grow = func(parent *exported, depth int) *exported {
		m := &exported{
			ID:      fmt.Sprintf("t%d-%d", number, 0),
			User:    "u",
			Role:    "prompter",
			Lang:    rapid.SampledFrom([]string{"en", "de"}).Draw(t, "lang"),
			Deleted: rapid.IntRange(0, 4).Draw(t, "deleted") == 0,
			Emojis:  map[string]int{"+1": 1, "_skip_reply": 2},
			Labels:  map[string]map[string]float64{"spam": {"value": 0.25, "count": 3}},
			Created: exportEpoch.Add(time.Duration(second)*time.Second +
				time.Duration(depth)*time.Hour).Format(time.RFC3339Nano),
		}
		if root == nil {
			root = m
		}
		m.ID = fmt.Sprintf("t%d-%d", number, len(root.messages))
		m.Text = "text of \"" + m.ID + "\" é\n"
		if parent != nil {
			m.Parent = &parent.ID
			if parent.Role == "prompter" {
				m.Role = "assistant"
			}
		}
		root.messages = append(root.messages, m)
		if depth < 4 {
			for range rapid.IntRange(0, 3-depth/2).Draw(t, "replies") {
				m.Replies = append(m.Replies, grow(m, depth+1))
			}
		}
		return m
	}
	return grow(nil, 0)
}

func jsonLine(t *rapid.T, value any) string {
	line := must.Get(json.Marshal(value))(t)
	return string(line) + "\n"
}

// exports writes trees as the three kinds of exports: trees, nested messages and flat messages.
func exports(t *rapid.T, trees []*exported) (nested, messages, flat string) {
	var n, m, f strings.Builder
	for _, tree := range trees {
		n.WriteString(jsonLine(t, map[string]any{"message_tree_id": tree.ID, "tree_state": "ready_for_export",
			"prompt": tree}))
		m.WriteString(jsonLine(t, tree))
		for _, message := range tree.messages {
			alone := *message
			alone.Replies, alone.Tree, alone.State = nil, tree.ID, "ready_for_export"
			f.WriteString(jsonLine(t, alone))
		}
	}
	return n.String(), m.String(), f.String()
}

// TestExportsAgree: trees, nested and flat messages give the same stream: trees by their first date, each whole and
// depth first. Its parts are contiguous pieces of whole trees, with no more trees than they need.
func TestExportsAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seconds := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7}).Draw(rt, "seconds")
		inTime := make([]*exported, len(seconds))
		trees := make([]*exported, len(seconds))
		for i, second := range seconds {
			trees[i] = drawTree(rt, i, second)
			inTime[second] = trees[i]
		}
		roles := rapid.SampledFrom([]string{"user", "both"}).Draw(rt, "roles")
		deleted := rapid.SampledFrom([]string{"keep", "drop"}).Draw(rt, "deleted")
		lang := rapid.SampledFrom([]string{"all", "en"}).Draw(rt, "lang")
		var want []string
		var sizes []int
		for _, tree := range inTime {
			before := len(want)
			for _, m := range tree.messages {
				if (roles == "both" || m.Role == "prompter") && (deleted == "keep" || !m.Deleted) &&
					(lang == "all" || lang == m.Lang) {
					want = append(want, fmt.Sprintf("%s - -: %s", tree.ID, m.Text))
				}
			}
			sizes = append(sizes, len(want)-before)
		}
		format := fmt.Sprintf("oasst:roles=%s,deleted=%s,lang=%s", roles, deleted, lang)
		nested, messages, flat := exports(rt, trees)
		for kind, content := range map[string]string{"trees": nested, "messages": messages, "flat": flat} {
			got, err := readQueries(t, content, format)
			if err != nil || !slices.Equal(got, want) {
				rt.Fatalf("%s: got %q, %v, want %q", kind, got, err, want)
			}
		}
		length := rapid.IntRange(1, 6).Draw(rt, "length")
		begin, end, part := 0, 0, 0
		for _, size := range sizes {
			if end += size; end-begin < length {
				continue
			}
			got, err := readQueries(t, nested, fmt.Sprintf("%s,part=%d,length=%d", format, part, length))
			if err != nil || !slices.Equal(got, want[begin:end]) {
				rt.Fatalf("part %d: got %q, %v, want %q", part, got, err, want[begin:end])
			}
			begin, part = end, part+1
		}
		if _, err := readQueries(t, nested, fmt.Sprintf("%s,part=%d,length=%d", format, part, length)); err == nil {
			rt.Fatalf("there are %d parts, but part %d is none the less", part, part)
		}
	})
}

// threadsOf returns the requests of each path from the first request of a tree to one without requests below it.
func threadsOf(tree *exported, isRequest func(*exported) bool) (threads [][]string) {
	// walk returns whether there is a request at m or below.
	var walk func(m *exported, path []string) bool
	walk = func(m *exported, path []string) bool {
		requested := isRequest(m)
		if requested {
			path = append(slices.Clone(path), m.Text)
		}
		below := false
		for _, reply := range m.Replies {
			below = walk(reply, path) || below
		}
		if requested && !below {
			for i, text := range path {
				path[i] = fmt.Sprintf("%s/%d - -: %s", tree.ID, len(threads)+1, text)
			}
			threads = append(threads, path)
		}
		return requested || below
	}
	walk(tree, nil)
	return threads
}

// TestThreads: a thread is a path from a root to a leaf, whole and never mixed with others, and so are parts of them.
func TestThreads(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		trees := []*exported{drawTree(rt, 0, 0), drawTree(rt, 1, 1), drawTree(rt, 2, 2)}
		roles := rapid.SampledFrom([]string{"user", "both"}).Draw(rt, "roles")
		lang := rapid.SampledFrom([]string{"all", "en"}).Draw(rt, "lang")
		var threads [][]string
		for _, tree := range trees {
			threads = append(threads, threadsOf(tree, func(m *exported) bool {
				return (roles == "both" || m.Role == "prompter") && (lang == "all" || lang == m.Lang)
			})...)
		}
		format := fmt.Sprintf("oasst:unit=threads,roles=%s,lang=%s", roles, lang)
		nested, messages, flat := exports(rt, trees)
		for kind, content := range map[string]string{"trees": nested, "messages": messages, "flat": flat} {
			got, err := readQueries(t, content, format)
			if want := slices.Concat(threads...); err != nil || !slices.Equal(got, want) {
				rt.Fatalf("%s: got %q, %v, want %q", kind, got, err, want)
			}
		}
		if len(threads) > 0 { // a part of length 1 is a thread
			n := rapid.IntRange(0, len(threads)-1).Draw(rt, "part")
			got, err := readQueries(t, nested, fmt.Sprintf("%s,part=%d,length=1", format, n))
			if err != nil || !slices.Equal(got, threads[n]) {
				rt.Fatalf("part %d: got %q, %v, want %q", n, got, err, threads[n])
			}
		}
	})
}

// TestDeepThreads: a flat file may have trees of any depth, but not threads, whose requests grow with its square.
func TestDeepThreads(t *testing.T) {
	var flat strings.Builder
	flat.WriteString(`{"message_id":"0","role":"prompter","text":"x0"}` + "\n")
	for i := 1; i <= 1000; i++ {
		fmt.Fprintf(&flat, `{"message_id":"%d","parent_id":"%d","role":"prompter","text":"x%d"}`+"\n", i, i-1, i)
	}
	if got, err := readQueries(t, flat.String(), "oasst"); err != nil || len(got) != 1001 {
		t.Errorf("%d queries of a deep tree, %v", len(got), err)
	}
	must.NotGet(readQueries(t, flat.String(), "oasst:unit=threads"))(t, "line 1001: a thread of more than 1000 requests")
}

// TestLongTrees: a tree may be longer than a line of other formats, and deep.
func TestLongTrees(t *testing.T) {
	long := strings.Repeat("word ", source.MaxLine/4)
	line := fmt.Sprintf(`{"message_id": "a", "role": "prompter", "text": %q}`, long)
	got, err := readQueries(t, line+"\r\n"+strings.ReplaceAll(line, `"a"`, `"b"`)+"\n\n", "")
	if err != nil || len(got) != 2 || got[1] != "b - -: "+long {
		t.Errorf("%d queries, %v", len(got), err)
	}
	deep := `{"message_id": "0", "role": "prompter", "text": "x0"`
	const depth = 1000 // depth of replies
	for i := 1; i < depth; i++ {
		deep += fmt.Sprintf(`, "replies": [{"message_id": "%d", "role": "prompter", "text": "x%d"`, i, i)
	}
	got, err = readQueries(t, deep+strings.Repeat("}]", depth-1)+"}\n", "")
	if err != nil || len(got) != depth || got[depth-1] != "0 - -: x999" {
		t.Errorf("%d queries of a deep tree, %v", len(got), err)
	}
}
