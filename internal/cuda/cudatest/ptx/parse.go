package ptx

import (
	"strconv"
	"strings"
)

// Limits of what a text may declare. What clang writes is far below them.
const (
	MostRegisters = 1 << 15
	MostParams    = 4096     // bytes
	MostLocal     = 64 << 10 // bytes per thread
	MostShared    = 227 << 10
	mostGlobal    = 64 << 20
	MostCode      = 1 << 18 // instructions, after calls were replaced by what they call
	deepestScope  = 64
)

// Variable is memory with a name.
type Variable struct {
	Name         string
	Space        string // "param", "shared", "local", "global" or "const"
	Align, Bytes int64
	Unsized      bool   // dynamic shared memory
	Content      []byte // its initial bytes, nil if undefined
}

// Scope has the names that are known between a pair of braces.
type Scope struct {
	outer     *Scope
	depth     int
	registers map[string]int
	ranges    map[string][2]int // by prefix: the first register, and how many there are
	variables map[string]*Variable
	labels    map[string]int      // where they are in the code
	targets   map[string][]string // lists of labels, for brx.idx
}

func newScope(outer *Scope) *Scope {
	s := &Scope{outer: outer, registers: map[string]int{}, ranges: map[string][2]int{}, variables: map[string]*Variable{},
		labels: map[string]int{}, targets: map[string][]string{}}
	if outer != nil {
		s.depth = outer.depth + 1
	}
	return s
}

// Register returns the number of a register in its function.
func (s *Scope) Register(name string) (int, bool) {
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

func (s *Scope) Variable(name string) (*Variable, bool) {
	for ; s != nil; s = s.outer {
		if v, ok := s.variables[name]; ok {
			return v, true
		}
	}
	return nil, false
}

// Label returns where a label is in the code of its function.
func (s *Scope) Label(name string) (int, bool) {
	for ; s != nil; s = s.outer {
		if at, ok := s.labels[name]; ok {
			return at, true
		}
	}
	return 0, false
}

func (s *Scope) List(name string) ([]string, bool) {
	for ; s != nil; s = s.outer {
		if l, ok := s.targets[name]; ok {
			return l, true
		}
	}
	return nil, false
}

// Operand is an operand of an instruction: its text or, if it consists of parts, its parts.
type Operand struct {
	Text    string    // of a register, a number or a name; "" of what has parts
	Negated bool      // !%p
	Vector  []Operand // {a, b}
	Pair    []Operand // a|b
	Address *Operand  // [a+offset]
	List    []Operand // (a, b)
	Offset  int64
}

// Statement is an instruction as it is written.
type Statement struct {
	Line   int
	Guard  string // the predicate, "" without
	Unless bool   // the instruction is executed if the predicate is false
	Op     []string
	Args   []Operand
	Scope  *Scope
}

// Text returns the name of the instruction: add.s32.
func (s *Statement) Text() string { return strings.Join(s.Op, ".") }

// Function is a kernel, or what kernels call.
type Function struct {
	Name      string
	Kernel    bool
	Line      int
	Results   []*Variable
	Params    []*Variable
	Registers []int // bits of each; 1 of a predicate
	Locals    []*Variable
	Code      []Statement
	scope     *Scope
	Threads   int64 // the most per block, 0 without a limit
}

// Text is a parsed PTX text.
type Text struct {
	Target    int // 70 for sm_70
	Functions map[string]*Function
	Variables []*Variable // of the module, in their order
	scope     *Scope
}

func Parse(source string) (t *Text, err error) {
	defer func() {
		if r := recover(); r != nil {
			p, ok := r.(Problem)
			if !ok {
				panic(r)
			}
			err = p
		}
	}()
	if len(source) > longestText {
		Refuse(0, "the text has %d bytes, at most %d are read", len(source), longestText)
	}
	c := &cursor{all: tokens(source), line: 1}
	t = &Text{Functions: map[string]*Function{}, scope: newScope(nil)}
	for c.peek() != "" {
		t.directive(c)
	}
	if t.Target == 0 {
		Refuse(c.line, "the text names no .target")
	}
	return t, nil
}

// directive reads a declaration outside of functions.
func (t *Text) directive(c *cursor) {
	switch d := c.next(); d {
	case ".version":
		c.next()
	case ".target":
		name := c.next()
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(name, "sm_"), "a"))
		if err != nil || n < 10 || n > 999 {
			Refuse(c.line, "unknown target %q, expected sm_70 or the like", name)
		}
		t.Target = n
		for c.accept(",") {
			c.next()
		}
	case ".address_size":
		if n := c.next(); n != "64" {
			Refuse(c.line, "addresses have %q bits, expected 64", n)
		}
	case ".visible", ".extern", ".weak", ".common":
	case ".entry", ".func":
		t.function(c, d == ".entry")
	case ".global", ".const", ".shared":
		v := t.variable(c, d[1:])
		c.expect(";")
		declare(c, t.scope, v)
		t.Variables = append(t.Variables, v)
	case ".pragma":
		c.next()
		c.expect(";")
	case ";":
	default:
		Refuse(c.line, "unexpected %q outside of functions", d)
	}
}

