package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// bpe merges pairs of tokens, beginning with bytes or characters.
type bpe struct {
	byteLevel bool
	bytes     [256]uint32     // with byteLevel
	chars     map[rune]uint32 // without
	merges    pairs
	words     map[string]uint32 // whole words that are tokens, whatever the merges; nil if these decide
	// Without byteLevel, what becomes of characters that the vocabulary lacks.
	fallback    *fallbackBytes
	unknown     uint32
	hasUnknown  bool
	fuseUnknown bool // unknown characters in a row are one token
	// cuts says that no merge crosses a mark of SentencePiece after another character. So texts may be cut there and the
	// parts remembered.
	cuts    bool
	symbols []symbol
	queue   candidates
}

// merge is what a pair becomes, and which pairs are merged first.
type merge struct {
	rank  int32
	token uint32
}

// pairs are the merges by the tokens that they join: a table of which at most half is used, as a word of new letters
// asks for a pair per letter, and a map reads two places of memory for each.
type pairs struct {
	places []pair
	shift  uint
}

type pair struct {
	left, right uint32
	merge       // with a rank of -1 if the place is free
}

func newPairs(n int) pairs {
	size := bits.Len(uint(max(2*n-1, 1)))
	p := pairs{make([]pair, 1<<size), uint(64 - size)}
	for i := range p.places {
		p.places[i].rank = -1
	}
	return p
}

// at returns the place of a pair, or the free one that it would have.
func (p *pairs) at(left, right uint32) *pair {
	at := (uint64(left)<<32 | uint64(right)) * 0x9e3779b97f4a7c15 >> p.shift
	for {
		place := &p.places[at]
		if place.left == left && place.right == right || place.rank < 0 {
			return place
		}
		at = (at + 1) & uint64(len(p.places)-1)
	}
}

func (p *pairs) set(left, right uint32, m merge) { *p.at(left, right) = pair{left, right, m} }

func (p *pairs) of(left, right uint32) (m merge, ok bool) {
	place := p.at(left, right)
	return place.merge, place.rank >= 0
}

func newBPE(m modelFile, byteLevel bool) (*bpe, error) {
	if m.Dropout != nil && *m.Dropout != 0 || isSet(m.Prefix) || isSet(m.Suffix) {
		return nil, errAffixes
	}
	vocabulary, err := readVocabulary(m.Vocabulary)
	if err != nil {
		return nil, err
	}
	b := &bpe{byteLevel: byteLevel}
	if byteLevel {
		err = b.setBytes(m, vocabulary)
	} else {
		err = b.setChars(m, vocabulary)
	}
	if err != nil {
		return nil, err
	}
	return b, b.setMerges(m.Merges, vocabulary)
}

func (b *bpe) setBytes(m modelFile, vocabulary map[string]uint32) error {
	if m.ByteFallback {
		return errors.New("byte_fallback with the pre-tokenizer ByteLevel is not supported")
	}
	for c := range b.bytes {
		id, ok := vocabulary[string(letterOf(byte(c)))]
		if !ok {
			return fmt.Errorf("the vocabulary lacks the byte %d: want BPE over all bytes", c)
		}
		b.bytes[c] = id
	}
	if m.IgnoreMerges {
		b.words = make(map[string]uint32, len(vocabulary))
		for text, id := range vocabulary {
			if word, ok := bytesOf(text); ok {
				b.words[word] = id
			}
		}
	}
	return nil
}

func (b *bpe) setChars(m modelFile, vocabulary map[string]uint32) (err error) {
	if b.unknown, b.hasUnknown, err = unknownOf(m, vocabulary); err != nil {
		return err
	}
	b.fuseUnknown = m.FuseUnknown
	if m.ByteFallback {
		b.fallback = newFallback(vocabulary)
	}
	if m.IgnoreMerges {
		b.words = vocabulary
	}
	b.chars = map[rune]uint32{}
	for text, id := range vocabulary {
		if r, size := utf8.DecodeRuneInString(text); size > 0 && size == len(text) {
			b.chars[r] = id
		}
	}
	return nil
}

