package ptxrun

import (
	"strconv"
	"strings"
)

// Limits of what a text may declare. Those of clang are far below.
const (
	mostRegisters = 1 << 15
	mostParams    = 4096     // bytes
	mostLocal     = 64 << 10 // bytes per thread
	mostShared    = 227 << 10
	mostGlobal    = 64 << 20
	mostCode      = 1 << 18 // instructions, after calls were replaced by what they call
	deepestScope  = 64
)

// variable is memory with a name.
type variable struct {
	name         string
	space        string // "param", "shared", "local", "global" or "const"
	align, bytes int64
	unsized      bool   // dynamic shared memory
	content      []byte // what it begins with, nil if undefined
}

// scope has the names that are known between a pair of braces.
type scope struct {
	outer     *scope
	depth     int
	registers map[string]int
	ranges    map[string][2]int // by prefix: the first register, and how many there are
	variables map[string]*variable
	labels    map[string]int      // where they are in the code
	targets   map[string][]string // lists of labels, for brx.idx
}

func newScope(outer *scope) *scope {
	s := &scope{outer: outer, registers: map[string]int{}, ranges: map[string][2]int{}, variables: map[string]*variable{},
		labels: map[string]int{}, targets: map[string][]string{}}
	if outer != nil {
		s.depth = outer.depth + 1
	}
	return s
}

// register returns the number of a register in its function.
func (s *scope) register(name string) (int, bool) {
	digits := len(name)
	for digits > 0 && name[digits-1] >= '0' && name[digits-1] <= '9' {
		digits--
	}
	for ; s != nil; s = s.outer {
		if r, ok := s.registers[name]; ok {
			return r, true
		}
		if r, ok := s.ranges[name[:digits]]; ok {
			if n, err := strconv.Atoi(name[digits:]); err == nil && n < r[1] {
				return r[0] + n, true
			}
		}
	}
	return 0, false
}

func (s *scope) variable(name string) (*variable, bool) {
	for ; s != nil; s = s.outer {
		if v, ok := s.variables[name]; ok {
			return v, true
		}
	}
	return nil, false
}

func (s *scope) label(name string) (int, bool) {
	for ; s != nil; s = s.outer {
		if at, ok := s.labels[name]; ok {
			return at, true
		}
	}
	return 0, false
}

// operand is what an instruction works with: as it is written, and, if it consists of parts, its parts.
type operand struct {
	text    string    // of a register, a number or a name; "" of what has parts
	negated bool      // !%p
	vector  []operand // {a, b}
	pair    []operand // a|b
	address *operand  // [a+offset]
	list    []operand // (a, b)
	offset  int64
}

// statement is an instruction as it is written.
type statement struct {
	line   int
	guard  string // the predicate, "" without
	unless bool   // the instruction is executed if the predicate is false
	op     []string
	args   []operand
	scope  *scope
}

func (s *statement) text() string { return strings.Join(s.op, ".") }

// function is a kernel, or what kernels call.
type function struct {
	name      string
	kernel    bool
	line      int
	results   []*variable
	params    []*variable
	registers []int // bits of each; 1 of a predicate
	locals    []*variable
	code      []statement
	scope     *scope
	threads   int64 // the most per block, 0 without a limit
}

// text is a parsed PTX text.
type text struct {
	target    int // 70 for sm_70
	functions map[string]*function
	variables []*variable // of the module, in their order
	scope     *scope
}

// parse reads a PTX text.
func parse(source string) (t *text, err error) {
	defer func() {
		if r := recover(); r != nil {
			p, ok := r.(problem)
			if !ok {
				panic(r)
			}
			err = p
		}
	}()
	if len(source) > longestText {
		refuse(0, "the text has %d bytes, at most %d are read", len(source), longestText)
	}
	c := &cursor{all: tokens(source), line: 1}
	t = &text{functions: map[string]*function{}, scope: newScope(nil)}
	for c.peek() != "" {
		t.directive(c)
	}
	if t.target == 0 {
		refuse(c.line, "the text names no .target")
	}
	return t, nil
}

// directive reads what stands outside of functions.
func (t *text) directive(c *cursor) {
	switch d := c.next(); d {
	case ".version":
		c.next()
	case ".target":
		name := c.next()
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(name, "sm_"), "a"))
		if err != nil || n < 10 || n > 999 {
			refuse(c.line, "unknown target %q, expected sm_70 or the like", name)
		}
		t.target = n
		for c.accept(",") {
			c.next()
		}
	case ".address_size":
		if n := c.next(); n != "64" {
			refuse(c.line, "addresses have %q bits, expected 64", n)
		}
	case ".visible", ".extern", ".weak", ".common":
	case ".entry", ".func":
		t.function(c, d == ".entry")
	case ".global", ".const", ".shared":
		v := t.variable(c, d[1:])
		c.expect(";")
		declare(c, t.scope, v)
		t.variables = append(t.variables, v)
	case ".pragma":
		c.next()
		c.expect(";")
	case ";":
	default:
		refuse(c.line, "unexpected %q outside of functions", d)
	}
}

