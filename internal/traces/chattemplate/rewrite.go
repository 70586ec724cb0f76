package chattemplate

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ardanlabs/jinja"
)

// rewrite turns a template into one that the library computes as Jinja does with the settings of transformers
// (trim_blocks, lstrip_blocks): white space around tags is taken away here, all texts are expressions, and what is
// printed and what filters do goes through functions of this package. It counts loops and macros, so that a template
// cannot run without end.
func rewrite(source string) (string, error) {
	source = strings.ReplaceAll(source, "\r\n", "\n")
	source = strings.TrimSuffix(source, "\n")
	w := &writer{}
	lineBegins, trims := true, false // at the beginning of a line; the last tag takes the white space after it
	for source != "" {
		tag, before, after, err := nextTag(source)
		if err != nil {
			return "", err
		}
		text := before
		if trims {
			text = strings.TrimLeft(before, blanks)
			if cut := len(before) - len(text); cut > 0 {
				lineBegins = before[cut-1] == '\n'
			}
		}
		if tag.left == '-' {
			text = strings.TrimRight(text, blanks)
		} else if tag.left == 0 && tag.kind != '{' && tag.kind != 0 {
			text = stripLine(text, lineBegins)
		}
		w.text(text)
		if tag.kind == 0 {
			break
		}
		if err := w.tag(tag); err != nil {
			return "", err
		}
		trims = tag.right == '-'
		if lineBegins = tag.kind != '{' && tag.right == 0 && strings.HasPrefix(after, "\n"); lineBegins {
			after = after[1:]
		}
		source = after
	}
	if len(w.open) > 0 {
		return "", fmt.Errorf("the chat template: %s without its end", w.open[len(w.open)-1].name)
	}
	return strings.Join(w.parts, ""), nil
}

// blanks are the white space of templates.
const blanks = " \t\n\r\v\f"

// stripLine takes the blanks between the beginning of a line and a tag away; begins says that a text begins a line.
func stripLine(text string, begins bool) string {
	line := strings.LastIndexByte(text, '\n') + 1
	if line == 0 && !begins || strings.Trim(text[line:], blanks) != "" {
		return text
	}
	return text[:line]
}

// tag is a part of a template between braces.
type tag struct {
	kind        byte // '{' for an expression, '%' for a statement, '#' for a comment, 'r' for raw text; 0 is none
	left, right byte // '-' or '+' at its ends, or 0
	inside      string
}

var (
	rawBegin = regexp.MustCompile(`^\{%([-+]?)\s*raw\s*(-?)%\}`)
	rawEnd   = regexp.MustCompile(`\{%([-+]?)\s*endraw\s*([-+]?)%\}`)
)

// nextTag returns the first tag of a source, and what is before and after it.
func nextTag(source string) (t tag, before, after string, err error) {
	at := 0
	for ; ; at++ {
		found := strings.IndexByte(source[at:], '{')
		if found < 0 || at+found+1 == len(source) {
			return tag{}, source, "", nil
		}
		if at += found; strings.IndexByte("{%#", source[at+1]) >= 0 {
			break
		}
	}
	before, rest := source[:at], source[at:]
	t.kind = rest[1]
	if begin := rawBegin.FindStringSubmatch(rest); begin != nil {
		return rawTag(before, rest, begin)
	}
	inside := rest[2:]
	if inside != "" && (inside[0] == '-' || inside[0] == '+') {
		t.left, inside = inside[0], inside[1:]
	}
	end := tagEnd(inside, t.kind)
	if end < 0 {
		return t, "", "", fmt.Errorf("the chat template: {%c without its end: %.40q", t.kind, rest)
	}
	t.inside, after = inside[:end], inside[end+2:]
	if last := len(t.inside) - 1; last >= 0 && (t.inside[last] == '-' || t.kind != '{' && t.inside[last] == '+') {
		t.right, t.inside = t.inside[last], t.inside[:last]
	}
	return t, before, after, nil
}