func declare(c *cursor, s *Scope, v *Variable) {
	if _, twice := s.variables[v.Name]; twice {
		Refuse(c.line, "%s is declared twice", v.Name)
	}
	s.variables[v.Name] = v
}

// sizeOf returns the bytes of a type (4 for .u32), 0 for any other word.
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
		return MostParams
	case "local":
		return MostLocal
	case "shared":
		return MostShared
	}
	return mostGlobal
}

// variable reads a declaration behind its space, up to its semicolon or comma.
func (t *Text) variable(c *cursor, space string) *Variable {
	v := &Variable{Space: space}
	element := variableType(c, v)
	v.Name = c.name()
	dimensions(c, v)
	if space == "global" || space == "const" {
		v.Content = make([]byte, v.Bytes)
	}
	if c.accept("=") {
		if v.Content == nil {
			Refuse(c.line, "%s cannot have a first value", v.Name)
		}
		t.initial(c, v, element)
	}
	return v
}

// variableType reads the attributes and the type of a variable, and returns the bytes of a number of it.
func variableType(c *cursor, v *Variable) (element int64) {
	width := int64(1)
	for pointer := false; strings.HasPrefix(c.peek(), "."); {
		switch d := c.next(); d {
		case ".align":
			n := c.count(1 << 12)
			if n == 0 || n&(n-1) != 0 {
				Refuse(c.line, "the alignment %d is no power of two", n)
			}
			if !pointer { // of what a pointer points to
				v.Align = n
			}
		case ".v2":
			width = 2
		case ".v4":
			width = 4
		case ".ptr":
			pointer = true
		case ".global", ".shared", ".const", ".local":
			if !pointer {
				Refuse(c.line, "unexpected %q, expected a type", d)
			}
		default:
			if element = sizeOf(d); element == 0 {
				Refuse(c.line, "unknown type %q", d)
			}
		}
	}
	if element == 0 {
		Refuse(c.line, "a variable without a type")
	}
	v.Align = max(v.Align, element*width)
	v.Bytes = element * width
	return element
}

// dimensions reads the dimensions of an array behind its name.
func dimensions(c *cursor, v *Variable) {
	for c.accept("[") {
		if c.accept("]") {
			v.Unsized = true
			v.Bytes = 0
			continue
		}
		limit := most(v.Space)
		if v.Bytes *= c.count(limit); v.Bytes > limit {
			Refuse(c.line, "%s has more than %d bytes", v.Name, limit)
		}
		c.expect("]")
	}
	if v.Unsized && v.Space != "shared" {
		Refuse(c.line, "%s has no size", v.Name)
	}
}