func declare(c *cursor, s *scope, v *variable) {
	if _, twice := s.variables[v.name]; twice {
		refuse(c.line, "%s is declared twice", v.name)
	}
	s.variables[v.name] = v
}

// sizeOf returns the bytes of a type such as .u32, 0 if it is none.
func sizeOf(kind string) int64 {
	switch kind {
	case ".b8", ".u8", ".s8":
		return 1
	case ".b16", ".u16", ".s16", ".f16":
		return 2
	case ".b32", ".u32", ".s32", ".f32", ".f16x2":
		return 4
	case ".b64", ".u64", ".s64", ".f64":
		return 8
	}
	return 0
}

// most is how many bytes a variable of a space may have.
func most(space string) int64 {
	switch space {
	case "param":
		return mostParams
	case "local":
		return mostLocal
	case "shared":
		return mostShared
	}
	return mostGlobal
}

// variable reads a declaration behind its space, up to its semicolon or comma.
func (t *text) variable(c *cursor, space string) *variable {
	v := &variable{space: space}
	width, element := int64(1), int64(0)
	for pointer := false; strings.HasPrefix(c.peek(), "."); {
		switch d := c.next(); d {
		case ".align":
			n := c.count(1 << 12)
			if n == 0 || n&(n-1) != 0 {
				refuse(c.line, "the alignment %d is no power of two", n)
			}
			if !pointer { // of what a pointer points to
				v.align = n
			}
		case ".v2":
			width = 2
		case ".v4":
			width = 4
		case ".ptr":
			pointer = true
		case ".global", ".shared", ".const", ".local":
			if !pointer {
				refuse(c.line, "unexpected %q, expected a type", d)
			}
		default:
			if element = sizeOf(d); element == 0 {
				refuse(c.line, "unknown type %q", d)
			}
		}
	}
	if element == 0 {
		refuse(c.line, "a variable without a type")
	}
	v.name = c.name()
	v.align = max(v.align, element*width)
	v.bytes = element * width
	for c.accept("[") {
		if c.accept("]") {
			v.unsized = true
			v.bytes = 0
			continue
		}
		n := c.count(most(space))
		if v.bytes *= n; v.bytes > most(space) {
			refuse(c.line, "%s has more than %d bytes", v.name, most(space))
		}
		c.expect("]")
	}
	if v.unsized && space != "shared" {
		refuse(c.line, "%s has no size", v.name)
	}
	if space == "global" || space == "const" {
		v.content = make([]byte, v.bytes)
	}
	if c.accept("=") {
		if v.content == nil {
			refuse(c.line, "%s cannot have a first value", v.name)
		}
		t.initial(c, v, element)
	}
	return v
}

// initial reads the first values of a variable.
func (t *text) initial(c *cursor, v *variable, element int64) {
	at := int64(0)
	one := func() {
		sign := ""
		if c.accept("-") {
			sign = "-"
		}
		n, ok := literal(sign+c.next(), int(element*8))
		if !ok {
			refuse(c.line, "the first value of %s is no number", v.name)
		}
		if at+element > v.bytes {
			refuse(c.line, "%s has too many first values", v.name)
		}
		putBytes(v.content[at:], int(element), n)
		at += element
	}
	if !c.accept("{") {
		one()
		return
	}
	for depth := 1; depth > 0; {
		switch c.peek() {
		case "{":
			c.next()
			depth++
		case "}":
			c.next()
			depth--
		case ",":
			c.next()
		default:
			one()
		}
	}
}

// literal returns the bits of a number as it is used in an instruction of a number of bits.
func literal(text string, n int) (uint64, bool) {
	digits, negative := strings.CutPrefix(text, "-")
	var x uint64
	var err error
	switch {
	case len(digits) == 10 && (digits[:2] == "0f" || digits[:2] == "0F"):
		x, err = strconv.ParseUint(digits[2:], 16, 32)
		negative = false
	case len(digits) == 18 && (digits[:2] == "0d" || digits[:2] == "0D"):
		x, err = strconv.ParseUint(digits[2:], 16, 64)
	default:
		x, err = strconv.ParseUint(strings.TrimSuffix(digits, "U"), 0, 64)
	}
	if err != nil {
		return 0, false
	}
	if negative {
		x = -x
	}
	return cut(x, n), true
}

// parameters reads a list in parentheses.
func (t *text) parameters(c *cursor, s *scope) (all []*variable) {
	for !c.accept(")") {
		if len(all) > 0 {
			c.expect(",")
		}
		if d := c.next(); d != ".param" {
			refuse(c.line, "unexpected %q, expected .param", d)
		}
		v := t.variable(c, "param")
		declare(c, s, v)
		if all = append(all, v); len(all) > 256 {
			refuse(c.line, "more than 256 parameters")
		}
	}
	return all
}

