package tokenizer

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// added is a token that is found in texts before anything else, such as <|im_start|>.
type added struct {
	text       string
	id         uint32
	singleWord bool // only between characters that are in no word
	leftStrip  bool // takes the white space before it
	rightStrip bool // takes the white space after it
}

// addedTokens are those that are matched at the same time, the longest first.
type addedTokens struct {
	tokens map[string]*added
	sizes  [256][]int // by the first byte of tokens: how long they are, the longest first, each size once
}

func (a *addedTokens) add(token added) {
	if _, known := a.tokens[token.text]; known {
		return
	}
	if a.tokens == nil {
		a.tokens = map[string]*added{}
	}
	a.tokens[token.text] = &token
	sizes, longestFirst := &a.sizes[token.text[0]], func(a, b int) int { return cmp.Compare(b, a) }
	if at, known := slices.BinarySearchFunc(*sizes, len(token.text), longestFirst); !known {
		*sizes = slices.Insert(*sizes, at, len(token.text))
	}
}

// at returns the longest token that a text begins with.
func (a *addedTokens) at(text string) (token *added, ok bool) {
	for _, size := range a.sizes[text[0]] {
		if size <= len(text) {
			if token, ok = a.tokens[text[:size]]; ok {
				return token, true
			}
		}
	}
	return nil, false
}

// each appends the added tokens in a text, at each place the longest, and calls other for the text between them.
func (a *addedTokens) each(text piece, to []uint64, other func([]uint64, piece) ([]uint64, error)) (_ []uint64,
	err error) {
	begun, blank := 0, 0 // what is done; the end of white space after the last token that strips it
	for at := 0; len(a.tokens) > 0 && at < len(text.text); {
		token, ok := a.at(text.text[at:])
		if !ok {
			at++
			continue
		}
		from, until := at, at+len(token.text)
		at = until
		if token.singleWord && !standsAlone(text.text, from, until) {
			continue
		}
		if token.leftStrip {
			before := text.text[min(begun, from):from] // no further: white space may be a token itself
			from -= len(before) - len(strings.TrimRightFunc(before, unicode.IsSpace))
		}
		if token.rightStrip {
			if until > blank {
				blank = len(text.text) - len(strings.TrimLeftFunc(text.text[until:], unicode.IsSpace))
			}
			until = blank
		}
		if begun < from {
			if to, err = other(to, piece{text.text[begun:from], text.begins && begun == 0}); err != nil {
				return to, err
			}
		}
		to = append(to, uint64(token.id))
		begun = until
	}
	if begun < len(text.text) {
		return other(to, piece{text.text[begun:], text.begins && begun == 0})
	}
	return to, nil
}

// standsAlone reports whether no word continues beyond the ends of a part of a text.
func standsAlone(text string, from, until int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[until:])
	return (from == 0 || !isWordRune(before)) && (until == len(text) || !isWordRune(after))
}

// isWordRune reports whether regular expressions count a character among those of words.
func isWordRune(r rune) bool {
	return r == '\u200c' || r == '\u200d' || unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc,
		unicode.Other_Alphabetic)
}
