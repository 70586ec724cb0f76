package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Numbers of sections in the binary format.
const (
	typeSection      = 1
	importSection    = 2
	functionSection  = 3
	tableSection     = 4
	memorySection    = 5
	globalSection    = 6
	exportSection    = 7
	startSection     = 8
	elementSection   = 9
	codeSection      = 10
	dataSection      = 11
	dataCountSection = 12
)

var sectionNames = [...]string{"", "type", "import", "function", "table", "memory", "global", "export", "start",
	"element", "code", "data", "data count"}

// sectionOrder is the order of sections in a module.
var sectionOrder = []byte{typeSection, importSection, functionSection, tableSection, memorySection, globalSection,
	exportSection, startSection, elementSection, dataCountSection, codeSection, dataSection}

const (
	pageSize   = 1 << 16
	mostTable  = 10_000 // entries of all tables
	mostLocals = 10_000 // of a function: with mostCalls they bound the stack
)

// vector is a section that begins with the number of its entries.
type vector struct {
	count   uint32
	entries []byte
}

// module is a module of which the sections have been read.
type module struct {
	sections  [len(sectionNames)][]byte // contents, nil if absent
	types     vector
	functions vector
	globals   vector
	exports   vector
	memory    struct{ least, most uint32 } // pages
	hasMemory bool

	signatures []Signature          // of types
	kinds      []uint32             // types of functions
	exported   map[string]Signature // functions by name
	calls      map[string]uint32    // their numbers
	names      []string             // of all exports
}

var header = []byte("\x00asm\x01\x00\x00\x00")

// readModule reads the sections of a module, apart from its code, and refuses what a module in the sandbox must not
// have.
func readModule(code []byte) (*module, error) {
	if !bytes.HasPrefix(code, header[:4]) {
		return nil, errors.New("it is no WebAssembly module: those begin with \\0asm; want what a compiler writes, as " +
			"clang --target=wasm32 does")
	}
	if !bytes.HasPrefix(code, header) {
		return nil, errors.New("it is no module of version 1 of WebAssembly; want a core module, not a component")
	}
	m := &module{exported: map[string]Signature{}, calls: map[string]uint32{}}
	c := &cursor{data: code, at: len(header), what: "the file"}
	last := byte(0)
	for c.more() {
		id := c.byte()
		contents := c.bytes(c.number())
		switch {
		case c.err != nil:
			return nil, fmt.Errorf("%w, as if it were cut off; build or copy it again", c.err)
		case id == 0: // notes for other programs, behind a name
			if name := (&cursor{data: contents}); !utf8.ValidString(name.text()) || name.err != nil {
				return nil, errors.New("it has a section of notes without a name")
			}
		case int(id) >= len(sectionNames):
			return nil, fmt.Errorf("it has a section of kind %d, of which WebAssembly 2.0 has none; turn off the newer "+
				"features of the compiler", id)
		case slices.Index(sectionOrder, id) <= slices.Index(sectionOrder, last):
			return nil, fmt.Errorf("it has a %s section behind the %s section; want it once, and before that", sectionNames[id],
				sectionNames[last])
		default:
			m.sections[id], last = contents, id
		}
	}
	return m, m.read()
}

// read reads the sections, apart from code: the interpreter makes room for as many entries as they say that they have.
func (m *module) read() error {
	for _, s := range []struct {
		id   int
		read func(*cursor)
	}{{importSection, readImports}, {tableSection, readTables}, {memorySection, m.readMemory},
		{startSection, readNumber}, {dataCountSection, readNumber}, {elementSection, readElements},
		{dataSection, readData}} {
		if err := m.readSection(s.id, s.read); err != nil {
			return err
		}
	}
	for _, v := range []struct {
		id   int
		to   *vector
		read func(*cursor)
	}{{typeSection, &m.types, m.readType}, {functionSection, &m.functions, m.readFunction},
		{globalSection, &m.globals, readGlobal}, {exportSection, &m.exports, m.readExport}} {
		err := m.readSection(v.id, func(c *cursor) {
			c.each(func() { v.to.count++; v.read(c) })
		})
		if err != nil {
			return err
		}
		first := &cursor{data: m.sections[v.id]}
		first.number()
		v.to.entries = slices.Clip(m.sections[v.id][first.at:])
	}
	return nil
}

// readSection reads a section, which must not have more than what a function reads.
func (m *module) readSection(id int, read func(*cursor)) error {
	if m.sections[id] == nil {
		return nil
	}
	c := &cursor{data: m.sections[id], what: "its " + sectionNames[id] + " section"}
	read(c)
	if c.more() {
		c.fail("%s is longer than its contents", c.what)
	}
	return c.err
}

