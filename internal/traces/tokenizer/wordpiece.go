package tokenizer

import (
	"errors"
	"unicode/utf8"
)

// wordPiece takes the longest token at the beginning of a word, and continues behind it.
type wordPiece struct {
	begins, continues trie
	unknown           uint32
	longest           int // characters in a word; longer ones are unknown
}

func newWordPiece(m modelFile) (*wordPiece, error) {
	vocabulary, err := readVocabulary(m.Vocabulary)
	if err != nil {
		return nil, err
	}
	w := &wordPiece{longest: 100}
	if m.Longest > 0 {
		w.longest = m.Longest
	}
	unknown := "[UNK]"
	if m.Unknown == nil {
		m.Unknown = &unknown
	}
	if w.unknown, _, err = unknownOf(m, vocabulary); err != nil {
		return nil, err
	}
	prefix := "##"
	if m.Prefix != nil {
		prefix = *m.Prefix
	}
	if prefix == "" {
		return nil, errors.New("WordPiece with an empty continuing_subword_prefix is not supported")
	}
	continued := map[string]uint32{}
	for text, id := range vocabulary {
		if len(text) > len(prefix) && text[:len(prefix)] == prefix {
			continued[text[len(prefix):]] = id
		}
	}
	if w.begins, err = newTrie(vocabulary); err != nil {
		return nil, err
	}
	w.continues, err = newTrie(continued)
	return w, err
}

func (w *wordPiece) encode(to []uint32, word string) ([]uint32, error) {
	if utf8.RuneCountInString(word) > w.longest {
		return append(to, w.unknown), nil
	}
	before := len(to)
	tokens := &w.begins
	for word != "" {
		token, size := tokens.longest(word)
		if size == 0 {
			return append(to[:before], w.unknown), nil
		}
		to, word, tokens = append(to, token), word[size:], &w.continues
	}
	return to, nil
}

// longest returns the longest token at the beginning of a text, and its size; 0 if there is none.
func (t *trie) longest(text string) (token uint32, size int) {
	node := uint32(0)
	for i := range len(text) {
		var ok bool
		if node, ok = t.child(node, text[i]); !ok {
			break
		}
		if t.tokens[node] >= 0 {
			token, size = uint32(t.tokens[node]), i+1
		}
	}
	return token, size
}
