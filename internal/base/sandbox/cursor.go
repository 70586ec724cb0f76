package sandbox

import "fmt"

// cursor reads the binary format of WebAssembly. After the first error it is at its end, and reads zeros.
type cursor struct {
	data []byte
	at   int
	what string // what data is, for errors
	err  error
}

func (c *cursor) more() bool { return c.at < len(c.data) }

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
	c.at = len(c.data)
}

// bytes returns the next n bytes.
func (c *cursor) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(c.data)-c.at) {
		c.fail("%s ends too early", c.what)
		return nil
	}
	c.at += int(n)
	return c.data[c.at-int(n) : c.at]
}

func (c *cursor) byte() byte {
	if b := c.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// skip reads a number of at most so many bytes whose value makes no difference.
func (c *cursor) skip(most int) {
	for range most {
		if c.byte() < 0x80 {
			return
		}
	}
	c.fail("%s has a number that is too long", c.what)
}

// number reads a number without a sign.
func (c *cursor) number() (n uint32) {
	for shift := 0; shift < 35; shift += 7 {
		b := c.byte()
		if shift == 28 && b > 0x0f {
			break
		}
		n |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	c.fail("%s has a number that is too long", c.what)
	return 0
}

func (c *cursor) text() string { return string(c.bytes(c.number())) }

// each calls a function as often as the next number says, as long as there is something to read.
func (c *cursor) each(do func()) {
	for n := c.number(); n > 0; n-- {
		if !c.more() {
			c.fail("%s ends too early", c.what)
			return
		}
		do()
	}
}

// appendNumber appends a number without a sign.
func appendNumber(out []byte, n uint32) []byte {
	for n >= 0x80 {
		out = append(out, byte(n)|0x80)
		n >>= 7
	}
	return append(out, byte(n))
}

// appendSigned appends a number with a sign.
func appendSigned(out []byte, n int64) []byte {
	for n < -64 || n > 63 {
		out = append(out, byte(n)|0x80)
		n >>= 7
	}
	return append(out, byte(n)&0x7f)
}

func appendText(out []byte, text string) []byte {
	return append(appendNumber(out, uint32(len(text))), text...)
}

// appendSection appends a section, if it has any contents.
func appendSection(out []byte, id byte, contents []byte) []byte {
	if len(contents) == 0 {
		return out
	}
	out = appendNumber(append(out, id), uint32(len(contents)))
	return append(out, contents...)
}
