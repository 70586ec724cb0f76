package tokenizer

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// split appends the parts of a piece.
type split func(to []piece, p piece) ([]piece, error)

// gpt2Pattern is what ByteLevel splits by, unless the file says otherwise.
const gpt2Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// addSplits adds the splits of a pre-tokenizer in their order. byteLevel says that the last one turns texts into bytes.
func (t *Tokenizer) addSplits(p *step) (byteLevel bool, err error) {
	if p == nil {
		return false, nil
	}
	if p.Type == "Sequence" {
		for i := range p.PreTokenizers {
			if byteLevel {
				return false, fmt.Errorf("the pre-tokenizer %.40q after ByteLevel is not supported", p.PreTokenizers[i].Type)
			}
			if byteLevel, err = t.addSplits(&p.PreTokenizers[i]); err != nil {
				return false, err
			}
		}
		return byteLevel, nil
	}
	splits, err := splitsOf(p)
	t.splits = append(t.splits, splits...)
	return p.Type == "ByteLevel", err
}

func splitsOf(p *step) ([]split, error) {
	switch p.Type {
	case "ByteLevel":
		return byteLevelSplits(p)
	case "Digits":
		if p.Individual {
			return one(newPatternSplit(`\p{N}`, isolated, false))
		}
		return one(newPatternSplit(`\p{N}+`, isolated, false))
	case "Split":
		return one(newSplit(p))
	case "Metaspace":
		return one(newMetaspace(p))
	case "WhitespaceSplit":
		return []split{splitBlanks}, nil
	case "BertPreTokenizer":
		return []split{splitBlanks, isolatePunctuation}, nil
	case "Punctuation":
		if p.Behavior == "" || p.Behavior == isolated {
			return []split{isolatePunctuation}, nil
		}
		return nil, fmt.Errorf("the pre-tokenizer Punctuation with behavior %.20q is not supported", p.Behavior)
	}
	return nil, fmt.Errorf("the pre-tokenizer %.40q is not supported: want ByteLevel, Split, Digits, Metaspace, "+
		"WhitespaceSplit, BertPreTokenizer, Punctuation or a sequence of them", p.Type)
}

func one(s split, err error) ([]split, error) { return []split{s}, err }

func byteLevelSplits(p *step) (splits []split, err error) {
	if p.AddPrefixSpace != nil && *p.AddPrefixSpace {
		splits = append(splits, func(to []piece, p piece) ([]piece, error) {
			if !strings.HasPrefix(p.text, " ") {
				p.text = " " + p.text
			}
			return append(to, p), nil
		})
	}
	if p.UseRegex == nil || *p.UseRegex {
		byPattern, err := newPatternSplit(gpt2Pattern, isolated, false)
		return append(splits, byPattern), err
	}
	return splits, nil
}

// splitBlanks splits at white space and drops it.
func splitBlanks(to []piece, p piece) ([]piece, error) {
	at := 0
	for word := range strings.FieldsFuncSeq(p.text, unicode.IsSpace) {
		begins := p.begins && at == 0 && strings.HasPrefix(p.text, word)
		to, at = append(to, piece{word, begins}), at+1
	}
	return to, nil
}

// isolatePunctuation makes a piece of each punctuation mark.
func isolatePunctuation(to []piece, p piece) ([]piece, error) {
	begun := 0
	upTo := func(end int) {
		if begun < end {
			to = append(to, piece{p.text[begun:end], p.begins && begun == 0})
			begun = end
		}
	}
	for at, r := range p.text {
		if isPunctuation(r) {
			upTo(at)
			upTo(at + utf8.RuneLen(r))
		}
	}
	upTo(len(p.text))
	return to, nil
}

func isPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= '!' && r <= '/' || r >= ':' && r <= '@' || r >= '[' && r <= '`' || r >= '{' && r <= '~'
	}
	return unicode.Is(unicode.P, r)
}

// newMetaspace returns the splits of SentencePiece: spaces become a mark that words begin with.
func newMetaspace(p *step) (split, error) {
	mark := p.Replacement
	if utf8.RuneCountInString(mark) != 1 {
		return nil, fmt.Errorf("the pre-tokenizer Metaspace with the replacement %.20q: want one character", mark)
	}
	scheme := p.PrependScheme
	if scheme == "" {
		scheme = "always"
		if p.AddPrefixSpace != nil && !*p.AddPrefixSpace {
			scheme = "never"
		}
	}
	if !slices.Contains([]string{"always", "first", "never"}, scheme) {
		return nil, fmt.Errorf("the pre-tokenizer Metaspace with prepend_scheme %.20q: want always, first or never", scheme)
	}
	whole := p.Split != nil && !*p.Split
	return func(to []piece, p piece) ([]piece, error) {
		p.text = strings.ReplaceAll(p.text, " ", mark)
		if (scheme == "always" || scheme == "first" && p.begins) && !strings.HasPrefix(p.text, mark) {
			p.text = mark + p.text
		}
		if whole {
			return append(to, p), nil
		}
		return splitBefore(to, p, mark), nil
	}, nil
}