func readImports(c *cursor) {
	if c.number() > 0 {
		from, name := c.text(), c.text()
		if c.err == nil {
			c.fail("it imports %s of %s; want no imports: a module has neither files nor clock, network or output", name, from)
		}
	}
}

// The types of values, and those of them that functions of Function may have.
var (
	valueNames = map[byte]string{0x7f: "i32", 0x7e: "i64", 0x7d: "f32", 0x7c: "f64", 0x70: "funcref", 0x6f: "externref"}
	valueBytes = map[string]byte{"i32": 0x7f, "i64": 0x7e, "f64": 0x7c}
)

func (m *module) readType(c *cursor) {
	if form := c.byte(); form != 0x60 {
		c.fail("it has a type of form %#x, of which WebAssembly 2.0 has none; turn off the newer features of the compiler",
			form)
	}
	var s Signature
	for _, to := range []*[]string{&s.Parameters, &s.Results} {
		c.each(func() {
			value := c.byte()
			if valueNames[value] == "" {
				c.fail("it has values of type %#x, of which WebAssembly 2.0 has none; turn off the newer features of the "+
					"compiler", value)
			}
			*to = append(*to, valueNames[value])
		})
	}
	m.signatures = append(m.signatures, s)
}

func (m *module) readFunction(c *cursor) {
	kind := c.number()
	if int(kind) >= len(m.signatures) {
		c.fail("it has a function of type %d, and %d types", kind, len(m.signatures))
	}
	m.kinds = append(m.kinds, kind)
}

// readLimits reads the size of a table, or of a memory.
func readLimits(c *cursor) (least, most uint32) {
	switch flags := c.byte(); flags {
	case 0:
		return c.number(), 1<<32 - 1
	case 1:
		return c.number(), c.number()
	default:
		c.fail("it has a memory or table that is shared or of 64 bits; turn off threads and memory64 in the compiler")
		return 0, 0
	}
}

func readTables(c *cursor) {
	all := uint64(0)
	c.each(func() {
		if kind := c.byte(); kind != 0x70 && kind != 0x6f {
			c.fail("it has a table of type %#x; turn off the newer features of the compiler", kind)
		}
		least, _ := readLimits(c)
		all += uint64(least)
	})
	if all > mostTable {
		c.fail("its tables have %d entries; want at most %d", all, mostTable)
	}
}

func (m *module) readMemory(c *cursor) {
	n := c.number()
	if n > 1 {
		c.fail("it has %d memories, want at most 1", n)
	}
	if m.hasMemory = n == 1; m.hasMemory {
		m.memory.least, m.memory.most = readLimits(c)
	}
}

func readGlobal(c *cursor) {
	c.bytes(2) // type, and whether it changes
	readConstant(c)
}

// readConstant reads the instructions that compute a constant.
func readConstant(c *cursor) {
	for c.more() {
		if op, _ := c.instruction(); op == opEnd {
			return
		}
	}
}

func readNumber(c *cursor) { c.number() }

// The bits of the kind of an element segment.
const (
	isPassive     = 1 << iota // or declarative: it has no offset
	isExplicit                // it names its table; if it is passive, it is declarative
	isExpressions             // it has expressions instead of the numbers of functions
	segmentKinds
)

// readElements reads what is put into tables.
func readElements(c *cursor) {
	c.each(func() {
		kind := c.number()
		if kind >= segmentKinds {
			c.fail("it has elements of kind %d, of which WebAssembly 2.0 has none; turn off the newer features of the "+
				"compiler", kind)
		}
		if kind&isPassive == 0 {
			if kind&isExplicit != 0 {
				c.number()
			}
			readConstant(c)
		}
		if kind&(isPassive|isExplicit) != 0 {
			c.byte() // what the elements are
		}
		if kind&isExpressions != 0 {
			c.each(func() { readConstant(c) })
		} else {
			c.each(func() { c.number() })
		}
	})
}

// readData reads what is put into memory.
func readData(c *cursor) {
	c.each(func() {
		switch kind := c.number(); kind {
		case 0, 2:
			if kind == 2 {
				c.number() // of the memory
			}
			readConstant(c)
		case 1:
		default:
			c.fail("it has data of kind %d, of which WebAssembly 2.0 has none; turn off the newer features of the compiler",
				kind)
		}
		c.bytes(c.number())
	})
}

func (m *module) readExport(c *cursor) {
	name, kind, number := c.text(), c.byte(), c.number()
	if slices.Contains(m.names, name) {
		c.fail("it exports %s twice", name)
	}
	m.names = append(m.names, name)
	if kind != 0 || c.err != nil {
		return
	}
	if int(number) >= len(m.kinds) {
		c.fail("it exports %s as function %d, and has %d functions", name, number, len(m.kinds))
		return
	}
	m.exported[name] = m.signatures[m.kinds[number]]
	m.calls[name] = number
}
