package tokenizer

import (
	"bytes"
	"fmt"
	"slices"
)

// trie finds the tokens that a text begins with. Its nodes are in the order of their depth, the children of a node next
// to each other, so that a node is the place of its byte.
type trie struct {
	labels []byte   // the byte that leads to a node
	first  []uint32 // its first child; one more than nodes
	tokens []int32  // its token; -1 if it ends none
}

// span is a node that is being built: its tokens are those of a list from one to another.
type span struct{ from, until int }

// longestToken is the longest token in bytes. It bounds the time per byte of a text, because a token may begin at each.
// SentencePiece makes tokens of 16 characters at most, unless told otherwise.
const longestToken = 512

func newTrie(ids map[string]uint32) (trie, error) {
	all := make([]string, 0, len(ids))
	for text := range ids {
		if len(text) > longestToken {
			return trie{}, fmt.Errorf("the vocabulary: a token of %d bytes, %.20q...: want at most %d", len(text), text,
				longestToken)
		}
		if text != "" {
			all = append(all, text)
		}
	}
	slices.Sort(all)
	t := trie{labels: []byte{0}, tokens: []int32{-1}}
	level := []span{{0, len(all)}}
	for depth := 0; len(level) > 0; depth++ {
		var next []span
		for _, node := range level {
			t.first = append(t.first, uint32(len(t.labels)))
			from := node.from
			if from < node.until && len(all[from]) == depth {
				from++ // the token of the node itself
			}
			for from < node.until {
				until := from + 1
				for until < node.until && all[until][depth] == all[from][depth] {
					until++
				}
				token := int32(-1)
				if len(all[from]) == depth+1 {
					token = int32(ids[all[from]])
				}
				t.labels, t.tokens = append(t.labels, all[from][depth]), append(t.tokens, token)
				next = append(next, span{from, until})
				from = until
			}
		}
		level = next
	}
	t.first = append(t.first, uint32(len(t.labels)))
	return t, nil
}

// child returns the node that a byte leads to.
func (t *trie) child(node uint32, c byte) (uint32, bool) {
	from := t.first[node]
	at := bytes.IndexByte(t.labels[from:t.first[node+1]], c)
	return from + uint32(at), at >= 0
}
