// Package tokenizer cuts texts into the tokens of a model, as its tokenizer.json says: byte-level BPE, the algorithm of
// GPT, Llama 3, Qwen, DeepSeek and most other models. Whatever it cannot compute exactly it refuses.
package tokenizer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
	"golang.org/x/text/unicode/norm"
)

// Tokenizer cuts texts into tokens. It is not safe for several goroutines.
type Tokenizer struct {
	added      addedTokens // matched in the text as it is
	normalized addedTokens // matched in the normalized text
	nfc        bool
	splits     []splitter
	bpe        bpe
	words      map[string][]uint32 // tokens of words seen before
	wordBytes  int                 // in words
	pieces     []string
	next       []string
}

// added is a token that is found in texts before anything else, such as <|im_start|>.
type added struct {
	text string
	id   uint32
}

// addedTokens are those that are matched at the same time, the longest first.
type addedTokens struct {
	all   []added
	first [256]bool // bytes that any of them begins with
}

func (a *addedTokens) add(text string, id uint32) {
	a.all = append(a.all, added{text, id})
	a.first[text[0]] = true
}

// at returns the longest token that a text begins with.
func (a *addedTokens) at(text string) (token added, ok bool) {
	if !a.first[text[0]] {
		return added{}, false
	}
	i := slices.IndexFunc(a.all, func(a added) bool { return strings.HasPrefix(text, a.text) })
	if i < 0 {
		return added{}, false
	}
	return a.all[i], true
}

// file is the part of tokenizer.json that decides about tokens.
type file struct {
	AddedTokens []struct {
		ID         uint32 `json:"id"`
		Content    string `json:"content"`
		SingleWord bool   `json:"single_word"`
		LeftStrip  bool   `json:"lstrip"`
		RightStrip bool   `json:"rstrip"`
		Normalized bool   `json:"normalized"`
	} `json:"added_tokens"`
	Normalizer   *step `json:"normalizer"`
	PreTokenizer *step `json:"pre_tokenizer"`
	Model        model `json:"model"`
}

// step is a normalizer or a pre-tokenizer, or a sequence of them.
type step struct {
	Type           string `json:"type"`
	Normalizers    []step `json:"normalizers"`
	PreTokenizers  []step `json:"pretokenizers"`
	AddPrefixSpace bool   `json:"add_prefix_space"`
	UseRegex       *bool  `json:"use_regex"`
	Behavior       string `json:"behavior"`
	Invert         bool   `json:"invert"`
	Individual     bool   `json:"individual_digits"`
	Pattern        struct {
		Regex  *string `json:"Regex"`
		String *string `json:"String"`
	} `json:"pattern"`
}

// Parse reads a tokenizer.json.
func Parse(content []byte) (*Tokenizer, error) {
	var f file
	if err := json.Unmarshal(content, &f); err != nil {
		return nil, fmt.Errorf("want a tokenizer.json of Hugging Face: %w", err)
	}
	t := &Tokenizer{words: map[string][]uint32{}}
	if err := t.setNormalizer(f.Normalizer); err != nil {
		return nil, err
	}
	byteLevel := false
	if err := t.addSplits(f.PreTokenizer, &byteLevel); err != nil {
		return nil, err
	}
	if !byteLevel && f.Model.Type == "BPE" {
		return nil, errors.New("a BPE that is not byte-level, as SentencePiece makes: want one with the pre-tokenizer " +
			"ByteLevel, as GPT, Llama 3, Qwen and DeepSeek have")
	}
	var err error
	if t.bpe, err = newBPE(f.Model); err != nil {
		return nil, err
	}
	for _, a := range f.AddedTokens {
		switch {
		case a.Content == "":
			return nil, fmt.Errorf("the added token %d is empty", a.ID)
		case a.SingleWord || a.LeftStrip || a.RightStrip:
			return nil, fmt.Errorf("the added token %.40q with single_word, lstrip or rstrip: these are not supported",
				a.Content)
		case a.Normalized:
			t.normalized.add(a.Content, a.ID)
		default:
			t.added.add(a.Content, a.ID)
		}
	}
	for _, list := range [][]added{t.added.all, t.normalized.all} { // the longest first
		slices.SortStableFunc(list, func(a, b added) int { return cmp.Compare(len(b.text), len(a.text)) })
	}
	return t, nil
}