func rawTag(before, rest string, begin []string) (t tag, _, after string, err error) {
	body := rest[len(begin[0]):]
	end := rawEnd.FindStringSubmatchIndex(body)
	if end == nil {
		return t, "", "", fmt.Errorf("the chat template: raw without endraw: %.40q", rest)
	}
	t = tag{kind: 'r', inside: body[:end[0]]}
	if begin[1] != "" {
		t.left = begin[1][0]
	}
	if begin[2] != "" {
		t.inside = strings.TrimLeft(t.inside, blanks)
	}
	if end[2] < end[3] && body[end[2]] == '-' {
		t.inside = strings.TrimRight(t.inside, blanks)
	}
	if end[4] < end[5] {
		t.right = body[end[4]]
	}
	return t, before, body[end[1]:], nil
}

// tagEnd returns where the end of a tag is; -1 without one. Texts in quotes are passed over.
func tagEnd(inside string, kind byte) int {
	closing := map[byte]string{'{': "}}", '%': "%}", '#': "#}"}[kind]
	if kind == '#' {
		return strings.Index(inside, closing)
	}
	depth := 0
	for i := 0; i < len(inside); i++ {
		switch c := inside[i]; {
		case c == '\'' || c == '"':
			end := quoteEnd(inside[i:])
			if end < 0 {
				return -1
			}
			i += end - 1
		case strings.HasPrefix(inside[i:], closing) && (kind == '%' || depth == 0):
			return i
		case c == '{':
			depth++
		case c == '}':
			depth--
		}
	}
	return -1
}

// quoteEnd returns the length of the text in quotes that s begins with; -1 if it has no end.
func quoteEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return -1
}

// quoted writes a text as the library reads it.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// writer writes the template for the library.
type writer struct {
	parts []string
	open  []scope // loops and macros that have not ended
}

// scope is the body of a loop or a macro.
type scope struct {
	name    string
	before  int      // the part before a loop
	begin   int      // the part at the beginning of its body
	targets []string // the names that the loop sets
	set     []string // other names that are set in it
}

func (w *writer) write(format string, args ...any) {
	w.parts = append(w.parts, fmt.Sprintf(format, args...))
}

func (w *writer) text(text string) {
	if text != "" {
		w.write("{{ %s(%s) }}", textName, quoted(text))
	}
}

var (
	statement = regexp.MustCompile(`^\s*(\w+)\s*`)
	loop      = regexp.MustCompile(`^\s*for\s+\(?\s*(\w+(?:\s*,\s*\w+)*)\s*\)?\s+in\s`)
	setNames  = regexp.MustCompile(`^\s*set\s+(\w+(?:\s*,\s*\w+)*)\s*(=|$|\|)`)
	// setOne is a statement that sets one name to a value.
	setOne    = regexp.MustCompile(`(?s)^(\s*set\s+\w+\s*=)([^=].*)$`)
	macroHead = regexp.MustCompile(`(?s)^\s*macro\s+\w+\s*\((.*)\)\s*$`)
	parameter = regexp.MustCompile(`^\s*(\w+)`)
	safeSum   = regexp.MustCompile(`\|\s*safe\b\s*[+~%]`)
	// setAttribute is a statement that sets an attribute of a namespace.
	setAttribute = regexp.MustCompile(`(?s)^(\s*set\s+(\w+)\s*\.\s*\w+\s*=)([^=].*)$`)
	// filters and methods that functions of this package stand for.
	ownFilter    = regexp.MustCompile(`^\|\s*(tojson|string|replace|join|indent)\b`)
	stripMethods = regexp.MustCompile(`^\.([rl]strip)\(\s*\)\s*([^\s.\[(]|$)`)
	// readOperator is an operator that reads or copies all of its right side, which then is counted.
	readOperator = regexp.MustCompile(`^(?:[+~]|[=!<>]=|[<>]|in\b)`)
	quotes       = regexp.MustCompile(`(?s)'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"`)
	// constantFilter is a filter that reads little of its value.
	constantFilter = regexp.MustCompile(`^\|\s*(?:length|count|default|d|items)\b`)
	method         = regexp.MustCompile(`^\.\s*(\w+)\s*\(`)
	ownMethod      = regexp.MustCompile(`^\.\s*(replace|format|append|insert|update)\s*\(`)
)

