// Package quote keeps messages short that repeat what a user or a file said.
// Whoever makes an error quotes its input whole; where the error is shown, Shorten cuts what is longer than a person
// reads.
package quote

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxQuote   = 80   // characters of what stands in quotes
	maxWord    = 250  // characters without a blank, which may be the path of a file
	maxPath    = 4096 // characters of a word with slashes
	maxMessage = 8000
)

// quoteOrWord matches what stands in quotes, as %q writes it, or a word.
var quoteOrWord = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[^\s"]+`)

// Shorten returns a message with at most 80 characters of what it quotes, and its other words, and itself, cut where
// they are longer than any that the program writes. What is cut loses its middle.
func Shorten(message string) string {
	if len(message) <= maxQuote {
		return message
	}
	return cut(quoteOrWord.ReplaceAllStringFunc(message, shortenOne), maxMessage)
}

// shortenOne cuts a quote or a word.
func shortenOne(text string) string {
	switch quoted, err := strconv.Unquote(text); {
	case err == nil && utf8.RuneCountInString(quoted) <= maxQuote:
		return text
	case err == nil:
		return strconv.Quote(cut(quoted, maxQuote))
	case strings.ContainsAny(text, "/"+string(filepath.Separator)):
		return cut(text, maxPath)
	}
	return cut(text, maxWord)
}

// cut takes out the middle of a text of more than most characters, so that as many are left.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	half := (most - 1) / 2
	return string(runes[:most-1-half]) + "…" + string(runes[len(runes)-half:])
}
