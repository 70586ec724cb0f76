package formula

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser/lexer"
	"github.com/expr-lang/expr/parser/operator"

	"github.com/cachesim/cachesim/internal/base/suggest"
)

// Compile reads an expression. True is 1 and false 0. An error names the column.
func Compile(text string, names Names) (*Formula, error) {
	if len(text) > Longest {
		return nil, fmt.Errorf("it has %d bytes; want at most %d", len(text), Longest)
	}
	p := &parser{text: text, names: &names, columns: &columns{}}
	var err error
	if p.tokens, err = lexer.Lex(file.NewSource(text)); err != nil {
		var at *file.Error
		if errors.As(err, &at) {
			return nil, fmt.Errorf("%s, at %s", at.Message, p.place(at.From))
		}
		return nil, err
	}
	result, err := p.sequence()
	if err == nil && !p.is(lexer.EOF) {
		err = p.unexpected("an operator")
	}
	if err != nil {
		return nil, err
	}
	return p.columns.formula(result), nil
}

// parser compiles as it reads, by the precedences of the library: its own parser keeps every method of the program that
// could be called by name, which makes that larger by a sixth.
type parser struct {
	text    string
	names   *Names
	tokens  []lexer.Token // the last one is EOF
	at      int
	columns *columns
	lets    []let // innermost last
}

// let is what an expression has named.
type let struct {
	name   string
	column int
}

func (p *parser) token() lexer.Token { return p.tokens[p.at] }

func (p *parser) is(kind lexer.Kind, values ...string) bool { return p.token().Is(kind, values...) }