var (
	ownFilters = map[string]string{"tojson": jsonName, "string": stringName, "replace": replaceName, "join": joinName,
		"indent": indentName}
	ownMethods = map[string]string{"replace": replaceName, "format": formatName, "append": pushName,
		"insert": insertName, "update": updateName}
)

func (w *writer) tag(t tag) error {
	switch t.kind {
	case '#':
		return nil
	case 'r':
		w.text(t.inside)
		return nil
	}
	inside, err := rewriteExpression(t.inside)
	switch {
	case safeSum.MatchString(t.inside):
		return errors.New("the chat template: the filter safe within a sum, which then escapes texts, is not supported")
	case err != nil:
		return err
	case t.kind == '{' && strings.TrimSpace(inside) == "":
		return errors.New("the chat template: an empty expression")
	case t.kind == '{':
		w.write("{{ %s(%s) }}", printName, inside)
		return nil
	}
	name := ""
	if found := statement.FindStringSubmatch(inside); found != nil {
		name = found[1]
	}
	switch name {
	case "generation", "endgeneration": // marks answers for training
		return nil
	case "for":
		return w.beginLoop(inside)
	case "macro", "call":
		// The library computes defaults before the body of the macro counts its depth.
		head := macroHead.FindStringSubmatch(quotes.ReplaceAllString(t.inside, ""))
		if head != nil && strings.ContainsAny(head[1], "(|") {
			return errors.New("the chat template: a call or a filter in the default of a macro's parameter is not supported")
		}
		w.open = append(w.open, scope{name: name})
		w.write("{%%%s%%}{{ %s(%s) }}", inside, enterName, parameters(inside))
		return nil
	case "endfor", "endmacro", "endcall":
		return w.end(name)
	case "set":
		w.noteNames(inside)
		inside = setOne.ReplaceAllString(inside, "${1}"+holdName+"(${2})")
		inside = setAttribute.ReplaceAllString(inside, "${1}"+keepName+"(${2}, ${3})")
	case "if":
		w.open = append(w.open, scope{name: "if"})
	case "endif":
		if last := len(w.open) - 1; last >= 0 && w.open[last].name == "if" {
			w.open = w.open[:last]
		}
	}
	w.write("{%%%s%%}", inside)
	return nil
}

// beginLoop writes the beginning of a loop. The library keeps the names that are set in a loop from one round to the
// next, where Jinja has those of before the loop again, and knows only the second name of a pair in a condition.
func (w *writer) beginLoop(inside string) error {
	s := scope{name: "for"}
	if found := loop.FindStringSubmatch(inside); found != nil {
		s.targets = names(found[1])
		list, end := len(found[0]), len(inside)
		if at := conditionAt(inside); at >= 0 {
			end = at
		}
		inside = fmt.Sprintf("%s %s(%s) %s", inside[:list], goesOverName, inside[list:end], inside[end:])
	}
	if at := conditionAt(inside); at >= 0 && len(s.targets) > 1 {
		kept := fmt.Sprintf("cachesim_%d", len(w.parts))
		list := strings.Join(s.targets, ", ")
		w.write("{%% set %s = %s() %%}{%%%s%%}{{ %s() }}{%% %s %%}{{ %s(%s, %s) }}{%% endif %%}{%% endfor %%}", kept,
			listName, inside[:at], stepName, inside[at:], appendName, kept, list)
		inside = fmt.Sprintf(" for %s in %s ", list, kept)
	} else if at >= 0 {
		inside = fmt.Sprintf("%s if %s() and (%s) ", inside[:at], eachName, inside[at+len(" if "):])
	}
	s.before = len(w.parts)
	w.write("") // the names before the loop
	w.write("{%%%s%%}{{ %s() }}", inside, stepName)
	s.begin = len(w.parts)
	w.write("") // the names at the beginning of a round
	w.open = append(w.open, s)
	return nil
}

