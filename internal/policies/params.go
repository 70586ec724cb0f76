package policies

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/suggest"
)

// Param describes one parameter of a policy. The type of Default fixes the type of its values: int, float64, bool or string.
type Param struct {
	Name    string
	Default any
	Doc     string   // one line, with the unit
	Min     float64  // smallest value of a number
	Max     float64  // largest value of a number; 0 means no limit
	Choices []string // the values that a string may take; empty means any
}

// Values are the parameters of one policy, every name present.
type Values map[string]any

// Int returns the integer parameter name.
func (v Values) Int(name string) int { return v[name].(int) }

// Float returns the real parameter name.
func (v Values) Float(name string) float64 { return v[name].(float64) }

// Bool returns the boolean parameter name.
func (v Values) Bool(name string) bool { return v[name].(bool) }

// Text returns the text parameter name.
func (v Values) Text(name string) string { return v[name].(string) }

// parse converts text to the type of p and checks its range.
func (p Param) parse(text string) (any, error) {
	switch p.Default.(type) {
	case int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("%s=%s: want a whole number", p.Name, text)
		}
		return n, p.checkRange(float64(n), text)
	case float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%s=%s: want a number", p.Name, text)
		}
		return f, p.checkRange(f, text)
	case bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("%s=%s: want true or false", p.Name, text)
		}
		return b, nil
	case string:
		if len(p.Choices) > 0 && !slices.Contains(p.Choices, text) {
			return nil, fmt.Errorf("%s=%s: want one of %s", p.Name, text, strings.Join(p.Choices, ", "))
		}
		return text, nil
	}
	panic(fmt.Sprintf("policies: parameter %s has a default of type %T", p.Name, p.Default))
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
		return fmt.Sprintf("from %v", p.Min)
	}
	return fmt.Sprintf("from %v to %v", p.Min, p.Max)
}

// defaults returns the default of every parameter of e.
func (e Entry) defaults() Values {
	v := Values{}
	for _, p := range e.Params {
		v[p.Name] = p.Default
	}
	return v
}

// Spec is a policy with its parameters: what a user writes as `lru-k(k=2)`.
type Spec struct {
	Entry  Entry
	Params Values
}

// ParamString returns every parameter with its value, in the order of the entry: "small=0.1,ghost=0.9"; "" without parameters.
func (s Spec) ParamString() string {
	parts := make([]string, len(s.Entry.Params))
	for i, p := range s.Entry.Params {
		parts[i] = fmt.Sprintf("%s=%v", p.Name, s.Params[p.Name])
	}
	return strings.Join(parts, ",")
}

// String returns the spec as the user would write it, with the parameters that differ from their defaults.
func (s Spec) String() string {
	var parts []string
	for _, p := range s.Entry.Params {
		if s.Params[p.Name] != p.Default {
			parts = append(parts, fmt.Sprintf("%s=%v", p.Name, s.Params[p.Name]))
		}
	}
	if len(parts) == 0 {
		return s.Entry.Name
	}
	return s.Entry.Name + "(" + strings.Join(parts, ",") + ")"
}

// ParseList reads a comma-separated list of specs: "lru,s3fifo(small=0.1,ghost=0.9),lru-k(k=2)". Repeated specs are an error.
func ParseList(text string) ([]Spec, error) {
	items, err := splitTop(text)
	if err != nil {
		return nil, err
	}
	var specs []Spec
	seen := map[string]bool{}
	for _, item := range items {
		s, err := ParseSpec(item)
		if err != nil {
			return nil, err
		}
		if seen[s.String()] {
			return nil, fmt.Errorf("policy %s is listed twice", s)
		}
		seen[s.String()] = true
		specs = append(specs, s)
	}
	return specs, nil
}

// splitTop splits text at the commas that stand outside parentheses.
func splitTop(text string) ([]string, error) {
	var items []string
	depth, start := 0, 0
	for i, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				items = append(items, text[start:i])
				start = i + 1
			}
		}
		if depth < 0 || depth > 1 {
			return nil, fmt.Errorf("policy list %q: unbalanced parentheses", text)
		}
	}
	if depth != 0 {
		return nil, fmt.Errorf("policy list %q: unbalanced parentheses", text)
	}
	return append(items, text[start:]), nil
}

// ParseSpec reads one policy: a name, or a name with parameters in parentheses.
func ParseSpec(text string) (Spec, error) {
	text = strings.TrimSpace(text)
	name, args, hasArgs := strings.Cut(text, "(")
	name = strings.TrimSpace(name)
	if name == "" {
		return Spec{}, fmt.Errorf("policy list has an empty entry; write names separated by commas, for example lru,arc")
	}
	e, ok := Find(name)
	if !ok {
		return Spec{}, suggest.Unknown("policy", name, Names())
	}
	s := Spec{Entry: e, Params: e.defaults()}
	if !hasArgs {
		return s, nil
	}
	args, ok = strings.CutSuffix(args, ")")
	if !ok {
		return Spec{}, fmt.Errorf("policy %q: text after the closing parenthesis", text)
	}
	given := map[string]bool{}
	for _, arg := range strings.Split(args, ",") {
		if strings.TrimSpace(arg) == "" && len(strings.TrimSpace(args)) == 0 {
			break
		}
		if err := s.set(strings.TrimSpace(arg), given); err != nil {
			return Spec{}, fmt.Errorf("policy %s: %w", e.Name, err)
		}
	}
	return s, nil
}

// set applies one "name=value".
func (s *Spec) set(arg string, given map[string]bool) error {
	key, value, ok := strings.Cut(arg, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if !ok || key == "" {
		return fmt.Errorf("parameter %q: want name=value", arg)
	}
	i := slices.IndexFunc(s.Entry.Params, func(p Param) bool { return p.Name == key })
	if i < 0 {
		names := make([]string, len(s.Entry.Params))
		for i, p := range s.Entry.Params {
			names[i] = p.Name
		}
		return suggest.Unknown("parameter", key, names)
	}
	if given[key] {
		return fmt.Errorf("parameter %s is given twice", key)
	}
	given[key] = true
	v, err := s.Entry.Params[i].parse(value)
	if err != nil {
		return err
	}
	s.Params[key] = v
	return nil
}
