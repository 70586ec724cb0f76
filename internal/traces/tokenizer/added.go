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
	begin [256][]added // by their first byte
	some  bool
}

func (a *addedTokens) add(token added) {
	a.begin[token.text[0]] = append(a.begin[token.text[0]], token)
	a.some = true
}

func (a *addedTokens) sort() {
	for _, list := range a.begin {
		slices.SortStableFunc(list, func(a, b added) int { return cmp.Compare(len(b.text), len(a.text)) })
	}
}

// at returns the longest token that a text begins with.
func (a *addedTokens) at(text string) (token *added, ok bool) {
	list := a.begin[text[0]]
	for i := range list {
		if strings.HasPrefix(text, list[i].text) {
			return &list[i], true
		}
	}
	return nil, false
}

// each appends the added tokens in a text, the longest of those that begin at the same place, and calls other for what
// is between them.
func (a *addedTokens) each(text piece, to []uint64, other func([]uint64, piece) ([]uint64, error)) (_ []uint64,
	err error) {
	begun := 0
	for at := 0; a.some && at < len(text.text); {
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
			from = max(begun, len(strings.TrimRightFunc(text.text[:from], unicode.IsSpace)))
		}
		if token.rightStrip {
			until = len(text.text) - len(strings.TrimLeftFunc(text.text[until:], unicode.IsSpace))
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

// standsAlone reports whether no word goes on at the ends of a part of a text.
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
