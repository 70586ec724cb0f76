package tokenizer

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// charsMap is the normalization of a SentencePiece model: a double array of Darts, which maps sequences of bytes to
// places in texts that end with a zero.
type charsMap struct {
	units []uint32
	texts string
}

var errCharsMap = errors.New("the normalizer Precompiled: want a charsmap of SentencePiece in base64")

func newPrecompiled(encoded string) (normalize, error) {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errCharsMap
	}
	if len(raw) == 0 {
		return plainly(func(text string) string { return text }), nil
	}
	if len(raw) < 8 {
		return nil, errCharsMap
	}
	size := int(binary.LittleEndian.Uint32(raw))
	if size%4 != 0 || size == 0 || size > len(raw)-4 || !utf8.Valid(raw[4+size:]) {
		return nil, errCharsMap
	}
	m := &charsMap{units: make([]uint32, size/4), texts: string(raw[4+size:])}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(raw[4+4*i:])
	}
	return plainly(m.normalize), nil
}

// normalize looks up whole graphemes if they are short, and otherwise characters, as Hugging Face's library does.
func (m *charsMap) normalize(text string) string {
	const longest = 5 // bytes of a grapheme
	var to strings.Builder
	state := -1
	for rest := text; rest != ""; {
		var grapheme string
		grapheme, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if len(grapheme) <= longest {
			if found, ok := m.find(grapheme); ok {
				to.WriteString(found)
				continue
			}
		}
		for _, r := range grapheme {
			char := string(r)
			if found, ok := m.find(char); ok {
				char = found
			}
			to.WriteString(char)
		}
	}
	return to.String()
}

// find returns what the shortest prefix of a text that is in the array becomes.
func (m *charsMap) find(text string) (found string, ok bool) {
	offset := func(unit uint32) uint32 { return (unit >> 10) << ((unit & (1 << 9)) >> 6) }
	at := offset(m.units[0])
	for i := range len(text) {
		if at ^= uint32(text[i]); text[i] == 0 || int64(at) >= int64(len(m.units)) {
			return "", false
		}
		unit := m.units[at]
		if unit&(1<<31|0xff) != uint32(text[i]) {
			return "", false
		}
		if at ^= offset(unit); int64(at) >= int64(len(m.units)) {
			return "", false
		}
		if unit>>8&1 == 1 {
			from := int64(m.units[at] & (1<<31 - 1))
			if from > int64(len(m.texts)) {
				return "", false
			}
			found, _, _ = strings.Cut(m.texts[from:], "\x00")
			return found, true
		}
	}
	return "", false
}
