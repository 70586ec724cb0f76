package embed

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// secret is the key of a service, which no message may reveal, in whatever form the service repeats it.
type secret string

// hidden returns text without the key. A key that is quoted as it is can be cut out; of a text with the key in another
// form, nothing is shown.
func (s secret) hidden(text string) string {
	if s == "" {
		return text
	}
	text = strings.ReplaceAll(text, string(s), "(the key)")
	if s.disguisedIn(text) {
		return "(a text with the key in it, which is not shown)"
	}
	return text
}

// disguisedIn reports whether text contains the key with line breaks or other marks inside, escaped as in URLs, JSON or
// HTML, in base64 or in hexadecimal.
func (s secret) disguisedIn(text string) bool {
	const shortest = 4 // of an encoded form: less occurs in any text
	text = terminalEscape.ReplaceAllString(text, "")
	letters := lettersOf(text)
	for _, form := range inBase64(string(s)) {
		if len(form) >= shortest && strings.Contains(letters, form) {
			return true
		}
	}
	digits := hex.EncodeToString([]byte(s))
	if len(digits) >= shortest && strings.Contains(strings.ToLower(letters), digits) {
		return true
	}
	// Twice, as one escaped text may contain another.
	return partIn(letters, lettersOf(string(s))) ||
		partIn(lettersOf(unescaped(unescaped(text))), lettersOf(unescaped(string(s))))
}

// partIn reports whether text contains part, or so much of it that it should not be shown, ignoring case. The last four
// characters, by which services name a key, may be shown.
func partIn(text, part string) bool {
	const most = 8
	text, part = strings.ToLower(text), strings.ToLower(part)
	for from := 0; from+most <= len(part); from++ {
		if strings.Contains(text, part[from:from+most]) {
			return true
		}
	}
	return part != "" && len(part) < most && strings.Contains(text, part)
}

// lettersOf keeps only letters and digits.
func lettersOf(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

var (
	terminalEscape  = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|.)")
	percentEscape   = regexp.MustCompile(`%[0-9a-fA-F]{2}`)
	backslashEscape = regexp.MustCompile(`\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)`)
)

// unescaped undoes the escapes of URLs, of strings in JSON and Go, and of HTML. Escaped white space is dropped.
func unescaped(text string) string {
	text = percentEscape.ReplaceAllStringFunc(text, func(escape string) string {
		plain, _ := url.PathUnescape(escape)
		return plain
	})
	text = backslashEscape.ReplaceAllStringFunc(text, func(escape string) string {
		if len(escape) < 4 {
			return strings.TrimLeft(escape[1:], "nrtbfv")
		}
		code, _ := strconv.ParseUint(escape[2:], 16, 16)
		return string(rune(code))
	})
	return html.UnescapeString(text)
}

// inBase64 returns how key looks within a text in base64, only letters and digits, wherever in the text it begins.
func inBase64(key string) (forms []string) {
	for before := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("\x00", before) + key))
		first := (before*8 + 5) / 6 // these characters also depend on what is before,
		last := (before + len(key)) * 8 / 6
		forms = append(forms, lettersOf(encoded[first:max(first, last)])) // and those from here on what is after
	}
	return forms
}
