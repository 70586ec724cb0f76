package tokenizer

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// normalize changes a text before it is split.
type normalize func(text string) (string, error)

// plainly makes a normalizer of a function that cannot fail.
func plainly(change func(string) string) normalize {
	return func(text string) (string, error) { return change(text), nil }
}

// addNormalizers adds a normalizer, or those of a sequence in their order.
func (t *Tokenizer) addNormalizers(n *step) error {
	if n == nil {
		return nil
	}
	if n.Type == "Sequence" {
		for i := range n.Normalizers {
			if err := t.addNormalizers(&n.Normalizers[i]); err != nil {
				return err
			}
		}
		return nil
	}
	change, err := normalizerOf(n)
	if err != nil {
		return err
	}
	t.normalizer = append(t.normalizer, change)
	return nil
}

// plain are the normalizers without options.
var plain = map[string]func(string) string{
	"NFC": norm.NFC.String, "NFD": norm.NFD.String, "NFKC": norm.NFKC.String, "NFKD": norm.NFKD.String,
	"Lowercase": lowercase, "StripAccents": func(text string) string { return dropIn(unicode.M, text) },
	"Nmt": func(text string) string { return strings.Map(nmtRune, text) },
}

func normalizerOf(n *step) (normalize, error) {
	if change, ok := plain[n.Type]; ok {
		return plainly(change), nil
	}
	switch n.Type {
	case "Strip":
		return plainly(func(text string) string { return strip(text, n.Left, n.Right) }), nil
	case "Prepend":
		if len(n.Prepend) > 64 {
			return nil, fmt.Errorf("the normalizer Prepend with %d bytes: want at most 64", len(n.Prepend))
		}
		return plainly(func(text string) string {
			if text == "" {
				return ""
			}
			return n.Prepend + text
		}), nil
	case "Replace":
		return newReplace(n)
	case "BertNormalizer":
		return newBertNormalizer(n), nil
	case "Precompiled":
		return newPrecompiled(n.CharsMap)
	}
	return nil, fmt.Errorf("the normalizer %.40q is not supported: want NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, "+
		"Strip, Nmt, Prepend, Replace, BertNormalizer, Precompiled or a sequence of them", n.Type)
}

func strip(text string, left, right bool) string {
	if left {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
	}
	if right {
		text = strings.TrimRightFunc(text, unicode.IsSpace)
	}
	return text
}

// lowercase turns each character by itself into lower case, without regard to its neighbours.
func lowercase(text string) string {
	if strings.ContainsRune(text, 'İ') { // the one that becomes two
		text = strings.ReplaceAll(text, "İ", "i\u0307")
	}
	return strings.Map(unicode.ToLower, text)
}

// dropIn drops the characters of a class.
func dropIn(class *unicode.RangeTable, text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(class, r) {
			return -1
		}
		return r
	}, text)
}

// nmtRune is the cleaning of NMT of SentencePiece: control characters go, unusual blanks become spaces.
func nmtRune(r rune) rune {
	switch {
	case r >= 1 && r <= 8, r == 0xb, r >= 0xe && r <= 0x1f, r == 0x7f, r == 0x8f, r == 0x9f:
		return -1
	case r == '\t', r == '\n', r == '\f', r == '\r', r == 0x1680, r >= 0x200b && r <= 0x200f, r == 0x2028, r == 0x2029,
		r == 0x2581, r == 0xfeff, r == 0xfffd:
		return ' '
	}
	return r
}

func newReplace(n *step) (normalize, error) {
	const longest = 64 // bytes that may replace one
	switch {
	case len(n.Content) > longest:
		return nil, fmt.Errorf("the normalizer Replace with a content of %d bytes: want at most %d", len(n.Content), longest)
	case n.Pattern.String != nil && *n.Pattern.String != "":
		return plainly(func(text string) string { return strings.ReplaceAll(text, *n.Pattern.String, n.Content) }), nil
	case n.Pattern.Regex == nil:
		return nil, errors.New("the normalizer Replace without a pattern is not supported")
	}
	pattern, err := compilePattern(*n.Pattern.Regex)
	if err != nil {
		return nil, err
	}
	return func(text string) (string, error) { return replaceMatches(pattern, text, n.Content) }, nil
}

// replaceMatches puts the same content in the place of each match.
func replaceMatches(p *pattern, text, content string) (string, error) {
	var to strings.Builder
	end, changed := 0, false
	err := p.findAll(text, func(from, until int) {
		to.WriteString(text[end:from])
		to.WriteString(content)
		end, changed = until, true
	})
	if err != nil {
		return "", errPattern(err)
	}
	if !changed {
		return text, nil
	}
	to.WriteString(text[end:])
	return to.String(), nil
}

// newBertNormalizer is the cleaning of BERT's own tokenizer.
func newBertNormalizer(n *step) normalize {
	accents := n.Lowercase
	if n.StripAccents != nil {
		accents = *n.StripAccents
	}
	return plainly(func(text string) string {
		if n.CleanText {
			text = strings.Map(cleanRune, text)
		}
		if n.ChineseChars {
			text = spaceChinese(text)
		}
		if accents {
			text = dropIn(unicode.Mn, norm.NFD.String(text))
		}
		if n.Lowercase {
			text = lowercase(text)
		}
		return text
	})
}

func cleanRune(r rune) rune {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return ' '
	case r == 0 || r == 0xfffd || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
		return -1
	case unicode.IsSpace(r):
		return ' '
	}
	return r
}

// spaceChinese puts spaces around each Chinese character.
func spaceChinese(text string) string {
	var to strings.Builder
	for _, r := range text {
		if isChinese(r) {
			to.WriteByte(' ')
			to.WriteRune(r)
			to.WriteByte(' ')
		} else {
			to.WriteRune(r)
		}
	}
	return to.String()
}

func isChinese(r rune) bool {
	return r >= 0x4e00 && r <= 0x9fff || r >= 0x3400 && r <= 0x4dbf || r >= 0x20000 && r <= 0x2a6df ||
		r >= 0x2a700 && r <= 0x2b81f || r >= 0x2b920 && r <= 0x2ceaf ||
		r >= 0xf900 && r <= 0xfaff || r >= 0x2f800 && r <= 0x2fa1f
}