// parameters returns the names of the parameters of a macro.
func parameters(inside string) string {
	found := macroHead.FindStringSubmatch(inside)
	if found == nil {
		return ""
	}
	var all []string
	list := found[1]
	for begin, depth, i := 0, 0, 0; i <= len(list); i++ {
		switch {
		case i == len(list) || list[i] == ',' && depth == 0:
			if name := parameter.FindStringSubmatch(list[begin:i]); name != nil {
				all = append(all, name[1])
			}
			begin = i + 1
		case list[i] == '"':
			i += quoteEnd(list[i:]) - 1
		case strings.IndexByte("([{", list[i]) >= 0:
			depth++
		case strings.IndexByte(")]}", list[i]) >= 0:
			depth--
		}
	}
	return strings.Join(all, ", ")
}

// conditionAt returns where the condition of a loop begins; -1 without one.
func conditionAt(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			i += quoteEnd(text[i:]) - 1
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case depth == 0 && strings.HasPrefix(text[i:], " if "):
			return i
		}
	}
	return -1
}

// noteNames notes the names that a statement sets in the innermost loop or macro.
func (w *writer) noteNames(inside string) {
	found := setNames.FindStringSubmatch(inside)
	if found == nil {
		return
	}
	for i := len(w.open) - 1; i >= 0; i-- {
		if w.open[i].name == "if" {
			continue
		}
		w.open[i].set = append(w.open[i].set, names(found[1])...)
		return
	}
}

