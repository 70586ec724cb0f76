package sandbox

// Instructions that are treated apart. Those behind the prefix have 0xfc00 added.
const (
	opLoop         = 0x03
	opIf           = 0x04
	opEnd          = 0x0b
	opCall         = 0x10
	opCallIndirect = 0x11
	opLocalGet     = 0x20
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF64Const     = 0x44
	opI32Eq        = 0x46
	opI64LessThan  = 0x53
	opI64Extend    = 0xad // i64.extend_i32_u
	opI32GreaterU  = 0x4b
	opI32Add       = 0x6a
	opI32Sub       = 0x6b
	opI64Sub       = 0x7d
	opI64ShiftU    = 0x88
	opUnreachable  = 0x00
	opPrefix       = 0xfc
	opMemoryInit   = 0xfc08
	opMemoryCopy   = 0xfc0a
	opMemoryFill   = 0xfc0b
	noValue        = 0x40 // the type of a block without one
)

// instruction reads one, and returns its number, and that of the local, global or function that it names.
func (c *cursor) instruction() (op uint32, named uint32) {
	op = uint32(c.byte())
	switch {
	case op == 0x02 || op == opLoop || op == opIf:
		c.skip(5) // the type of the block
	case op == 0x0c || op == 0x0d || op >= 0x20 && op <= 0x24 || op == opCall || op == 0xd2:
		named = c.number()
	case op == 0x0e:
		c.each(func() { c.skip(5) })
		c.skip(5)
	case op == opCallIndirect:
		c.skip(5)
		c.skip(5)
	case op == 0x1c:
		c.each(func() { c.byte() })
	case op >= 0x28 && op <= 0x3e:
		if c.number() >= 32 { // the alignment
			c.fail("its code uses several memories; turn off the newer features of the compiler")
		}
		c.skip(5)
	case op == 0x3f || op == opMemoryGrow || op == 0xd0:
		c.byte()
	case op == opI32Const:
		c.skip(5)
	case op == opI64Const:
		c.skip(10)
	case op == 0x43:
		c.bytes(4)
	case op == opF64Const:
		c.bytes(8)
	case op == opPrefix:
		op = opPrefix<<8 + c.number()
		c.prefixed(op)
	case op <= 0x01 || op == 0x05 || op == opEnd || op == 0x0f || op == 0x1a || op == 0x1b || op >= 0x45 && op <= 0xc4 ||
		op == 0xd1:
	case op == 0xfd:
		c.fail("its code has instructions of SIMD; turn them off in the compiler")
	case op == 0xfe:
		c.fail("its code has instructions of threads; turn them off in the compiler")
	default:
		c.fail("its code has instruction %#x, which is none of WebAssembly 2.0 that a module may have; turn off the newer "+
			"features of the compiler", op)
	}
	return op, named
}

// prefixed reads what follows an instruction behind the prefix.
func (c *cursor) prefixed(op uint32) {
	switch {
	case op >= opPrefix<<8+0 && op <= opPrefix<<8+7: // conversions
	case op == opMemoryInit:
		c.skip(5)
		c.byte()
	case op == opPrefix<<8+9: // data.drop
		c.skip(5)
	case op == opMemoryCopy:
		c.bytes(2)
	case op == opMemoryFill:
		c.byte()
	default:
		c.fail("its code changes tables (instruction %#x), which a module may not", op)
	}
}