// function reads a kernel or a function behind its directive.
func (t *text) function(c *cursor, kernel bool) {
	f := &function{kernel: kernel, line: c.line, scope: newScope(t.scope)}
	if c.accept("(") {
		f.results = t.parameters(c, f.scope)
	}
	f.name = c.name()
	if c.accept("(") {
		f.params = t.parameters(c, f.scope)
	}
	for {
		switch d := c.next(); d {
		case ";": // declared only
			return
		case ".maxntid", ".reqntid":
			f.threads = c.count(1024)
			for c.accept(",") {
				f.threads *= c.count(1024)
			}
		case ".minnctapersm", ".maxnreg", ".maxnctapersm":
			c.next()
		case ".noreturn":
		case ".pragma":
			c.next()
			c.expect(";")
		case "{":
			if old := t.functions[f.name]; old != nil {
				refuse(c.line, "%s is defined twice", f.name)
			}
			t.functions[f.name] = f
			t.body(c, f, f.scope)
			return
		default:
			refuse(c.line, "unexpected %q before the body of %s", d, f.name)
		}
	}
}

// body reads statements up to the brace that closes them.
func (t *text) body(c *cursor, f *function, s *scope) {
	if s.depth > deepestScope {
		refuse(c.line, "braces within more than %d others", deepestScope)
	}
	for {
		switch d := c.next(); {
		case d == "}":
			return
		case d == "{":
			t.body(c, f, newScope(s))
		case d == ";":
		case d == ".reg":
			f.register(c, s)
		case d == ".local" || d == ".shared" || d == ".param":
			for {
				v := t.variable(c, d[1:])
				declare(c, s, v)
				if d == ".shared" {
					t.variables = append(t.variables, v)
				} else {
					f.locals = append(f.locals, v)
				}
				if !c.accept(",") {
					break
				}
			}
			c.expect(";")
		case d == ".pragma":
			c.next()
			c.expect(";")
		case c.peek() == ":":
			c.next()
			if c.peek() == ".branchtargets" {
				c.next()
				s.targets[d] = c.labels()
				continue
			}
			if _, twice := s.labels[d]; twice {
				refuse(c.line, "label %s is there twice", d)
			}
			s.labels[d] = len(f.code)
		default:
			c.at--
			f.code = append(f.code, c.statement(s))
			if len(f.code) > mostCode {
				refuse(c.line, "%s has more than %d instructions", f.name, mostCode)
			}
		}
	}
}

// labels reads names up to a semicolon.
func (c *cursor) labels() (all []string) {
	for {
		all = append(all, c.name())
		if c.accept(";") {
			return all
		}
		c.expect(",")
	}
}

// register reads declarations of registers.
func (f *function) register(c *cursor, s *scope) {
	kind := c.next()
	width := 1
	if kind != ".pred" {
		if width = int(sizeOf(kind)) * 8; width == 0 {
			refuse(c.line, "registers of the unknown type %q", kind)
		}
	}
	for {
		name, n := c.name(), int64(1)
		if c.accept("<") {
			n = c.count(mostRegisters)
			s.ranges[name] = [2]int{len(f.registers), int(n)}
			c.expect(">")
		} else {
			s.registers[name] = len(f.registers)
		}
		if len(f.registers)+int(n) > mostRegisters {
			refuse(c.line, "%s has more than %d registers", f.name, mostRegisters)
		}
		for range n {
			f.registers = append(f.registers, width)
		}
		if c.accept(";") {
			return
		}
		c.expect(",")
	}
}

// statement reads an instruction.
func (c *cursor) statement(s *scope) statement {
	in := statement{scope: s}
	if c.accept("@") {
		in.unless = c.accept("!")
		in.guard = c.name()
	}
	in.op = strings.Split(c.name(), ".")
	in.line = c.line
	for !c.accept(";") {
		if len(in.args) > 0 {
			c.expect(",")
		}
		if in.args = append(in.args, c.operand(0)); len(in.args) > 64 {
			refuse(c.line, "more than 64 operands")
		}
	}
	return in
}

// operand reads one operand.
func (c *cursor) operand(depth int) (o operand) {
	if depth > 4 {
		refuse(c.line, "operands within operands")
	}
	list := func(end string) (all []operand) {
		for !c.accept(end) {
			if len(all) > 0 {
				c.expect(",")
			}
			if all = append(all, c.operand(depth+1)); len(all) > 256 {
				refuse(c.line, "more than 256 parts")
			}
		}
		return all
	}
	switch t := c.next(); t {
	case "!":
		o.negated = true
		o.text = c.name()
	case "{":
		if o.vector = list("}"); o.vector == nil {
			refuse(c.line, "an empty vector")
		}
		return o
	case "(":
		o.list = append([]operand{}, list(")")...)
		return o
	case "[":
		base := c.operand(depth + 1)
		o.address = &base
		for c.peek() == "+" || c.peek() == "-" {
			negative := c.next() == "-"
			if c.accept("-") {
				negative = !negative
			}
			n := c.count(1 << 40)
			if negative {
				n = -n
			}
			o.offset += n
		}
		c.expect("]")
		return o
	case "-":
		o.text = "-" + c.next()
	default:
		if !wordLetter(t[0]) || t[0] == '.' {
			refuse(c.line, "unexpected %q, expected an operand", t)
		}
		o.text = t
	}
	if c.accept("|") {
		second := c.operand(depth + 1)
		first := o
		return operand{pair: []operand{first, second}}
	}
	return o
}
