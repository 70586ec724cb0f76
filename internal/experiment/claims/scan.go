package claims

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// keywords are the words that cannot be names without quotes.
var keywords = []string{
	"where", "and", "in", "not", "between", "within", "at", "of", "over", "with", "is", "among", "never", "increases",
	"decreases",
}

type token struct {
	kind       tokenKind
	text       string // a quoted text without its quotes
	start, end int    // position in the claim
}

type tokenKind int

const (
	endToken    tokenKind = iota
	wordToken             // metrics, policies, dimensions and keywords
	quotedToken           // 'a name with spaces'
	numberToken           // 1.05, 40%
	signToken             // + - * / ( ) , and comparisons
)

func (t token) String() string {
	if t.kind == endToken {
		return "the end"
	}
	return fmt.Sprintf("%q", t.text)
}

// scan returns the token that starts at or after at.
func scan(text string, at int) (token, error) {
	at = skipSpace(text, at)
	t := token{start: at, end: at}
	if at == len(text) {
		return t, nil
	}
	if end := numberEnd(text, at); end > at {
		t.kind, t.end = numberToken, end
	} else if end := wordEnd(text, at); end > at {
		t.kind, t.end = wordToken, end
	} else if c := text[at]; c == '\'' || c == '"' {
		content, end, err := unquote(text, at)
		return token{quotedToken, content, at, end}, err
	} else {
		t.kind, t.end = signToken, signEnd(text, at)
	}
	t.text = text[at:t.end]
	return t, nil
}

func skipSpace(text string, at int) int {
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !unicode.IsSpace(r) {
			break
		}
		at += size
	}
	return at
}

// wordEnd returns the end of the word at at: letters, digits and _ with - and . between them; at itself without a word.
// A number is no word, and neither is a number before an operator.
func wordEnd(text string, at int) int {
	if numberEnd(text, at) > at {
		return at
	}
	end := at
	for i := at; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		isPart := r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
		if !isPart && (i == at || r != '-' && r != '.') {
			break
		}
		i += size
		if isPart {
			end = i
		}
	}
	return end
}

// numberEnd returns the end of the number at at, with its percent sign; at itself if there is none.
func numberEnd(text string, at int) int {
	end := digitsEnd(text, at)
	if end == at {
		return at
	}
	if end < len(text) && text[end] == '.' {
		end = digitsEnd(text, end+1)
	}
	if exponent := exponentEnd(text, end); exponent > end {
		end = exponent
	}
	if end < len(text) {
		if text[end] == '%' {
			return end + 1
		}
		if r, _ := utf8.DecodeRuneInString(text[end:]); unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '.' {
			return at // a name such as 2q
		}
	}
	return end
}

func digitsEnd(text string, at int) int {
	for at < len(text) && text[at] >= '0' && text[at] <= '9' {
		at++
	}
	return at
}

func exponentEnd(text string, at int) int {
	if at >= len(text) || text[at] != 'e' && text[at] != 'E' {
		return at
	}
	digits := at + 1
	if digits < len(text) && (text[digits] == '+' || text[digits] == '-') {
		digits++
	}
	if end := digitsEnd(text, digits); end > digits {
		return end
	}
	return at
}

// signEnd returns the end of an operator of one or two characters, or of one unknown character.
func signEnd(text string, at int) int {
	for _, sign := range []string{"==", "!=", "<=", ">=", "=>", "=<", "<>", "&&"} {
		if strings.HasPrefix(text[at:], sign) {
			return at + len(sign)
		}
	}
	_, size := utf8.DecodeRuneInString(text[at:])
	return at + size
}

// unquote parses the quoted text at at; a doubled quote stands for one.
func unquote(text string, at int) (content string, end int, err error) {
	quote := text[at]
	var w strings.Builder
	for i := at + 1; i < len(text); i++ {
		if text[i] != quote {
			w.WriteByte(text[i])
			continue
		}
		if i+1 == len(text) || text[i+1] != quote {
			return w.String(), i + 1, nil
		}
		w.WriteByte(quote)
		i++
	}
	return "", len(text), fmt.Errorf("the quote %c is not closed", quote)
}

// specEnd returns the end of the policy at at: a name, and its optional parameters in parentheses.
func specEnd(text string, at int) (int, error) {
	end := at
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		if r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r) {
			break
		}
		end += size
	}
	if end == at {
		return at, errors.New("want the name of a policy")
	}
	if end == len(text) || text[end] != '(' {
		return end, nil
	}
	depth := 0
	for i := end; i < len(text); i++ {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1, nil
			}
		}
	}
	return at, errors.New("the policy's parameters lack a closing parenthesis")
}

// placeEnd returns the end of the place on a dimension at at: everything up to a space, comma, quote or parenthesis.
func placeEnd(text string, at int) int {
	end := at
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		if r == utf8.RuneError || unicode.IsSpace(r) || strings.ContainsRune(`,'"()=<>!`, r) {
			break
		}
		end += size
	}
	return end
}
