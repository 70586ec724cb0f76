// Package tokenizer cuts texts into the tokens of a model, as its tokenizer.json says: BPE over bytes (GPT, Llama 3,
// Qwen, DeepSeek) or over characters (Llama 2, Mistral, Gemma), Unigram (T5, XLM-R) and WordPiece (BERT). Whatever it
// cannot compute exactly it refuses.
package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
)

// Tokenizer cuts texts into tokens. It is not safe for several goroutines.
type Tokenizer struct {
	added      addedTokens // matched in the text as it is
	normalized addedTokens // matched in the normalized text
	normalizer []normalize
	splits     []split
	model      interface {
		// encode appends the tokens of a word.
		encode(to []uint32, word string) ([]uint32, error)
	}
	words     map[string][]uint32 // tokens of words seen before
	wordBytes int                 // in words
	pieces    []piece
	next      []piece
	room      []uint32
}

// piece is a part of a text; begins says that it begins with the first character of the text.
type piece struct {
	text   string
	begins bool
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
	Normalizer   *step     `json:"normalizer"`
	PreTokenizer *step     `json:"pre_tokenizer"`
	Model        modelFile `json:"model"`
}

// modelFile is the model of tokenizer.json.
type modelFile struct {
	Type         string            `json:"type"`
	Dropout      *float64          `json:"dropout"`
	Prefix       *string           `json:"continuing_subword_prefix"`
	Suffix       *string           `json:"end_of_word_suffix"`
	Unknown      *string           `json:"unk_token"`
	UnknownID    *int              `json:"unk_id"` // of Unigram
	FuseUnknown  bool              `json:"fuse_unk"`
	ByteFallback bool              `json:"byte_fallback"`
	IgnoreMerges bool              `json:"ignore_merges"`
	Longest      int               `json:"max_input_chars_per_word"` // of WordPiece
	Vocabulary   json.RawMessage   `json:"vocab"`                    // an object of numbers; in Unigram pairs with a score
	Merges       []json.RawMessage `json:"merges"`
}

// step is a normalizer or a pre-tokenizer, or a sequence of them.
type step struct {
	Type           string `json:"type"`
	Normalizers    []step `json:"normalizers"`
	PreTokenizers  []step `json:"pretokenizers"`
	AddPrefixSpace *bool  `json:"add_prefix_space"`
	UseRegex       *bool  `json:"use_regex"`
	Behavior       string `json:"behavior"`
	Invert         bool   `json:"invert"`
	Individual     bool   `json:"individual_digits"`
	Pattern        struct {
		Regex  *string `json:"Regex"`
		String *string `json:"String"`
	} `json:"pattern"`
	Content       string `json:"content"`     // of Replace
	Prepend       string `json:"prepend"`     // of Prepend
	Replacement   string `json:"replacement"` // of Metaspace
	PrependScheme string `json:"prepend_scheme"`
	Split         *bool  `json:"split"`
	Left          bool   `json:"strip_left"` // of Strip
	Right         bool   `json:"strip_right"`
	CleanText     bool   `json:"clean_text"` // of BertNormalizer
	ChineseChars  bool   `json:"handle_chinese_chars"`
	StripAccents  *bool  `json:"strip_accents"`
	Lowercase     bool   `json:"lowercase"`
	CharsMap      string `json:"precompiled_charsmap"` // of Precompiled
}

// Parse reads a tokenizer.json.
func Parse(content []byte) (*Tokenizer, error) {
	var f file
	if err := jsonlines.Parse(content, &f, "a tokenizer.json of Hugging Face"); err != nil {
		return nil, err
	}
	t := &Tokenizer{words: map[string][]uint32{}}
	if err := t.addNormalizers(f.Normalizer); err != nil {
		return nil, err
	}
	byteLevel, err := t.addSplits(f.PreTokenizer)
	if err != nil {
		return nil, err
	}
	if err := t.setModel(f.Model, byteLevel); err != nil {
		return nil, err
	}
	return t, t.addTokens(f)
}

// setModel sets the model. byteLevel says that words are bytes, which the vocabulary writes as letters.
func (t *Tokenizer) setModel(m modelFile, byteLevel bool) (err error) {
	switch {
	case byteLevel && m.Type != "BPE":
		return fmt.Errorf("the model %.40q with the pre-tokenizer ByteLevel is not supported: want BPE", m.Type)
	case m.Type == "BPE":
		var b *bpe
		if b, err = newBPE(m, byteLevel); err == nil && b.cuts {
			t.splits = append(t.splits, cutAtMarks)
		}
		t.model = b
	case m.Type == "Unigram":
		t.model, err = newUnigram(m)
	case m.Type == "WordPiece":
		t.model, err = newWordPiece(m)
	default:
		err = fmt.Errorf("the model %.40q is not supported: want BPE, Unigram or WordPiece", m.Type)
	}
	return err
}

// addTokens adds the tokens that are found in texts before anything else.
func (t *Tokenizer) addTokens(f file) error {
	for _, a := range f.AddedTokens {
		if a.Content == "" {
			return fmt.Errorf("the added token %d is empty", a.ID)
		}
		token := added{a.Content, a.ID, a.SingleWord, a.LeftStrip, a.RightStrip}
		if !a.Normalized {
			t.added.add(token)
			continue
		}
		var err error
		if token.text, err = t.normalize(token.text); err != nil {
			return err
		}
		if token.text != "" { // nothing can match it
			t.normalized.add(token)
		}
	}
	return nil
}

