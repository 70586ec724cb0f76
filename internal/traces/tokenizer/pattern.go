package tokenizer

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pattern is a regular expression as tokenizers have them: those of package regexp, with the classes \s, \d and \w of
// Unicode, and with (?=...) and (?!...), which look ahead, and (?>...). It is matched by backtracking, with a limit on
// the steps. Their order depends on the pattern and the text alone, so the same texts are refused on every machine.
type pattern struct {
	prog  *syntax.Prog
	code  []instruction
	first *runeSet // what a match can begin with; nil: anything, or nothing at all
	looks []*look
	stack []state
}

// instruction is one of a program, and what is known of it without a text.
type instruction struct {
	*syntax.Inst
	set *runeSet // of one that matches one of several characters
	// head is the instruction, of one that matches characters, that an alternative begins with; -1: another one.
	head int32
	// loop says that the alternative is one character and then the same choice again, as in x*.
	loop bool
}

// look is a part of a pattern that is matched by itself.
type look struct {
	kind    byte // '=', '!' or '>'
	pattern *pattern
}

// state is where the matching may go back to: to a position of the text, or to one character before it after the other,
// down to low.
type state struct {
	pc       uint32
	pos, low int
}

// mostSteps bounds one match. A pattern may take exponentially many; those of known tokenizers take a few for each
// character.
const mostSteps = 100_000_000

var errSteps = fmt.Errorf("a match takes more than %d million steps: want one that goes back less", mostSteps/1_000_000)

// firstLook is the character that stands for the first look in the text of a pattern; others follow. It is of a plane
// for private use.
const (
	firstLook = 0xF0000
	lastLook  = 0xF00FF
)

// compilePattern compiles a pattern of a tokenizer.
func compilePattern(text string) (*pattern, error) {
	p, err := newPattern(text)
	if err != nil {
		return nil, fmt.Errorf("the pattern %.60q is not supported: %w", text, err)
	}
	return p, nil
}

