package chattemplate

import (
	"fmt"

	"github.com/ardanlabs/jinja"
)

// The library has no limits of its own, and no place between the operators of an expression to check any. So rewritten
// templates call functions of this package where a value is kept or written, and around what operators, filters and
// methods read.

// mostWork is how many times the bytes of the longest text a conversation may read and make. What an operator, a
// filter or a method reads is counted where it begins.
const mostWork = 256

var errDeep = fmt.Errorf("more than %d lists or objects within each other", deepestValue)

func (t *Template) addWork(n int64) error {
	if t.work += n; t.work > mostWork*t.most {
		return fmt.Errorf("more than %d bytes of work for one conversation: want at most %d times those of its longest text",
			mostWork*t.most, mostWork)
	}
	return nil
}

// read counts what an operator, a filter or a method reads.
func (t *Template) read(v jinja.Value) error {
	if v.IsString() {
		return t.addWork(int64(len(v.AsString())))
	}
	left := t.most
	return t.visit(v, &left, 0)
}

// splitUp counts a text of which a list is made, one of its characters in the worst case.
func (t *Template) splitUp(v jinja.Value) error {
	const ofCharacter = 16
	if !v.IsString() {
		return t.read(v)
	}
	return t.addWork(ofCharacter * int64(len(v.AsString())))
}

// add counts a text or a list that an operator appends to another one: each time, the sum so far is copied.
func (t *Template) add(v jinja.Value) error {
	before := t.work
	if err := t.read(v); err != nil {
		return err
	}
	if t.sum += t.work - before; t.sum > t.most {
		return t.errSize()
	}
	return t.addWork(t.sum)
}

// endExpression forgets what the expression before has repeated and summed.
func (t *Template) endExpression() { t.repeats, t.repeated, t.sum = 1, 0, 0 }

// bound returns a bound of a slice that is within the longest text, because the library counts from bound to bound. It
// ignores errors of bounds: the next step reports them.
func (t *Template) bound(v jinja.Value) jinja.Value {
	n := t.most
	switch {
	case v.IsInt():
		n = max(-n, min(v.AsInt(), n))
	case v.IsFloat():
		n = int64(max(-float64(n), min(v.AsFloat(), float64(n))))
	default:
		return v
	}
	_ = t.addWork(max(n, -n))
	return jinja.NewInt(n)
}

// write counts printed bytes.
func (t *Template) write(n int) error {
	if t.written += int64(n); t.written > t.most {
		return t.errSize()
	}
	t.endExpression()
	return t.addWork(int64(n))
}

func (t *Template) errSize() error {
	return fmt.Errorf("more than %d bytes of text: want at most %d, and %d times those of the conversation", t.most,
		leastBytes, mostGrowth)
}

// checkSize refuses a value whose text would be longer than a text may be, or that is nested too deeply to be written.
func (t *Template) checkSize(v jinja.Value) error {
	t.endExpression()
	left := t.most
	return t.visit(v, &left, 0)
}

// visit takes the bytes of a value from those that are left.
func (t *Template) visit(v jinja.Value, left *int64, depth int) error {
	const (
		ofValue = 2 // bytes that any value takes at least in a list
		ofVisit = 8 // the work that it is to look at a value
	)
	before := *left
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
	if err := t.addWork(before - *left + ofVisit); err != nil {
		return err
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
		return errDeep
	}
	return t.visit(v, left, depth+1)
}

// repeat counts a factor that repeats a text: what is left of it is one, or repeats one already.
func (t *Template) repeat(factor jinja.Value) error {
	last := len(t.lefts) - 1
	size := t.lefts[last]
	t.lefts = t.lefts[:last]
	if size == 0 && t.repeats == 1 || !factor.IsInt() || factor.AsInt() <= 1 {
		return nil
	}
	if factor.AsInt() > mostRepeats || t.repeats*factor.AsInt() > mostRepeats {
		return fmt.Errorf("a text more than %d times in an expression", mostRepeats)
	}
	t.repeats *= factor.AsInt()
	if t.repeated = max(t.repeated, size); t.repeated*t.repeats > t.most {
		return t.errSize()
	}
	return t.addWork(t.repeated * t.repeats)
}

// str returns a value as Python's str does, unless it is too long.
func (t *Template) str(v jinja.Value) (string, error) {
	if err := t.checkSize(v); err != nil {
		return "", err
	}
	return str(v), nil
}