// accept skips a token, if it comes next.
func (p *parser) accept(kind lexer.Kind, value string) bool {
	if !p.is(kind, value) {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(kind lexer.Kind, value string) error {
	if !p.accept(kind, value) {
		return p.unexpected(value)
	}
	return nil
}

// unexpected says what was found, and what was expected.
func (p *parser) unexpected(want string) error {
	found := p.token().Value
	if p.is(lexer.EOF) {
		found = "its end"
	}
	return p.refuse(p.token(), "want %s, found %s", want, found)
}

// refuse returns an error at the place of a token.
func (p *parser) refuse(at lexer.Token, format string, arguments ...any) error {
	return fmt.Errorf(format+", at %s", append(arguments, p.place(at.From))...)
}

// place names a place of the text, counted in characters: its column, and its line if there are several.
func (p *parser) place(from int) string {
	runes := []rune(p.text)
	before := string(runes[:min(from, len(runes))])
	column := len([]rune(before[strings.LastIndex(before, "\n")+1:])) + 1
	if !strings.Contains(p.text, "\n") {
		return fmt.Sprintf("column %d", column)
	}
	return fmt.Sprintf("line %d, column %d", strings.Count(before, "\n")+1, column)
}

// sequence reads `let name = value;` as often as it comes, then an expression.
func (p *parser) sequence() (int, error) {
	outer := len(p.lets)
	defer func() { p.lets = p.lets[:outer] }()
	for p.accept(lexer.Operator, "let") {
		if !p.is(lexer.Identifier) {
			return 0, p.unexpected("a name")
		}
		name := p.token().Value
		p.at++
		if err := p.expect(lexer.Operator, "="); err != nil {
			return 0, err
		}
		value, err := p.conditional()
		if err != nil {
			return 0, err
		}
		if err := p.expect(lexer.Operator, ";"); err != nil {
			return 0, err
		}
		p.lets = append(p.lets, let{name, value})
	}
	return p.conditional()
}

// conditional reads an expression: `condition ? value : other`, or one with binary operators alone.
func (p *parser) conditional() (int, error) {
	condition, err := p.binary(0)
	if err != nil || !p.accept(lexer.Operator, "?") {
		return condition, err
	}
	value, err := p.conditional()
	if err != nil {
		return 0, err
	}
	if err := p.expect(lexer.Operator, ":"); err != nil {
		return 0, err
	}
	other, err := p.conditional()
	if err != nil {
		return 0, err
	}
	return p.columns.apply(choose, condition, value, other), nil
}

// binary reads an operand and what follows it, as far as its operators bind at least that tightly.
func (p *parser) binary(precedence int) (int, error) {
	left, err := p.operand()
	if err != nil {
		return 0, err
	}
	for p.is(lexer.Operator) {
		token := p.token()
		op, ok := operator.Binary[token.Value]
		if !ok || op.Precedence < precedence {
			break
		}
		if _, ok := binaries[token.Value]; !ok {
			return 0, p.refuse(token, "the operator %s gives no number", token.Value)
		}
		if operator.IsComparison(token.Value) {
			left, err = p.comparisons(left, op.Precedence)
		} else {
			p.at++
			var right int
			if right, err = p.binary(op.Precedence + int(operator.Right-op.Associativity)); err == nil {
				left = p.columns.apply(binaries[token.Value], left, right)
			}
		}
		if err != nil {
			return 0, err
		}
	}
	return left, nil
}

// comparisons reads what is compared with the last operand: a < b < c is a < b and b < c.
func (p *parser) comparisons(left, precedence int) (all int, err error) {
	for first := true; p.is(lexer.Operator) && operator.IsComparison(p.token().Value); first = false {
		compare := p.token().Value
		p.at++
		right, err := p.binary(precedence + 1)
		if err != nil {
			return 0, err
		}
		a, b := left, right
		if compare == ">" || compare == ">=" {
			a, b = b, a
		}
		compared := p.columns.apply(binaries[compare], a, b)
		if !first {
			compared = p.columns.apply(and, all, compared)
		}
		all, left = compared, right
	}
	return all, nil
}

// operand reads a number, a name, a call, an expression in parentheses, or one of these behind an operator.
func (p *parser) operand() (int, error) {
	token := p.token()
	switch {
	case p.is(lexer.Number):
		p.at++
		return p.number(token)
	case p.is(lexer.Identifier):
		p.at++
		if p.accept(lexer.Bracket, "(") {
			return p.call(token)
		}
		return p.name(token)
	case p.accept(lexer.Bracket, "("):
		value, err := p.sequence()
		if err != nil {
			return 0, err
		}
		return value, p.expect(lexer.Bracket, ")")
	}
	op, ok := operator.Unary[token.Value]
	if !ok || token.Kind != lexer.Operator {
		return 0, p.unexpected("a number, a name or (")
	}
	p.at++
	of, err := p.binary(op.Precedence)
	if err != nil || token.Value == "+" {
		return of, err
	}
	do := not
	if token.Value == "-" {
		do = negate
	}
	return p.columns.apply(do, of), nil
}

func (p *parser) number(token lexer.Token) (int, error) {
	text := strings.ReplaceAll(token.Value, "_", "")
	x, err := strconv.ParseFloat(text, 64)
	if n, wrong := strconv.ParseInt(text, 0, 64); err != nil && wrong == nil { // 0x10, 0b101
		x, err = float64(n), nil
	}
	if err != nil {
		return 0, p.refuse(token, "%s is no number", token.Value)
	}
	return p.columns.constant(x), nil
}

func (p *parser) name(token lexer.Token) (int, error) {
	name := token.Value
	for _, l := range slices.Backward(p.lets) {
		if l.name == name {
			return l.column, nil
		}
	}
	switch {
	case name == "true" || name == "false":
		return p.columns.constant(truth(name == "true")), nil
	case slices.Contains(p.names.Values, name):
		return p.columns.refer(Reference{Name: name}), nil
	}
	return 0, p.unknown(token)
}

// unknown says that there is nothing of a name.
func (p *parser) unknown(token lexer.Token) error {
	if why, ok := p.names.Missing[token.Value]; ok {
		return p.refuse(token, "there is no %s: %s", token.Value, why)
	}
	known := slices.Concat(p.names.Values, p.names.Indexed, p.names.Shares, functionNames())
	return p.refuse(token, "%w", suggest.Unknown("name", token.Value, known))
}

// call reads the arguments of a function, behind the parenthesis that opens them.
func (p *parser) call(token lexer.Token) (int, error) {
	name := token.Value
	switch fn, ok := functions[name]; {
	case slices.Contains(p.names.Indexed, name):
		return p.indexed(token)
	case slices.Contains(p.names.Shares, name):
		return p.share(token)
	case ok:
		return p.function(token, fn)
	case slices.Contains(p.names.Values, name):
		return 0, p.refuse(token, "%s is a number, not a function; write it without parentheses", name)
	}
	return 0, p.unknown(token)
}

// function reads a call of a function of numbers. One of any number of them applies to the first two, then to what that
// gives and the next.
func (p *parser) function(token lexer.Token, fn function) (int, error) {
	var arguments []int
	for !p.accept(lexer.Bracket, ")") {
		if len(arguments) > 0 {
			if err := p.expect(lexer.Operator, ","); err != nil {
				return 0, err
			}
		}
		argument, err := p.sequence()
		if err != nil {
			return 0, err
		}
		arguments = append(arguments, argument)
	}
	if len(arguments) < fn.least || fn.most > 0 && len(arguments) > fn.most {
		return 0, p.refuse(token, "%s wants %s, not %d", token.Value, fn.wants(), len(arguments))
	}
	value := p.columns.apply(fn.do, arguments[:min(2, len(arguments))]...)
	for _, argument := range arguments[min(2, len(arguments)):] {
		value = p.columns.apply(fn.do, value, argument)
	}
	return value, nil
}

// indexed reads a call with a whole number.
func (p *parser) indexed(token lexer.Token) (int, error) {
	index, err := strconv.Atoi(p.token().Value)
	if err != nil || index < 1 || index > p.names.MaxIndex {
		return 0, p.refuse(token, "%s wants one whole number from 1 to %d", token.Value, p.names.MaxIndex)
	}
	p.at++
	return p.columns.refer(Reference{Name: token.Value, Index: index}), p.expect(lexer.Bracket, ")")
}

// share reads a call with an expression and a share. The expression is computed for other rows: it may not use what
// `let` has named.
func (p *parser) share(token lexer.Token) (int, error) {
	inner := &parser{text: p.text, names: p.names, tokens: p.tokens, at: p.at, columns: &columns{}}
	result, err := inner.conditional()
	if err != nil {
		return 0, err
	}
	p.at = inner.at
	of := inner.columns.formula(result)
	if of.Uses(func(r Reference) bool { return r.Of != nil }) {
		return 0, p.refuse(token, "%s cannot be within another", token.Value)
	}
	if err := p.expect(lexer.Operator, ","); err != nil {
		return 0, err
	}
	share, err := strconv.ParseFloat(p.token().Value, 64)
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, p.refuse(token, "%s wants an expression and a share from 0 to 1, such as %s(%s, 0.9)", token.Value,
			token.Value, p.names.Values[0])
	}
	p.at++
	return p.columns.refer(Reference{Name: token.Value, Of: of, Share: share}), p.expect(lexer.Bracket, ")")
}