// Encode appends the tokens of a text. Nothing is added at its ends.
func (t *Tokenizer) Encode(to []uint64, text string) ([]uint64, error) {
	text = strings.ToValidUTF8(text, "\ufffd")
	return t.added.each(piece{text, true}, to, t.encodeNormalized)
}

func (t *Tokenizer) encodeNormalized(to []uint64, part piece) (_ []uint64, err error) {
	before := part.text
	if part.text, err = t.normalize(part.text); err != nil {
		return to, err
	}
	if part.begins && part.text != before {
		part.begins = t.keepsBeginning(before)
	}
	return t.normalized.each(part, to, t.encodeWords)
}

// longestGrowth is how many times longer normalizers may make a text. NFKD makes one at most 11 times longer.
const longestGrowth = 32

// normalize returns a text as all normalizers leave it.
func (t *Tokenizer) normalize(text string) (_ string, err error) {
	most := longestGrowth*len(text) + 1<<10
	for _, normalize := range t.normalizer {
		if text, err = normalize(text); err != nil {
			return "", err
		}
		if len(text) > most {
			return "", fmt.Errorf("the normalizers of the tokenizer make more than %d bytes of %d", most, most/longestGrowth)
		}
	}
	return text, nil
}

// keepsBeginning reports whether something of the first character of a text is left by the normalizers.
func (t *Tokenizer) keepsBeginning(text string) bool {
	_, size := utf8.DecodeRuneInString(text)
	left, err := t.normalize(text[:size])
	return err == nil && left != ""
}

// encodeWords splits a text into words and appends their tokens.
func (t *Tokenizer) encodeWords(to []uint64, text piece) ([]uint64, error) {
	t.pieces = append(t.pieces[:0], text)
	for _, split := range t.splits {
		t.next = t.next[:0]
		for _, p := range t.pieces {
			var err error
			if t.next, err = split(t.next, p); err != nil {
				return to, err
			}
		}
		t.pieces, t.next = t.next, t.pieces
	}
	for _, word := range t.pieces {
		ids, err := t.encodeWord(word.text)
		if err != nil {
			return to, err
		}
		for _, id := range ids {
			to = append(to, uint64(id))
		}
	}
	return to, nil
}

// encodeWord returns the tokens of a word, valid until the next one. It remembers short words.
func (t *Tokenizer) encodeWord(word string) ([]uint32, error) {
	const longest, mostBytes, tooLong = 64, 64 << 20, 16 << 20
	if ids, ok := t.words[word]; ok {
		return ids, nil
	}
	if len(word) > tooLong {
		return nil, fmt.Errorf("a word of %d bytes for the tokenizer: want at most %d", len(word), tooLong)
	}
	ids, err := t.model.encode(t.room[:0], word)
	t.room = ids
	if err != nil {
		return nil, err
	}
	if len(word) <= longest {
		if t.wordBytes += len(word) + 100; t.wordBytes > mostBytes {
			clear(t.words)
			t.wordBytes = 0
		}
		t.words[strings.Clone(word)] = append([]uint32(nil), ids...)
	}
	return ids, nil
}

// readVocabulary reads the tokens of a vocabulary that is an object of numbers.
func readVocabulary(raw json.RawMessage) (vocabulary map[string]uint32, err error) {
	if len(raw) == 0 {
		return nil, errNoVocabulary
	}
	if err := jsonlines.Parse(raw, &vocabulary, "an object with a number for each token"); err != nil {
		return nil, fmt.Errorf("the vocabulary: %w", err)
	}
	return vocabulary, nil
}

// unknownOf returns the token for unknown text; has is false if there is none.
func unknownOf(m modelFile, vocabulary map[string]uint32) (id uint32, has bool, err error) {
	if m.Unknown == nil {
		return 0, false, nil
	}
	id, ok := vocabulary[*m.Unknown]
	if !ok {
		return 0, false, fmt.Errorf("the vocabulary lacks the unknown token %.40q", *m.Unknown)
	}
	return id, true, nil
}

// fallbackBytes are the tokens of single bytes, <0x00> to <0xFF>; known says which there are.
type fallbackBytes struct {
	ids   [256]uint32
	known [256]bool
}

func newFallback(vocabulary map[string]uint32) *fallbackBytes {
	f := &fallbackBytes{}
	for c := range f.ids {
		f.ids[c], f.known[c] = vocabulary[fmt.Sprintf("<0x%02X>", c)]
	}
	return f
}

// add appends the tokens of all bytes of a text; false if one of them is no token. It is false for nil.
func (f *fallbackBytes) add(to []uint32, text string) (_ []uint32, ok bool) {
	if f == nil {
		return to, false
	}
	before := len(to)
	for i := range len(text) {
		if !f.known[text[i]] {
			return to[:before], false
		}
		to = append(to, f.ids[text[i]])
	}
	return to, true
}

var errNoVocabulary = errors.New("the model has no vocabulary (vocab)")

func isSet(text *string) bool { return text != nil && *text != "" }

var errAffixes = errors.New("BPE with dropout, continuing_subword_prefix or end_of_word_suffix is not supported")