func names(list string) []string {
	all := strings.Split(list, ",")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// end writes the end of a loop or a macro, and what its beginning lacks.
func (w *writer) end(name string) error {
	last := len(w.open) - 1
	if last < 0 || "end"+w.open[last].name != name {
		return fmt.Errorf("the chat template: %s without its beginning", name)
	}
	s := w.open[last]
	w.open = w.open[:last]
	if name != "endfor" {
		w.write("{{ %s() }}{%% %s %%}", leaveName, name)
		return nil
	}
	w.write("{%% endfor %%}")
	slices.Sort(s.set)
	for _, name := range slices.Compact(s.set) {
		if !slices.Contains(s.targets, name) {
			kept := fmt.Sprintf("cachesim_%d_%s", s.begin, name)
			w.parts[s.before] += fmt.Sprintf("{%% set %s = %s %%}", kept, name)
			w.parts[s.begin] += fmt.Sprintf("{%% set %s = %s %%}", name, kept)
		}
	}
	return nil
}

// rewriteExpression renames filters, makes calls of some methods calls of functions, and writes texts in quotes with
// what the library knows of escapes.
func rewriteExpression(text string) (string, error) {
	e := expression{to: []byte{' '}, isLoop: strings.HasPrefix(strings.TrimLeft(text, blanks), "for ")}
	for i := 0; i < len(text); {
		e.endFactors(i)
		e.count(strings.IndexByte("([{.|+-~*/%<>=!", text[i]) >= 0)
		if e.operators > mostOperators {
			return "", fmt.Errorf("the chat template: more than %d operators in a tag", mostOperators)
		}
		rest := text[i:]
		switch c := rest[0]; {
		case c == '\'' || c == '"':
			end := quoteEnd(rest)
			if end < 0 {
				return "", fmt.Errorf("the chat template: a text without its end: %.40q", rest)
			}
			e.begin(true)
			e.write(quoted(unescape(rest[1 : end-1])))
			i += end
			continue
		case c == '|':
			if found := ownFilter.FindStringSubmatch(rest); found != nil {
				e.write("|" + ownFilters[found[1]])
				i += len(found[0])
				continue
			}
			if !constantFilter.MatchString(rest) {
				e.write("|" + readName)
			}
		case c == '.':
			if found := stripMethods.FindStringSubmatch(rest); found != nil {
				e.write("|" + map[string]string{"rstrip": rstripName, "lstrip": lstripName}[found[1]] + " ")
				i += strings.IndexByte(rest, ')') + 1
				continue
			}
			if found := ownMethod.FindStringSubmatch(rest); found != nil && e.operand {
				i += len(found[0])
				e.call(ownMethods[found[1]], !strings.HasPrefix(strings.TrimLeft(text[i:], blanks), ")"))
				continue
			}
			if found := method.FindStringSubmatch(rest); found != nil && e.operand && found[1] != "get" {
				reads := readName
				if found[1] == "split" {
					reads = splitName
				}
				e.to = slices.Insert(e.to, e.start, []byte(reads+"(")...)
				e.write(")")
			}
		case strings.HasPrefix(rest, "**"):
			e.write("**")
			e.operand = false
			i += len("**")
			continue
		case readOperator.MatchString(rest) && e.isOperator(rest):
			operator := readOperator.FindString(rest)
			end, err := factorEnd(rest[len(operator):])
			if err != nil {
				return "", err
			}
			reads := readName
			if c == '+' || c == '~' {
				reads = addName
			}
			e.write(operator + " " + reads + "(")
			e.operand = false
			e.factors = append(e.factors, i+len(operator)+end)
			i += len(operator)
			continue
		case c == '*':
			end, err := factorEnd(rest[1:])
			if err != nil {
				return "", err
			}
			e.write("|" + leftName + " * " + timesName + "(")
			e.operand = false
			e.factors = append(e.factors, i+1+end)
			i++
			continue
		case wordAhead.MatchString(rest):
			word := wordAhead.FindString(rest)
			if !e.follows() {
				e.begin(!slices.Contains(keywords, word))
				e.count(slices.Contains(keywords, word))
			}
			e.write(word)
			i += len(word)
			continue
		}
		bound := e.boundAfter(text, i)
		e.mark(rest[0])
		if bound > 0 {
			e.write(boundName + "(")
			e.factors = append(e.factors, bound)
		}
		if len(e.open) > deepest {
			return "", fmt.Errorf("the chat template: more than %d brackets within each other", deepest)
		}
		if i++; rest[0] == '}' && strings.HasPrefix(text[i:], "}") {
			e.write(" ") // two would end the tag
		}
	}
	e.endFactors(len(text) + 1)
	return string(e.to) + " ", nil
}

// keywords are names that are no values.
var keywords = []string{"and", "else", "elif", "for", "if", "in", "is", "not", "or", "recursive", "set"}

// expression writes an expression for the library, and knows where the value begins that it writes.
type expression struct {
	to      []byte
	start   int   // of the value that was written last
	operand bool  // a value has been written, which a bracket or a dot can follow
	open    []int // for each bracket that is open, the start of the value that it ends
	factors []int // ends of factors in the source, the innermost last
	// operators counts what may make the tree of the expression deeper.
	operators int
	isLoop    bool   // a loop, before its list
	indexes   []bool // for each bracket that is open in the source, whether it is an index
}

func (e *expression) count(operator bool) {
	if operator {
		e.operators++
	}
}

// isOperator reports whether a text begins with an operator that follows a value. The in of a loop is none.
func (e *expression) isOperator(text string) bool {
	if text[0] != 'i' {
		return e.operand
	}
	last := e.to[len(e.to)-1]
	if e.isLoop || strings.IndexByte(blanks+")]}\"", last) < 0 {
		e.isLoop = e.isLoop && strings.IndexByte(blanks, last) < 0
		return false
	}
	return true
}

// boundAfter returns the end of the bound of a slice that a bracket or a colon is before; 0 without one.
func (e *expression) boundAfter(text string, i int) int {
	last := len(e.indexes) - 1
	begins := text[i] == '[' && e.operand
	switch {
	case strings.IndexByte("([{", text[i]) >= 0:
		e.indexes = append(e.indexes, begins)
	case strings.IndexByte(")]}", text[i]) >= 0 && last >= 0:
		e.indexes = e.indexes[:last]
	case text[i] == ':' && last >= 0:
		begins = e.indexes[last]
	}
	if !begins {
		return 0
	}
	end, err := boundEnd(text, i+1)
	if err != nil || end == len(text) || text[i] == '[' && text[end] != ':' || strings.TrimSpace(text[i+1:end]) == "" {
		return 0
	}
	return end
}

// boundEnd returns where the next colon or bracket is that ends a bound.
func boundEnd(text string, at int) (int, error) {
	for at < len(text) && strings.IndexByte(":)]}", text[at]) < 0 {
		end, err := bracketsEnd(text, at)
		if err != nil {
			return 0, err
		}
		at = max(end, at+1)
	}
	return at, nil
}

func (e *expression) write(text string) { e.to = append(e.to, text...) }

// begin notes that a value begins, or a word that is none.
func (e *expression) begin(operand bool) { e.start, e.operand = len(e.to), operand }

// follows reports whether a name that comes next belongs to the value before it.
func (e *expression) follows() bool {
	before := bytes.TrimRight(e.to, blanks)
	return len(before) > 0 && (before[len(before)-1] == '.' || before[len(before)-1] == '|')
}

// mark writes a character that is in no name and no text.
func (e *expression) mark(c byte) {
	switch {
	case strings.IndexByte("([{", c) >= 0:
		if !e.operand || c == '{' {
			e.begin(false)
		}
		e.open, e.operand = append(e.open, e.start), false
	case strings.IndexByte(")]}", c) >= 0:
		if last := len(e.open) - 1; last >= 0 {
			e.start, e.open = e.open[last], e.open[:last]
		}
		e.operand = true
	case strings.IndexByte(blanks, c) < 0 && c != '.' && c != '|':
		e.operand = false
	}
	e.to = append(e.to, c)
}

// call makes the value that was written last the first argument of a function, whose other arguments follow.
func (e *expression) call(function string, more bool) {
	e.to = slices.Insert(e.to, e.start, []byte(function+"(")...)
	if more {
		e.write(", ")
	}
	e.open, e.operand = append(e.open, e.start), false
}

// endFactors ends the factors that end before a place of the source.
func (e *expression) endFactors(at int) {
	for len(e.factors) > 0 && e.factors[len(e.factors)-1] <= at {
		e.to = append(e.to, ')')
		e.factors = e.factors[:len(e.factors)-1]
	}
}

// factorEnd returns where the factor ends that a text begins with: a value with what follows it in brackets, after a
// dot, or as a filter.
func factorEnd(text string) (int, error) {
	name := func(i int) int {
		i += len(text[i:]) - len(strings.TrimLeft(text[i:], blanks+"+-"))
		return i + len(wordAhead.FindString(text[i:]))
	}
	end, err := bracketsEnd(text, name(0))
	for err == nil {
		next := end + len(text[end:]) - len(strings.TrimLeft(text[end:], blanks))
		switch {
		case next == len(text):
			return end, nil
		case text[next] == '.' || text[next] == '|':
			end, err = bracketsEnd(text, name(next+1))
		case text[next] == '(' || text[next] == '[':
			end, err = bracketsEnd(text, next)
		default:
			return end, nil
		}
	}
	return end, err
}

var wordAhead = regexp.MustCompile(`^\w+`)

// bracketsEnd returns the end of a text in quotes or in brackets that begins at a place; the place if there is none.
func bracketsEnd(text string, at int) (int, error) {
	depth := 0
	for i := at; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			end := quoteEnd(text[i:])
			if end < 0 {
				return 0, fmt.Errorf("the chat template: a text without its end: %.40q", text[i:])
			}
			i += end - 1
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0 && depth > 0:
			depth--
		case depth == 0:
			return at, nil
		}
		if depth == 0 {
			return i + 1, nil
		}
	}
	return len(text), nil
}

// unescape reads the escapes of a text of Python.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var to strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			to.WriteByte(text[i])
			continue
		}
		i++
		if at := strings.IndexByte(`ntrabfv0\'"`, text[i]); at >= 0 {
			to.WriteByte("\n\t\r\a\b\f\v\x00\\'\""[at])
			continue
		}
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[text[i]]
		if digits > 0 && i+digits < len(text) {
			if r, err := strconv.ParseUint(text[i+1:i+1+digits], 16, 32); err == nil && r <= utf8.MaxRune {
				to.WriteRune(rune(r))
				i += digits
				continue
			}
		}
		to.WriteByte('\\')
		to.WriteByte(text[i])
	}
	return to.String()
}

func sortedKeys(d *jinja.Dict) []string {
	keys := d.OrderedKeys()
	slices.Sort(keys)
	return keys
}
