package ptx

import (
	"maps"
	"strconv"
	"strings"
)

// Limits of what a text may declare. What clang writes is far below them.
const (
	MostRegisters = 1 << 15
	MostParams    = 4096     // bytes
	MostLocal     = 64 << 10 // bytes per thread
	mostShared    = 227 << 10
	mostCode      = 1 << 18 // instructions
	deepestScope  = 64
	farthest      = 1 << 40 // bytes that an operand may add to an address
)

// Variable is memory with a name.
type Variable struct {
	Name         string
	Space        string // "param", "shared" or "local"
	Align, Bytes int64
}

// Scope says what the names between a pair of braces are: registers, by their numbers, or variables.
type Scope struct {
	Registers map[string]int
	Variables map[string]*Variable
}

func (s *Scope) inner() *Scope { return &Scope{maps.Clone(s.Registers), maps.Clone(s.Variables)} }

// Operand is an operand of an instruction.
type Operand struct {
	Text    string   // a register, a number or a name; "" of a vector
	Negated bool     // !%p
	Vector  []string // {a, b}
	Memory  bool     // [Text+Offset]
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

type Kernel struct {
	Name      string
	Line      int
	Params    []*Variable
	Registers []int // bits of each; 1 of a predicate
	Locals    []*Variable
	Code      []Statement
	Labels    map[string]int // where they are in the code
	Threads   int64          // the most per block, 0 without a limit
}

// Text is a parsed PTX text.
type Text struct {
	Target  int // 70 for sm_70
	Kernels map[string]*Kernel
	scope   *Scope
}

func Parse(source string) (t *Text, err error) {
	defer Recover(&err)
	if len(source) > longestText {
		Refuse(0, "the text has %d bytes, at most %d are read", len(source), longestText)
	}
	c := &cursor{all: tokens(source), line: 1}
	t = &Text{Kernels: map[string]*Kernel{}, scope: &Scope{map[string]int{}, map[string]*Variable{}}}
	for c.peek() != "" {
		t.directive(c)
	}
	if t.Target == 0 {
		Refuse(c.line, "the text names no .target")
	}
	return t, nil
}

// directive reads a declaration outside of kernels.
func (t *Text) directive(c *cursor) {
	switch d := c.next(); d {
	case ".version":
		c.next()
	case ".target":
		name := c.next()
		n, err := strconv.Atoi(strings.TrimPrefix(name, "sm_"))
		if err != nil || n < 10 || n > 999 {
			Refuse(c.line, "unknown target %q, expected sm_70 or the like", name)
		}
		t.Target = n
	case ".address_size":
		if n := c.next(); n != "64" {
			Refuse(c.line, "addresses have %q bits, expected 64", n)
		}
	case ".visible":
	case ".entry":
		t.kernel(c)
	case ".shared":
		c.variable(t.scope, "shared")
		c.expect(";")
	case ".pragma":
		c.next()
		c.expect(";")
	default:
		Refuse(c.line, "unexpected %q outside of kernels", d)
	}
}

// sizes has the bytes of types.
var sizes = map[string]int64{".b8": 1, ".u8": 1, ".s8": 1, ".b16": 2, ".u16": 2, ".s16": 2, ".f16": 2, ".b32": 4,
	".u32": 4, ".s32": 4, ".f32": 4, ".b64": 8, ".u64": 8, ".s64": 8, ".f64": 8}

// variable reads a declaration behind its space, up to its semicolon or comma.
func (c *cursor) variable(s *Scope, space string) *Variable {
	v := &Variable{Space: space}
	for strings.HasPrefix(c.peek(), ".") {
		switch d := c.next(); {
		case d == ".align":
			if v.Align = c.count(1, 1<<12); v.Align&(v.Align-1) != 0 {
				Refuse(c.line, "the alignment %d is no power of two", v.Align)
			}
		case sizes[d] > 0:
			v.Bytes = sizes[d]
		default:
			Refuse(c.line, "unknown type %q", d)
		}
	}
	if v.Bytes == 0 {
		Refuse(c.line, "a variable without a type")
	}
	v.Align = max(v.Align, v.Bytes)
	v.Name = c.name()
	limit := map[string]int64{"param": MostParams, "local": MostLocal, "shared": mostShared}[space]
	for c.accept("[") {
		if v.Bytes *= c.count(0, limit); v.Bytes > limit {
			Refuse(c.line, "%s has more than %d bytes", v.Name, limit)
		}
		c.expect("]")
	}
	if s.Variables[v.Name] != nil {
		Refuse(c.line, "%s is declared twice", v.Name)
	}
	s.Variables[v.Name] = v
	return v
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

// kernel reads a kernel behind its directive.
func (t *Text) kernel(c *cursor) {
	k, s := &Kernel{Name: c.name(), Line: c.line, Labels: map[string]int{}}, t.scope.inner()
	if t.Kernels[k.Name] != nil {
		Refuse(c.line, "%s is defined twice", k.Name)
	}
	t.Kernels[k.Name] = k
	c.expect("(")
	for ends := c.accept(")"); !ends; ends = c.ends(")") {
		c.expect(".param")
		if k.Params = append(k.Params, c.variable(s, "param")); len(k.Params) > 256 {
			Refuse(c.line, "more than 256 parameters")
		}
	}
	for {
		switch d := c.next(); d {
		case ".maxntid":
			for k.Threads = c.count(1, 1024); c.accept(","); {
				k.Threads *= c.count(1, 1024)
			}
		case ".minnctapersm":
			c.next()
		case "{":
			k.body(c, s, 0)
			return
		default:
			Refuse(c.line, "unexpected %q before the body of %s", d, k.Name)
		}
	}
}

// body reads statements up to the brace that closes them.
func (k *Kernel) body(c *cursor, s *Scope, depth int) {
	if depth > deepestScope {
		Refuse(c.line, "braces within more than %d others", deepestScope)
	}
	for !c.accept("}") {
		switch d := c.next(); {
		case d == "{":
			k.body(c, s.inner(), depth+1)
		case d == ";":
		case d == ".reg":
			k.register(c, s)
		case d == ".local":
			k.Locals = append(k.Locals, c.variable(s, "local"))
			c.expect(";")
		case d == ".shared":
			c.variable(s, "shared")
			c.expect(";")
		case d == ".pragma":
			c.next()
			c.expect(";")
		case c.accept(":"):
			if _, twice := k.Labels[d]; twice {
				Refuse(c.line, "label %s is there twice", d)
			}
			k.Labels[d] = len(k.Code)
		default:
			c.at--
			if k.Code = append(k.Code, c.statement(s)); len(k.Code) > mostCode {
				Refuse(c.line, "%s has more than %d instructions", k.Name, mostCode)
			}
		}
	}
}

// register reads declarations of registers: %name, or %name<3> for %name0 to %name2.
func (k *Kernel) register(c *cursor, s *Scope) {
	kind := c.next()
	width := int(sizes[kind]) * 8
	if kind == ".pred" {
		width = 1
	} else if width == 0 {
		Refuse(c.line, "registers of the unknown type %q", kind)
	}
	declare := func(name string) {
		s.Registers[name] = len(k.Registers)
		if k.Registers = append(k.Registers, width); len(k.Registers) > MostRegisters {
			Refuse(c.line, "%s has more than %d registers", k.Name, MostRegisters)
		}
	}
	for ends := false; !ends; ends = c.ends(";") {
		name := c.name()
		if !c.accept("<") {
			declare(name)
			continue
		}
		for i := range c.count(0, MostRegisters) {
			declare(name + strconv.FormatInt(i, 10))
		}
		c.expect(">")
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
	for ends := c.accept(";"); !ends; ends = c.ends(";") {
		in.Args = append(in.Args, c.operand())
	}
	return in
}

func (c *cursor) operand() (o Operand) {
	switch {
	case c.accept("!"):
		o.Negated, o.Text = true, c.name()
	case c.accept("{"):
		for ends := false; !ends; ends = c.ends("}") {
			o.Vector = append(o.Vector, c.value())
		}
	case c.accept("["):
		o.Memory, o.Text = true, c.value()
		for !c.accept("]") {
			c.expect("+")
			o.Offset += c.count(-farthest, farthest)
		}
	default:
		o.Text = c.value()
	}
	return o
}