func (b *bpe) setMerges(merges []json.RawMessage, vocabulary map[string]uint32) error {
	_, b.cuts = b.chars[mark]
	b.cuts = b.cuts && b.words == nil
	b.merges = newPairs(len(merges))
	for rank, raw := range merges {
		left, right, err := readMerge(raw)
		if err != nil {
			return err
		}
		l, knowsLeft := vocabulary[left]
		r, knowsRight := vocabulary[right]
		token, known := vocabulary[left+right]
		if !knowsLeft || !knowsRight || !known {
			return fmt.Errorf("merge %d of %.40q and %.40q: want parts and a result that are in the vocabulary", rank+1, left,
				right)
		}
		b.merges.set(l, r, merge{int32(rank), token})
		b.cuts = b.cuts && nextCut(left+right) == len(left+right)
	}
	return nil
}

// mark is what SentencePiece writes for a space.
const mark = '▁'

// nextCut returns the place of the first mark that follows another character, or the length of the text.
func nextCut(text string) int {
	for at := 0; ; {
		found := strings.Index(text[at:], string(mark))
		if found < 0 {
			return len(text)
		}
		at += found
		if at > 0 && !strings.HasSuffix(text[:at], string(mark)) {
			return at
		}
		at += len(string(mark))
	}
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

// candidate is a pair that may be merged: the symbol on the left, and what it becomes.
type candidate struct {
	merge
	at int32
}

// candidates are a heap of pairs, the lowest rank first and of that the leftmost.
type candidates []candidate

func (c candidates) less(i, j int) bool {
	return c[i].rank < c[j].rank || c[i].rank == c[j].rank && c[i].at < c[j].at
}

func (c *candidates) push(x candidate) {
	*c = append(*c, x)
	h := *c
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			break
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (c *candidates) pop() candidate {
	h := *c
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && h.less(child+1, child) {
			child++
		}
		if !h.less(child, i) {
			break
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
	*c = h
	return first
}

// encode implements the model.
func (b *bpe) encode(to []uint32, word string) ([]uint32, error) {
	if id, ok := b.words[word]; ok {
		return append(to, id), nil
	}
	b.symbols = b.symbols[:0]
	if b.byteLevel {
		for i := range len(word) {
			b.add(b.bytes[word[i]])
		}
	} else {
		b.addChars(word)
	}
	if last := len(b.symbols) - 1; last >= 0 {
		b.symbols[last].next = -1
	}
	b.merge()
	for i := range b.symbols {
		if !b.symbols[i].gone {
			to = append(to, b.symbols[i].token)
		}
	}
	return to, nil
}

func (b *bpe) add(token uint32) {
	i := int32(len(b.symbols))
	b.symbols = append(b.symbols, symbol{token: token, previous: i - 1, next: i + 1})
}

// addChars adds the symbols of a word: its characters, or the bytes of those that the vocabulary lacks, or the unknown
// token.
func (b *bpe) addChars(word string) {
	unknown := false // characters that are not added yet
	for at, r := range word {
		size := utf8.RuneLen(r)
		if id, ok := b.chars[r]; ok {
			if unknown {
				b.add(b.unknown)
				unknown = false
			}
			b.add(id)
		} else if ids, ok := b.fallback.add(nil, word[at:min(at+size, len(word))]); ok {
			for _, id := range ids {
				b.add(id)
			}
		} else if b.hasUnknown {
			if unknown && !b.fuseUnknown {
				b.add(b.unknown)
			}
			unknown = true
		}
	}
	if unknown {
		b.add(b.unknown)
	}
}

// merge merges the symbols, the lowest rank first.
func (b *bpe) merge() {
	b.queue = b.queue[:0]
	for i := range b.symbols {
		b.propose(int32(i))
	}
	for len(b.queue) > 0 {
		c := b.queue.pop()
		s := &b.symbols[c.at]
		if s.gone || s.next < 0 {
			continue
		}
		right := &b.symbols[s.next]
		if m, ok := b.merges.of(s.token, right.token); !ok || m.token != c.token {
			continue // one of them was merged before
		}
		right.gone = true
		s.token, s.next = c.token, right.next
		if s.next >= 0 {
			b.symbols[s.next].previous = c.at
		}
		b.propose(s.previous)
		b.propose(c.at)
	}
}

// propose queues a symbol and the one after it, if they can be merged.
func (b *bpe) propose(at int32) {
	if at < 0 || b.symbols[at].next < 0 {
		return
	}
	if m, ok := b.merges.of(b.symbols[at].token, b.symbols[b.symbols[at].next].token); ok {
		b.queue.push(candidate{m, at})
	}
}
