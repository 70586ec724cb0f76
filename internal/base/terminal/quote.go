package terminal

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxQuote   = 80   // characters between quotes
	maxWord    = 250  // characters without a blank, which may be the path of a file
	maxPath    = 4096 // characters of a word with slashes
	maxMessage = 8000
)

// quoteOrWord matches a quoted text, as %q writes it, or a word.
var quoteOrWord = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[^\s"]+`)

// Shorten returns a message that is limited to 80 characters per quotation; its other words, and the message itself,
// are cut if they are longer than anything that the program writes. Cutting removes the middle.
func Shorten(message string) string {
	if len(message) <= maxQuote {
		return message
	}
	return cut(quoteOrWord.ReplaceAllStringFunc(message, shortenOne), maxMessage)
}

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

// cut removes the middle of a text of more than most characters, so that most are left.
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

// Shell returns text as one word of a shell: between single quotes where it has characters that mean something there.
func Shell(text string) string {
	meansSomething := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./,:=%+@", r)
	}
	if text != "" && !strings.ContainsFunc(text, meansSomething) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Label returns a name as valid text of one line, for records. Names of files, jobs and users may have line breaks,
// control characters and bytes that are not UTF-8; these are escaped as in Go. In the header of a table a name on a
// line of its own could be a command to the runner of GitHub.
func Label(name string) string {
	if utf8.ValidString(name) {
		return InLine(name)
	}
	return strings.TrimSuffix(strings.TrimPrefix(strconv.Quote(name), `"`), `"`)
}