func newPattern(text string) (*pattern, error) {
	p := &pattern{}
	plain, err := p.translate(text)
	if err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(plain, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if p.prog, err = syntax.Compile(tree.Simplify()); err != nil {
		return nil, err
	}
	p.prepare()
	return p, nil
}

// classes are the ranges of the classes that package regexp knows for ASCII only, by their letters.
var classes = map[byte]string{
	's': `\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`,
	'd': `\p{Nd}`,
	'w': `\p{L}\p{Mn}\p{Nd}\p{Pc}`,
	'S': "", 'D': "", 'W': "",
}

func init() {
	for letter, ranges := range classes {
		if ranges == "" {
			classes[letter] = complement(classes[letter|' '])
		}
	}
}

// complement returns the ranges of all characters that others do not have.
func complement(ranges string) string {
	tree, err := syntax.Parse("[^"+ranges+"]", syntax.Perl)
	if err != nil {
		panic(err) // they are part of the program
	}
	var s strings.Builder
	for i := 0; i < len(tree.Rune); i += 2 {
		fmt.Fprintf(&s, `\x{%x}-\x{%x}`, tree.Rune[i], tree.Rune[i+1])
	}
	return s.String()
}

// translate returns the text of a pattern for package regexp/syntax, in which a character stands for each look.
func (p *pattern) translate(text string) (string, error) {
	var to strings.Builder
	class := false
	for i := 0; i < len(text); {
		rest := text[i:]
		switch {
		case rest[0] == '\\' && len(rest) > 1:
			escaped, size := translateEscape(rest, class)
			to.WriteString(escaped)
			i += size
			continue
		case class:
			class = rest[0] != ']'
		case rest[0] == '[':
			class = true
			// A bracket that comes first belongs to the class.
			begin := "["
			if strings.HasPrefix(rest, "[^") {
				begin = "[^"
			}
			to.WriteString(begin)
			if i += len(begin); strings.HasPrefix(text[i:], "]") {
				to.WriteString(`\]`)
				i++
			}
			continue
		case strings.HasPrefix(rest, "(?=") || strings.HasPrefix(rest, "(?!") || strings.HasPrefix(rest, "(?>"):
			end := endOfGroup(rest)
			if end < 0 {
				return "", errors.New("missing closing )")
			}
			if err := p.addLook(rest[2], rest[3:end], &to); err != nil {
				return "", err
			}
			i += end + 1
			continue
		case strings.HasPrefix(rest, "(?<=") || strings.HasPrefix(rest, "(?<!"):
			return "", fmt.Errorf("it looks behind, %.4q", rest)
		}
		to.WriteByte(rest[0])
		i++
	}
	if strings.IndexFunc(text, func(c rune) bool { return c >= firstLook && c <= lastLook }) >= 0 {
		return "", errors.New("it has characters for private use")
	}
	return to.String(), nil
}

// translateEscape returns what an escape at the beginning of a text is in package regexp/syntax, and its size.
func translateEscape(text string, class bool) (string, int) {
	if ranges, ok := classes[text[1]]; ok {
		if class {
			return ranges, 2
		}
		return "[" + ranges + "]", 2
	}
	if text[1] == 'u' && len(text) >= 6 {
		return `\x{` + text[2:6] + "}", 6
	}
	return text[:2], 2
}

// endOfGroup returns where the group at the beginning of a text ends, -1 if it does not.
func endOfGroup(text string) int {
	depth, class := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func (p *pattern) addLook(kind byte, inner string, to *strings.Builder) error {
	if len(p.looks) > lastLook-firstLook {
		return fmt.Errorf("it looks ahead more than %d times", lastLook-firstLook+1)
	}
	looked, err := newPattern(inner)
	if err != nil {
		return err
	}
	// In a group of its own, so that it is not taken for one of several characters.
	fmt.Fprintf(to, `(\x{%x})`, firstLook+len(p.looks))
	p.looks = append(p.looks, &look{kind, looked})
	return nil
}

// find returns the first match at or after a position of a text.
func (p *pattern) find(text string, from int) (start, end int, found bool, err error) {
	steps := 0
	for start = from; start <= len(text); {
		if p.first != nil {
			if start = p.first.search(text, start, true); start == len(text) {
				break
			}
		}
		if end, found, err = p.matchAt(text, start, &steps); found || err != nil {
			return start, end, found, err
		}
		_, size := runeAt(text, start)
		start += max(size, 1)
	}
	return 0, 0, false, nil
}

// runeAt returns the character at a position and its size, which is 0 at the end.
func runeAt(text string, at int) (c rune, size int) {
	if at < len(text) && text[at] < utf8.RuneSelf {
		return rune(text[at]), 1
	}
	return utf8.DecodeRuneInString(text[at:])
}

// findAll calls visit for all matches in a text, without overlaps.
func (p *pattern) findAll(text string, visit func(from, until int)) error {
	for at := 0; at <= len(text); {
		from, until, found, err := p.find(text, at)
		if !found || err != nil {
			return err
		}
		visit(from, until)
		if at = until; from == until { // an empty match
			_, size := runeAt(text, at)
			at += max(size, 1)
		}
	}
	return nil
}

// matchAt matches at one position. It counts steps.
func (p *pattern) matchAt(text string, at int, steps *int) (end int, found bool, err error) {
	stack := append(p.stack[:0], state{uint32(p.prog.Start), at, at})
	for len(stack) > 0 && !found && err == nil {
		last := &stack[len(stack)-1]
		pc, pos := last.pc, last.pos
		if pos > last.low {
			_, size := utf8.DecodeLastRuneInString(text[:pos])
			last.pos -= size
		} else {
			stack = stack[:len(stack)-1]
		}
		stack, end, found, err = p.run(stack, text, pc, pos, steps)
	}
	p.stack = stack
	return end, found, err
}

// run matches from an instruction on until that fails, and pushes where else the match may go on.
func (p *pattern) run(stack []state, text string, pc uint32, pos int, steps *int) (_ []state, end int, found bool,
	err error) {
	for {
		if *steps++; *steps > mostSteps {
			return stack, 0, false, errSteps
		}
		inst := &p.code[pc]
		switch inst.Op {
		case syntax.InstMatch:
			return stack, pos, true, nil
		case syntax.InstAlt, syntax.InstAltMatch:
			if inst.loop {
				low := pos
				if pos = p.skip(inst.head, text, pos, steps); low < pos {
					_, size := utf8.DecodeLastRuneInString(text[:pos])
					stack = append(stack, state{inst.Arg, pos - size, low})
				}
				pc = inst.Arg
				continue
			}
			if inst.head >= 0 && p.next(inst.head, text, pos) == 0 {
				pc = inst.Arg
				continue
			}
			stack = append(stack, state{inst.Arg, pos, pos})
		case syntax.InstCapture, syntax.InstNop:
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^emptyAt(text, pos) != 0 {
				return stack, 0, false, nil
			}
		case syntax.InstFail:
			return stack, 0, false, nil
		default:
			if l := p.lookOf(inst.Inst); l != nil {
				next, ok, err := l.at(text, pos, steps)
				if !ok || err != nil {
					return stack, 0, false, err
				}
				pos = next
			} else if size := p.next(int32(pc), text, pos); size > 0 {
				pos += size
			} else {
				return stack, 0, false, nil
			}
		}
		pc = inst.Out
	}
}

// skip returns where the characters end that an instruction matches one after the other.
func (p *pattern) skip(pc int32, text string, pos int, steps *int) int {
	from := pos
	if set := p.code[pc].set; set != nil {
		pos = set.search(text, pos, false)
	} else {
		for size := p.next(pc, text, pos); size > 0; size = p.next(pc, text, pos) {
			pos += size
		}
	}
	*steps += pos - from
	return pos
}

// next returns the size of the next character if an instruction matches it, 0 otherwise.
func (p *pattern) next(pc int32, text string, pos int) int {
	c, size := runeAt(text, pos)
	if inst := &p.code[pc]; size > 0 && (inst.set != nil && inst.set.has(c) || inst.set == nil && inst.MatchRune(c)) {
		return size
	}
	return 0
}

// at matches a look at a position, and returns where the surrounding pattern continues.
func (l *look) at(text string, pos int, steps *int) (next int, ok bool, err error) {
	end, found, err := l.pattern.matchAt(text, pos, steps)
	switch l.kind {
	case '!':
		return pos, !found, err
	case '>':
		return end, found, err
	}
	return pos, found, err
}

// emptyAt returns the empty matches at a position: its line and its text begin or end, or a word does.
func emptyAt(text string, pos int) syntax.EmptyOp {
	before, after := rune(-1), rune(-1)
	if pos > 0 {
		before, _ = utf8.DecodeLastRuneInString(text[:pos])
	}
	if pos < len(text) {
		after, _ = runeAt(text, pos)
	}
	ops := syntax.EmptyOpContext(before, after) &^ (syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary)
	if isWord(before) != isWord(after) { // package regexp knows words in ASCII
		return ops | syntax.EmptyWordBoundary
	}
	return ops | syntax.EmptyNoWordBoundary
}

// isWord reports whether \w matches a character.
func isWord(c rune) bool { return unicode.In(c, unicode.L, unicode.Mn, unicode.Nd, unicode.Pc) }
