package chattemplate

import (
	"fmt"

	"github.com/ardanlabs/jinja"
)

// The library has no limits of its own, and no place between the operators of an expression to check any. So a template
// is bounded where its values are kept or written: what it prints, sets, and hands to a macro, and how often an
// expression repeats a text. Within one expression, values may become larger than the limit by as much as the
// expression says.

// mostVisited are the values that may be looked at to know sizes, for one conversation.
const mostVisited = 1 << 28

// write counts printed bytes.
func (t *Template) write(n int) error {
	if t.written += int64(n); t.written > t.most {
		return t.errSize()
	}
	t.repeats = 1
	return nil
}

func (t *Template) errSize() error {
	return fmt.Errorf("more than %d bytes of text: want at most %d, and %d times those of the conversation", t.most,
		leastBytes, mostGrowth)
}

// checkSize refuses a value whose text would be longer than a text may be, or that is nested too deeply to be written.
func (t *Template) checkSize(v jinja.Value) error {
	t.repeats = 1
	left := t.most
	return t.visit(v, &left, 0)
}

// visit takes the bytes of a value from those that are left.
func (t *Template) visit(v jinja.Value, left *int64, depth int) error {
	const ofValue = 2 // bytes that any value takes at least in a list
	if t.visited++; t.visited > mostVisited {
		return fmt.Errorf("more than %d values for one conversation", mostVisited)
	}
	*left -= ofValue
	var inside []jinja.Value
	switch {
	case v.IsString():
		*left -= int64(len(v.AsString()))
	case v.IsList():
		inside = v.AsList().Items
	case v.IsDict():
		for _, key := range v.AsDict().Keys {
			*left -= int64(len(key))
			if err := t.visitInside(v.AsDict().Data[key], left, depth); err != nil {
				return err
			}
		}
	}
	for _, item := range inside {
		if err := t.visitInside(item, left, depth); err != nil {
			return err
		}
	}
	if *left < 0 {
		return t.errSize()
	}
	return nil
}

func (t *Template) visitInside(v jinja.Value, left *int64, depth int) error {
	if depth == deepestValue {
		return fmt.Errorf("more than %d lists or objects within each other", deepestValue)
	}
	return t.visit(v, left, depth+1)
}

// repeat counts a factor that repeats a text: what is left of it is one, or repeats one already.
func (t *Template) repeat(factor jinja.Value) error {
	last := len(t.lefts) - 1
	repeats := t.lefts[last] || t.repeats > 1
	t.lefts = t.lefts[:last]
	if !repeats || !factor.IsInt() || factor.AsInt() <= 1 {
		return nil
	}
	if factor.AsInt() > mostRepeats || t.repeats*factor.AsInt() > mostRepeats {
		return fmt.Errorf("a text more than %d times in an expression", mostRepeats)
	}
	t.repeats *= factor.AsInt()
	return nil
}

// str returns a value as Python's str does, unless it is too long.
func (t *Template) str(v jinja.Value) (string, error) {
	if err := t.checkSize(v); err != nil {
		return "", err
	}
	return str(v), nil
}
