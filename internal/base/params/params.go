// Package params reads what users write as a name with parameters: "s3fifo(small=0.1)", "zipf(alpha=0.9,objects=1000)".
// All parts that users name describe their parameters with it, so that all have the same syntax and the same errors.
package params

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/suggest"
)

// Param describes one parameter. The type of Default fixes the type of its values: int, float64, bool or string.
type Param struct {
	Name    string
	Default any
	Doc     string   // one line, with the unit
	Min     float64  // smallest value of a number
	Max     float64  // largest value of a number; 0 means no limit
	Choices []string // the values that a string may take; empty means any
	File    bool     // a string is the path of a file, or one of Choices, if there are any
	Command bool     // a string is a command, with words as Words has them; those that are paths of files count as files
	// Rest says that a string without single quotes extends to the end of the text, including commas, parentheses and
	// double quotes. It may be pasted, but must come last.
	Rest bool
}

// Values are the parameters of one policy or generator, every name present.
type Values map[string]any

// Int, Float, Bool and Text return a parameter, whose default must have this type.
func (v Values) Int(name string) int       { return v[name].(int) }
func (v Values) Float(name string) float64 { return v[name].(float64) }
func (v Values) Bool(name string) bool     { return v[name].(bool) }
func (v Values) Text(name string) string   { return v[name].(string) }

// Path returns the path of the file that p names among values; "" if it names none.
func (p Param) Path(values Values) string {
	if text, _ := values[p.Name].(string); p.File && !slices.Contains(p.Choices, text) {
		return text
	}
	return ""
}

