package source

import "bytes"

// AppendUnquoted appends a word of Redis' quoting without the escapes of quotes and of bytes above ASCII. Control
// characters and backslashes stay as MONITOR writes them, so that each key is one word, and two keys are two.
func AppendUnquoted(to, word []byte) []byte {
	for len(word) > 0 {
		i := bytes.IndexByte(word, '\\')
		if i < 0 || i+1 == len(word) {
			return append(to, word...)
		}
		to = append(to, word[:i]...)
		word = word[i:]
		switch {
		case word[1] == '"':
			to, word = append(to, '"'), word[2:]
		case word[1] == 'x' && len(word) >= 4 && FromHex(word[2], word[3]) >= 0x80:
			to, word = append(to, byte(FromHex(word[2], word[3]))), word[4:]
		default:
			to, word = append(to, word[:2]...), word[2:]
		}
	}
	return to
}

// FromHex returns the value of two hexadecimal digits, or -1.
func FromHex(high, low byte) int {
	h, l := hexDigit(high), hexDigit(low)
	if h < 0 || l < 0 {
		return -1
	}
	return h<<4 | l
}