func (t *Tokenizer) setNormalizer(n *step) error {
	if n == nil {
		return nil
	}
	switch n.Type {
	case "NFC":
		t.nfc = true
	case "Sequence":
		for i := range n.Normalizers {
			if err := t.setNormalizer(&n.Normalizers[i]); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("the normalizer %.40q is not supported: want NFC or none", n.Type)
	}
	return nil
}

// gpt2Pattern is what ByteLevel splits by, unless the file says otherwise.
const gpt2Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// addSplits adds the splits of a pre-tokenizer in their order.
func (t *Tokenizer) addSplits(p *step, byteLevel *bool) error {
	if p == nil {
		return nil
	}
	switch p.Type {
	case "Sequence":
		for i := range p.PreTokenizers {
			if err := t.addSplits(&p.PreTokenizers[i], byteLevel); err != nil {
				return err
			}
		}
		return nil
	case "ByteLevel":
		*byteLevel = true
		if p.AddPrefixSpace {
			return errors.New("the pre-tokenizer ByteLevel with add_prefix_space is not supported")
		}
		if p.UseRegex == nil || *p.UseRegex {
			return t.addSplit(gpt2Pattern, false)
		}
		return nil
	case "Digits":
		if p.Individual {
			return t.addSplit(`\p{N}`, false)
		}
		return t.addSplit(`\p{N}+`, false)
	case "Split":
		if p.Pattern.Regex == nil {
			return errors.New("the pre-tokenizer Split without a regular expression is not supported")
		}
		switch {
		case p.Behavior == "Isolated" && !p.Invert:
			return t.addSplit(*p.Pattern.Regex, false)
		case p.Behavior == "Removed" && p.Invert:
			return t.addSplit(*p.Pattern.Regex, true)
		}
		return fmt.Errorf("the pre-tokenizer Split with behavior %.20q and invert %v is not supported", p.Behavior, p.Invert)
	}
	return fmt.Errorf("the pre-tokenizer %.40q is not supported: want ByteLevel, Split, Digits or a sequence of them",
		p.Type)
}

// splitter isolates the matches of a pattern.
type splitter struct {
	pattern *regexp2.Regexp
	only    bool // what is between matches is dropped
}

// longestMatch bounds the time of one match: a pattern may take exponential time.
const longestMatch = 10 * time.Second

func (t *Tokenizer) addSplit(pattern string, only bool) error {
	re, err := regexp2.Compile(pattern, regexp2.None)
	if err != nil {
		return fmt.Errorf("the pattern of a pre-tokenizer is not supported: %w", err)
	}
	re.MatchTimeout = longestMatch
	t.splits = append(t.splits, splitter{re, only})
	return nil
}

// Encode appends the tokens of a text. Nothing is added at its ends.
func (t *Tokenizer) Encode(to []uint64, text string) ([]uint64, error) {
	return each(text, &t.added, to, func(to []uint64, part string) ([]uint64, error) {
		if t.nfc {
			part = norm.NFC.String(part)
		}
		return each(part, &t.normalized, to, t.encodeWords)
	})
}

// each appends the added tokens in a text, the longest of those that begin at the same place, and calls other for what
// is between them.
func each(text string, tokens *addedTokens, to []uint64, other func([]uint64, string) ([]uint64, error)) (_ []uint64,
	err error) {
	begun := 0
	for at := 0; at < len(text); {
		token, ok := tokens.at(text[at:])
		if !ok {
			at++
			continue
		}
		if begun < at {
			if to, err = other(to, text[begun:at]); err != nil {
				return to, err
			}
		}
		to = append(to, uint64(token.id))
		at += len(token.text)
		begun = at
	}
	if begun < len(text) {
		return other(to, text[begun:])
	}
	return to, nil
}

// encodeWords splits a text into words and appends their tokens.
func (t *Tokenizer) encodeWords(to []uint64, text string) ([]uint64, error) {
	t.pieces = append(t.pieces[:0], text)
	for _, s := range t.splits {
		t.next = t.next[:0]
		for _, piece := range t.pieces {
			var err error
			if t.next, err = s.split(t.next, piece); err != nil {
				return to, err
			}
		}
		t.pieces, t.next = t.next, t.pieces
	}
	for _, word := range t.pieces {
		for _, id := range t.encodeWord(word) {
			to = append(to, uint64(id))
		}
	}
	return to, nil
}

func (s *splitter) split(to []string, text string) ([]string, error) {
	runes := []rune(text)
	match, err := s.pattern.FindRunesMatch(runes)
	between := func(from, until int) {
		if from < until && !s.only {
			to = append(to, string(runes[from:until]))
		}
	}
	end := 0
	for match != nil && err == nil {
		between(end, match.Index)
		if end = match.Index + match.Length; match.Length > 0 {
			to = append(to, string(runes[match.Index:end]))
		}
		match, err = s.pattern.FindNextMatch(match)
	}
	if err != nil {
		return to, fmt.Errorf("the pattern of the tokenizer: %w", err)
	}
	between(end, len(runes))
	return to, nil
}

// encodeWord returns the tokens of a word, which it remembers if it is short.
func (t *Tokenizer) encodeWord(word string) []uint32 {
	const longest, mostBytes = 64, 64 << 20
	if ids, ok := t.words[word]; ok {
		return ids
	}
	ids := t.bpe.encode(word)
	if len(word) <= longest {
		if t.wordBytes += len(word) + 100; t.wordBytes > mostBytes {
			clear(t.words)
			t.wordBytes = 0
		}
		t.words[strings.Clone(word)] = ids
	}
	return ids
}
