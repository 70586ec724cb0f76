package params

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// cutArg cuts the first argument off a list, at a comma outside parentheses. A value in single or double quotes may
// hold anything: it ends at the first such quote that a comma or the end of the list follows, so it needs no escapes.
func cutArg(args string) (arg, rest string, more bool, err error) {
	end := 0
	if start := openingQuote(args); start >= 0 {
		if end = closingQuote(args, start); end < 0 {
			return "", "", false, fmt.Errorf("parameter %q: the quote that begins its value is not closed",
				strings.TrimSpace(args))
		}
	}
	depth := 0
	for i := end; i < len(args); i++ {
		switch args[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				return args[:i], args[i+1:], true, nil
			}
		}
		if depth < 0 {
			break
		}
	}
	if depth != 0 {
		return "", "", false, fmt.Errorf("%q: %w", args, unbalanced(args, end))
	}
	return args, "", false, nil
}

// unbalanced says which parenthesis of a text, from a byte on, has no counterpart, and where; nil if all have one.
func unbalanced(text string, from int) error {
	var open []int
	for i := from; i < len(text); i++ {
		switch {
		case text[i] == '(':
			open = append(open, i)
		case text[i] == ')' && len(open) == 0:
			return fmt.Errorf("unbalanced parentheses: the ) in column %d closes none; remove it, or add a ( before it",
				column(text, i))
		case text[i] == ')':
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return nil
	}
	said := fmt.Sprintf("unbalanced parentheses: the ( in column %d is not closed; add a )", column(text, open[0]))
	if n := len(open); n > 1 {
		said = fmt.Sprintf("unbalanced parentheses: %d are not closed, the first in column %d; add %d )", n,
			column(text, open[0]), n)
	}
	if first := text[from:]; first != "" && isQuote(first[0]) {
		said += fmt.Sprintf(", and remove the quotes %c around it", first[0])
	}
	return errors.New(said)
}

// checkQuotes rejects a name with quotes, such as that of a part in quotes which the shell has left in place.
func checkQuotes(text, name string) error {
	at := strings.IndexAny(name, "'\"")
	switch last := len(text) - 1; {
	case at < 0:
		return nil
	case at == 0 && last > 0 && text[last] == text[0]:
		return fmt.Errorf("the quotes %c around it are part of the text; remove them", text[0])
	case strings.Count(text, name[at:at+1])%2 == 1:
		return fmt.Errorf("the quote %c in column %d has no counterpart; remove it", name[at], column(text, at))
	}
	return fmt.Errorf("the name has the quote %c in column %d; remove it", name[at], column(text, at))
}

func isQuote(c byte) bool { return c == '\'' || c == '"' }

// column returns the column of a byte of a text, counted in characters from 1.
func column(text string, at int) int { return utf8.RuneCountInString(text[:at]) + 1 }

// takesRest reports whether the first argument of a list is all of it.
func takesRest(ps []Param, args string) bool {
	name, value, _ := strings.Cut(args, "=")
	name = strings.TrimSpace(name)
	return slices.ContainsFunc(ps, func(p Param) bool { return p.Rest && p.Name == name }) &&
		!strings.HasPrefix(strings.TrimLeft(value, " \t"), "'")
}

// splitArgs cuts a list into its arguments.
func splitArgs(ps []Param, args string) (items []string, err error) {
	for more := true; more; {
		if takesRest(ps, args) {
			return append(items, args), nil
		}
		var item string
		if item, args, more, err = cutArg(args); err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// openingQuote returns where the value of the first argument begins with a quote, -1 if it does not.
func openingQuote(args string) int {
	equals := strings.IndexAny(args, "=,")
	if equals < 0 || args[equals] == ',' {
		return -1
	}
	value := strings.TrimLeft(args[equals+1:], " \t")
	if value == "" || !isQuote(value[0]) {
		return -1
	}
	return len(args) - len(value)
}

// closingQuote returns the index behind the quote that ends the value that begins at start, -1 without one.
func closingQuote(args string, start int) int {
	for i := start + 1; i < len(args); i++ {
		if args[i] != args[start] {
			continue
		}
		if after := strings.TrimLeft(args[i+1:], " \t"); after == "" || after[0] == ',' {
			return i + 1
		}
	}
	return -1
}

func unquote(value string) string {
	if n := len(value); n > 1 && (value[0] == '\'' || value[0] == '"') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}

// Quote writes a value as a list of arguments takes it: in quotes if it would be cut otherwise.
func Quote(value any) string {
	text := fmt.Sprint(value)
	if text == "" {
		return text
	}
	for _, quote := range []string{"", "'", `"`} {
		quoted := "x=" + quote + text + quote
		if arg, _, more, err := cutArg(quoted); err == nil && !more && unquote(strings.TrimSpace(arg[2:])) == text {
			return quote + text + quote
		}
	}
	return text
}
