package tokenizer

import (
	"container/heap"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// model is the model of tokenizer.json.
type model struct {
	Type         string            `json:"type"`
	Dropout      *float64          `json:"dropout"`
	Prefix       *string           `json:"continuing_subword_prefix"`
	Suffix       *string           `json:"end_of_word_suffix"`
	ByteFallback bool              `json:"byte_fallback"`
	IgnoreMerges bool              `json:"ignore_merges"`
	Vocabulary   json.RawMessage   `json:"vocab"` // an object of numbers in BPE
	Merges       []json.RawMessage `json:"merges"`
}

// bpe merges pairs of tokens, beginning with bytes.
type bpe struct {
	bytes  [256]uint32
	merges map[[2]uint32]merge
	words  map[string]uint32 // whole words that are tokens, whatever the merges; nil if these decide
}

// merge is what a pair becomes, and which pairs are merged first.
type merge struct {
	rank  int
	token uint32
}

func newBPE(m model) (b bpe, err error) {
	isSet := func(text *string) bool { return text != nil && *text != "" }
	switch {
	case m.Type != "BPE":
		return b, fmt.Errorf("the model %.40q is not supported: want BPE over bytes, as GPT, Llama 3, Qwen and DeepSeek have",
			m.Type)
	case m.Dropout != nil && *m.Dropout != 0, isSet(m.Prefix), isSet(m.Suffix), m.ByteFallback:
		return b, errors.New("BPE with dropout, continuing_subword_prefix, end_of_word_suffix or byte_fallback is not " +
			"supported")
	}
	var vocabulary map[string]uint32
	if err := json.Unmarshal(m.Vocabulary, &vocabulary); err != nil {
		return b, fmt.Errorf("the vocabulary: %w", err)
	}
	for c := range b.bytes {
		id, ok := vocabulary[string(letterOf(byte(c)))]
		if !ok {
			return b, fmt.Errorf("the vocabulary lacks the byte %d: want BPE over all bytes", c)
		}
		b.bytes[c] = id
	}
	b.merges = make(map[[2]uint32]merge, len(m.Merges))
	for rank, raw := range m.Merges {
		left, right, err := readMerge(raw)
		if err != nil {
			return b, err
		}
		l, knowsLeft := vocabulary[left]
		r, knowsRight := vocabulary[right]
		token, known := vocabulary[left+right]
		if !knowsLeft || !knowsRight || !known {
			return b, fmt.Errorf("merge %d of %.40q and %.40q: want parts and a result that are in the vocabulary", rank+1, left,
				right)
		}
		b.merges[[2]uint32{l, r}] = merge{rank, token}
	}
	if m.IgnoreMerges {
		b.words = make(map[string]uint32, len(vocabulary))
		for text, id := range vocabulary {
			if word, ok := bytesOf(text); ok {
				b.words[word] = id
			}
		}
	}
	return b, nil
}

// readMerge reads a pair: two texts or, as older files have, a text with a blank between its parts.
func readMerge(raw json.RawMessage) (left, right string, err error) {
	var pair []string
	if json.Unmarshal(raw, &pair) == nil && len(pair) == 2 {
		return pair[0], pair[1], nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if left, right, ok := strings.Cut(text, " "); ok {
			return left, right, nil
		}
	}
	return "", "", fmt.Errorf("merge %.60s: want a pair of tokens", raw)
}

// letterOf returns the letter that stands for a byte in vocabularies: printable ones for themselves, and the others,
// in their order, from 256 on (bytes_to_unicode of GPT-2).
func letterOf(c byte) rune {
	printable := func(c int) bool { return c >= '!' && c <= '~' || c >= 0xa1 && c <= 0xac || c >= 0xae && c <= 0xff }
	if printable(int(c)) {
		return rune(c)
	}
	letter := rune(256)
	for other := range int(c) {
		if !printable(other) {
			letter++
		}
	}
	return letter
}

// letters has the byte of each letter.
var letters = func() map[rune]byte {
	all := map[rune]byte{}
	for c := range 256 {
		all[letterOf(byte(c))] = byte(c)
	}
	return all
}()

// bytesOf returns the bytes of a token of the vocabulary; ok is false if it has other letters, as special tokens do.
func bytesOf(text string) (word string, ok bool) {
	all := make([]byte, 0, utf8.RuneCountInString(text))
	for _, letter := range text {
		c, known := letters[letter]
		if !known {
			return "", false
		}
		all = append(all, c)
	}
	return string(all), true
}

// symbol is a token of a word that is being merged, with its neighbours; -1 is none.
type symbol struct {
	token          uint32
	previous, next int32
	gone           bool
}

// candidate is a pair that may be merged: the symbol on the left, and both as they were.
type candidate struct {
	merge
	at          int32
	left, right uint32
}

// candidates are pairs, the lowest rank first and of that the leftmost. They implement heap.Interface.
type candidates []candidate

func (c candidates) Len() int { return len(c) }
func (c candidates) Less(i, j int) bool {
	return c[i].rank < c[j].rank || c[i].rank == c[j].rank && c[i].at < c[j].at
}
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)   { *c = append(*c, x.(candidate)) }
func (c *candidates) Pop() any {
	last := len(*c) - 1
	x := (*c)[last]
	*c = (*c)[:last]
	return x
}

// encode returns the tokens of a word.
func (b *bpe) encode(word string) []uint32 {
	if id, ok := b.words[word]; ok {
		return []uint32{id}
	}
	symbols := make([]symbol, len(word))
	for i := range len(word) {
		symbols[i] = symbol{token: b.bytes[word[i]], previous: int32(i) - 1, next: int32(i) + 1}
	}
	if len(symbols) > 0 {
		symbols[len(symbols)-1].next = -1
	}
	var queue candidates
	propose := func(at int32) {
		if at < 0 || symbols[at].next < 0 {
			return
		}
		left, right := symbols[at].token, symbols[symbols[at].next].token
		if m, ok := b.merges[[2]uint32{left, right}]; ok {
			heap.Push(&queue, candidate{m, at, left, right})
		}
	}
	for i := range symbols {
		propose(int32(i))
	}
	for queue.Len() > 0 {
		c := heap.Pop(&queue).(candidate)
		s := &symbols[c.at]
		if s.gone || s.token != c.left || s.next < 0 || symbols[s.next].token != c.right {
			continue // one of them was merged before
		}
		right := &symbols[s.next]
		right.gone = true
		s.token, s.next = c.token, right.next
		if s.next >= 0 {
			symbols[s.next].previous = c.at
		}
		propose(s.previous)
		propose(c.at)
	}
	ids := make([]uint32, 0, len(symbols))
	for _, s := range symbols {
		if !s.gone {
			ids = append(ids, s.token)
		}
	}
	return ids
}