// splitBefore splits a text before each mark.
func splitBefore(to []piece, p piece, mark string) []piece {
	for rest, begins := p.text, p.begins; rest != ""; begins = false {
		_, size := utf8.DecodeRuneInString(rest)
		end := strings.Index(rest[size:], mark)
		if end < 0 {
			return append(to, piece{rest, begins})
		}
		to = append(to, piece{rest[:size+end], begins})
		rest = rest[size+end:]
	}
	return to
}

// cutAtMarks splits a text where no merge crosses.
func cutAtMarks(to []piece, p piece) ([]piece, error) {
	for p.text != "" {
		end := nextCut(p.text)
		to = append(to, piece{p.text[:end], p.begins})
		p = piece{text: p.text[end:]}
	}
	return to, nil
}

// Behaviors of a split, as files name them.
const (
	isolated     = "Isolated"
	removed      = "Removed"
	contiguous   = "Contiguous"
	withPrevious = "MergedWithPrevious"
	withNext     = "MergedWithNext"
)

func newSplit(p *step) (split, error) {
	if !slices.Contains([]string{isolated, removed, contiguous, withPrevious, withNext}, p.Behavior) {
		return nil, fmt.Errorf("the pre-tokenizer Split with behavior %.20q is not supported", p.Behavior)
	}
	switch {
	case p.Pattern.Regex != nil:
		return newPatternSplit(*p.Pattern.Regex, p.Behavior, p.Invert)
	case p.Pattern.String != nil && *p.Pattern.String != "":
		return newPatternSplit(regexp.QuoteMeta(*p.Pattern.String), p.Behavior, p.Invert)
	}
	return nil, errors.New("the pre-tokenizer Split without a pattern is not supported")
}

func errPattern(err error) error { return fmt.Errorf("the pattern of the tokenizer: %w", err) }

// segment is a match of a pattern, or what is between two.
type segment struct {
	from, until int
	match       bool
}

// patternSplit splits a text at the matches of a pattern.
type patternSplit struct {
	pattern  *pattern
	behavior string
	invert   bool
	segments []segment
}

func newPatternSplit(pattern, behavior string, invert bool) (split, error) {
	compiled, err := compilePattern(pattern)
	if err != nil {
		return nil, err
	}
	s := &patternSplit{pattern: compiled, behavior: behavior, invert: invert}
	return s.split, nil
}

func (s *patternSplit) split(to []piece, p piece) ([]piece, error) {
	if err := s.find(p.text); err != nil {
		return to, err
	}
	for _, part := range s.join() {
		if part.from < part.until && (s.behavior != removed || !part.match) {
			to = append(to, piece{p.text[part.from:part.until], p.begins && part.from == 0})
		}
	}
	return to, nil
}

// find sets the segments of a text.
func (s *patternSplit) find(text string) error {
	s.segments = s.segments[:0]
	end := 0
	err := s.pattern.findAll(text, func(from, until int) {
		if end < from {
			s.segments = append(s.segments, segment{end, from, s.invert})
		}
		end = until
		s.segments = append(s.segments, segment{from, end, !s.invert})
	})
	if err != nil {
		return errPattern(err)
	}
	if end < len(text) {
		s.segments = append(s.segments, segment{end, len(text), s.invert})
	}
	return nil
}

// join joins segments as the behavior says.
func (s *patternSplit) join() []segment {
	joined := s.segments[:0:len(s.segments)]
	for i, part := range s.segments {
		// What is before is still there: it is overwritten by itself at most.
		after := i > 0 && s.segments[i-1].match
		joins := false
		switch s.behavior {
		case contiguous:
			joins = after == part.match
		case withPrevious:
			joins = part.match && !after
		case withNext:
			joins = !part.match && after
		}
		if joins && i > 0 {
			joined[len(joined)-1].until = part.until
		} else {
			joined = append(joined, part)
		}
	}
	return joined
}