// initial reads the first values of a variable.
func (t *Text) initial(c *cursor, v *Variable, element int64) {
	at := int64(0)
	one := func() {
		sign := ""
		if c.accept("-") {
			sign = "-"
		}
		n, ok := Literal(sign+c.next(), int(element*8))
		if !ok {
			Refuse(c.line, "the first value of %s is no number", v.Name)
		}
		if at+element > v.Bytes {
			Refuse(c.line, "%s has too many first values", v.Name)
		}
		for i := range element {
			v.Content[at+i] = byte(n >> (8 * i))
		}
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

// Literal returns the bits of a number as it is used in an instruction of a number of bits.
func Literal(text string, n int) (uint64, bool) {
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
	if n < 64 {
		x &= 1<<n - 1
	}
	return x, true
}

// parameters reads a list in parentheses.
func (t *Text) parameters(c *cursor, s *Scope) (all []*Variable) {
	for !c.accept(")") {
		if len(all) > 0 {
			c.expect(",")
		}
		if d := c.next(); d != ".param" {
			Refuse(c.line, "unexpected %q, expected .param", d)
		}
		v := t.variable(c, "param")
		declare(c, s, v)
		if all = append(all, v); len(all) > 256 {
			Refuse(c.line, "more than 256 parameters")
		}
	}
	return all
}

// function reads a kernel or a function behind its directive.
func (t *Text) function(c *cursor, kernel bool) {
	f := &Function{Kernel: kernel, Line: c.line, scope: newScope(t.scope)}
	if c.accept("(") {
		f.Results = t.parameters(c, f.scope)
	}
	f.Name = c.name()
	if c.accept("(") {
		f.Params = t.parameters(c, f.scope)
	}
	for {
		switch d := c.next(); d {
		case ";": // declared only
			return
		case ".maxntid", ".reqntid":
			f.Threads = c.count(1024)
			for c.accept(",") {
				f.Threads *= c.count(1024)
			}
		case ".minnctapersm", ".maxnreg", ".maxnctapersm":
			c.next()
		case ".noreturn":
		case ".pragma":
			c.next()
			c.expect(";")
		case "{":
			if old := t.Functions[f.Name]; old != nil {
				Refuse(c.line, "%s is defined twice", f.Name)
			}
			t.Functions[f.Name] = f
			t.body(c, f, f.scope)
			return
		default:
			Refuse(c.line, "unexpected %q before the body of %s", d, f.Name)
		}
	}
}

// body reads statements up to the brace that closes them.
func (t *Text) body(c *cursor, f *Function, s *Scope) {
	if s.depth > deepestScope {
		Refuse(c.line, "braces within more than %d others", deepestScope)
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
					t.Variables = append(t.Variables, v)
				} else {
					f.Locals = append(f.Locals, v)
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
				Refuse(c.line, "label %s is there twice", d)
			}
			s.labels[d] = len(f.Code)
		default:
			c.at--
			f.Code = append(f.Code, c.statement(s))
			if len(f.Code) > MostCode {
				Refuse(c.line, "%s has more than %d instructions", f.Name, MostCode)
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
func (f *Function) register(c *cursor, s *Scope) {
	kind := c.next()
	width := 1
	if kind != ".pred" {
		if width = int(sizeOf(kind)) * 8; width == 0 {
			Refuse(c.line, "registers of the unknown type %q", kind)
		}
	}
	for {
		name, n := c.name(), int64(1)
		if c.accept("<") {
			n = c.count(MostRegisters)
			s.ranges[name] = [2]int{len(f.Registers), int(n)}
			c.expect(">")
		} else {
			s.registers[name] = len(f.Registers)
		}
		if len(f.Registers)+int(n) > MostRegisters {
			Refuse(c.line, "%s has more than %d registers", f.Name, MostRegisters)
		}
		for range n {
			f.Registers = append(f.Registers, width)
		}
		if c.accept(";") {
			return
		}
		c.expect(",")
	}
}

// statement reads an instruction.
func (c *cursor) statement(s *Scope) Statement {
	in := Statement{Scope: s}
	if c.accept("@") {
		in.Unless = c.accept("!")
		in.Guard = c.name()
	}
	in.Op = strings.Split(c.name(), ".")
	in.Line = c.line
	for !c.accept(";") {
		if len(in.Args) > 0 {
			c.expect(",")
		}
		if in.Args = append(in.Args, c.operand(0)); len(in.Args) > 64 {
			Refuse(c.line, "more than 64 operands")
		}
	}
	return in
}

func (c *cursor) operand(depth int) (o Operand) {
	if depth > 4 {
		Refuse(c.line, "operands within operands")
	}
	list := func(end string) (all []Operand) {
		for !c.accept(end) {
			if len(all) > 0 {
				c.expect(",")
			}
			if all = append(all, c.operand(depth+1)); len(all) > 256 {
				Refuse(c.line, "more than 256 parts")
			}
		}
		return all
	}
	switch t := c.next(); t {
	case "!":
		o.Negated = true
		o.Text = c.name()
	case "{":
		if o.Vector = list("}"); o.Vector == nil {
			Refuse(c.line, "an empty vector")
		}
		return o
	case "(":
		o.List = append([]Operand{}, list(")")...)
		return o
	case "[":
		base := c.operand(depth + 1)
		o.Address = &base
		for c.peek() == "+" || c.peek() == "-" {
			negative := c.next() == "-"
			if c.accept("-") {
				negative = !negative
			}
			n := c.count(1 << 40)
			if negative {
				n = -n
			}
			o.Offset += n
		}
		c.expect("]")
		return o
	case "-":
		o.Text = "-" + c.next()
	default:
		if !wordLetter(t[0]) || t[0] == '.' {
			Refuse(c.line, "unexpected %q, expected an operand", t)
		}
		o.Text = t
	}
	if c.accept("|") {
		second := c.operand(depth + 1)
		first := o
		return Operand{Pair: []Operand{first, second}}
	}
	return o
}