// Parse converts text to the type of p and checks its range.
func (p Param) Parse(text string) (any, error) {
	switch p.Default.(type) {
	case int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("%s=%s: want a whole number%s", p.Name, text, aboutRange(text))
		}
		return n, p.checkRange(float64(n), text)
	case float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%s=%s: want a number%s", p.Name, text, aboutRange(text))
		}
		return f, p.checkRange(f, text)
	case bool:
		switch text {
		case "on":
			return true, nil
		case "off":
			return false, nil
		}
		b, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("%s=%s: want true or false, or on or off", p.Name, text)
		}
		return b, nil
	case string:
		if len(p.Choices) > 0 && !slices.Contains(p.Choices, text) {
			if p.File && strings.ContainsAny(text, `./\`) {
				return text, nil
			} else if p.File {
				return nil, fmt.Errorf("%s=%s: want the path of a file, such as ./%s, or one of %s", p.Name, text, text,
					suggest.List(p.Choices))
			}
			return nil, fmt.Errorf("%s=%s: want one of %s", p.Name, text, suggest.List(p.Choices))
		}
		return text, nil
	}
	panic(fmt.Sprintf("params: parameter %s has a default of type %T", p.Name, p.Default))
}

func (p Param) checkRange(x float64, text string) error {
	if x < p.Min || p.Max != 0 && x > p.Max {
		return fmt.Errorf("%s=%s: want a number %s", p.Name, text, p.Range())
	}
	return nil
}

// Range describes the permitted values of a number in words.
func (p Param) Range() string {
	if p.Max == 0 {
		return "from " + plain(p.Min)
	}
	return "from " + plain(p.Min) + " to " + plain(p.Max)
}

// plain writes x without an exponent: limits are often large whole numbers.
func plain(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func Defaults(ps []Param) Values {
	v := Values{}
	for _, p := range ps {
		v[p.Name] = p.Default
	}
	return v
}

// NoEffect rejects changed values of unused parameters. off says why they are unused, on how to use them.
func NoEffect(ps []Param, v Values, off, on string) error {
	for _, p := range ps {
		if v[p.Name] != p.Default {
			return fmt.Errorf("%s=%v has no effect with %s; leave it out, or write %s", p.Name, v[p.Name], off, on)
		}
	}
	return nil
}

// Format returns every parameter with its value, in the order of ps: "small=0.1,ghost=0.9"; "" without parameters.
func Format(ps []Param, v Values) string {
	var text []byte
	for i, p := range ps {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, p.Name...), '=')
		text = append(text, Quote(v[p.Name])...)
	}
	return string(text)
}

// FormatCall returns name with the parameters that differ from their defaults, as a user would write it: "lru-k(k=3)".
func FormatCall(name string, ps []Param, v Values) string {
	changed := Changed(ps, v)
	if len(changed) == 0 {
		return name
	}
	return name + "(" + Format(changed, v) + ")"
}

// Changed returns the parameters that differ from their defaults.
func Changed(ps []Param, v Values) (changed []Param) {
	for _, p := range ps {
		if v[p.Name] != p.Default {
			changed = append(changed, p)
		}
	}
	return changed
}

// Signature returns name with every parameter and its default: "lru-k(k=2,history=1)".
func Signature(name string, ps []Param) string {
	if len(ps) == 0 {
		return name
	}
	return name + "(" + Format(ps, Defaults(ps)) + ")"
}

// Split cuts text at the separators outside parentheses.
func Split(text string, sep rune) ([]string, error) {
	var items []string
	depth, start := 0, 0
	for i, c := range text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == sep && depth == 0:
			items = append(items, text[start:i])
			start = i + 1
		}
		if depth < 0 {
			break
		}
	}
	if depth != 0 {
		return nil, fmt.Errorf("%q: %w", text, unbalanced(text, 0))
	}
	return append(items, text[start:]), nil
}

// SplitCall cuts "name(args)" into its name and arguments. A bare name has no arguments.
func SplitCall(text string) (name, args string, err error) {
	text = strings.TrimSpace(text)
	name, args, hasArgs := strings.Cut(text, "(")
	name = strings.TrimSpace(name)
	if err := checkQuotes(text, name); err != nil {
		return "", "", fmt.Errorf("%q: %w", text, err)
	}
	if !hasArgs {
		return name, "", nil
	}
	args, closed := strings.CutSuffix(args, ")")
	if !closed {
		if err := unbalanced(text, 0); err != nil {
			return "", "", fmt.Errorf("%q: %w", text, err)
		}
		last := strings.LastIndexByte(text, ')') + 1
		return "", "", fmt.Errorf("%q: text after the closing parenthesis: %q from column %d; remove it, or put a comma "+
			"before the next part of a list", text, text[last:], column(text, last))
	}
	return name, args, nil
}

// Has reports whether a list of arguments, "a=1,b=2", sets this parameter.
func Has(args, name string) bool {
	items, _ := splitArgs(nil, args)
	return slices.ContainsFunc(items, func(item string) bool {
		key, _, _ := strings.Cut(item, "=")
		return strings.TrimSpace(key) == name
	})
}

// ParseArgs reads "name=value,name=value" and fills in the defaults of the parameters that it does not name.
// A value may hold commas within parentheses, and anything within single or double quotes.
func ParseArgs(ps []Param, args string) (Values, error) {
	v, _, err := parseArgs(ps, args)
	return v, err
}

// parseArgs is ParseArgs, and returns the names of the parameters in args.
func parseArgs(ps []Param, args string) (v Values, given []string, err error) {
	v = Defaults(ps)
	if strings.TrimSpace(args) == "" {
		return v, nil, nil
	}
	items, err := splitArgs(ps, args)
	if err != nil {
		return nil, nil, err
	}
	for _, item := range items {
		key, value, ok := strings.Cut(item, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || key == "" {
			return nil, nil, fmt.Errorf("parameter %q: want name=value", strings.TrimSpace(item))
		}
		if slices.Contains(given, key) {
			return nil, nil, fmt.Errorf("parameter %s is given twice", key)
		}
		given = append(given, key)
		if !takesRest(ps, item) {
			value = unquote(value)
		}
		if v[key], err = parseNamed(ps, key, value); err != nil {
			return nil, nil, err
		}
	}
	return v, given, nil
}

func parseNamed(ps []Param, key, value string) (any, error) {
	i := slices.IndexFunc(ps, func(p Param) bool { return p.Name == key })
	if i < 0 {
		names := make([]string, len(ps))
		for i, p := range ps {
			names[i] = p.Name
		}
		return nil, suggest.Unknown("parameter", key, names)
	}
	return ps[i].Parse(value)
}
