package attention

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/cachesim/cachesim/internal/traces/npy"
)

// numbers is a type of little-endian floating-point numbers.
type numbers int

const (
	float16s numbers = iota
	bfloat16s
	float32s
	float64s
)

func (n numbers) width() int { return [...]int{2, 2, 4, 8}[n] }

// halves has the value of every float16: looking it up is faster than computing it.
var halves = func() (table [1 << 16]float32) {
	for bits := range table {
		table[bits] = npy.Half(uint16(bits))
	}
	return table
}()

// decode reads the numbers of a row. It reports whether all of them are finite, and whether any is not 0.
func (n numbers) decode(row []float32, raw []byte) (finite, any bool) {
	switch n {
	case float16s:
		return decodeHalves(row, raw)
	case bfloat16s:
		for i := range row {
			row[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw[2*i:])) << 16)
		}
	case float32s:
		for i := range row {
			row[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	case float64s:
		for i := range row {
			row[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:])))
		}
	}
	const magnitude, infinity = 1<<31 - 1, 0x7f800000
	finite = true
	for _, x := range row {
		bits := math.Float32bits(x) & magnitude
		finite = finite && bits < infinity
		any = any || bits != 0
	}
	return finite, any
}

func decodeHalves(row []float32, raw []byte) (finite, any bool) {
	const magnitude, infinity = 1<<15 - 1, 0x7c00
	var all, largest uint16
	raw = raw[:2*len(row)]
	for i := range row {
		bits := binary.LittleEndian.Uint16(raw[2*i:])
		row[i] = halves[bits]
		all |= bits
		largest = max(largest, bits&magnitude)
	}
	return largest < infinity, all&magnitude != 0
}

// appendHalves appends numbers as float16. A number that is too large for that is an error.
func appendHalves(to []byte, row []float32) ([]byte, error) {
	for _, x := range row {
		half := npy.ToHalf(x)
		if half&0x7c00 == 0x7c00 {
			return nil, fmt.Errorf("the number %v: want numbers within the range of float16, up to 65504", x)
		}
		to = binary.LittleEndian.AppendUint16(to, half)
	}
	return to, nil
}

// Round rounds numbers to those that a file of float16 holds.
func Round(row []float32) {
	for i, x := range row {
		row[i] = npy.Half(npy.ToHalf(x))
	}
}

type rowReader struct {
	numbers
	dim    int
	buffer []byte
}

const readBytes = 256 << 10 // at once

// read appends n rows of r to rows. Those of zeros are errors if they are to have a direction. Errors of r except its
// end are returned unchanged; all others come from fail, which names the row. Memory grows as the file is read,
// whatever a header claims.
func (d *rowReader) read(r io.Reader, rows []float32, n int, directed bool,
	fail func(row int, what string) error) ([]float32, error) {
	rowBytes := d.dim * d.width()
	if d.buffer == nil {
		d.buffer = make([]byte, max(rowBytes, readBytes-readBytes%rowBytes))
	}
	need := len(rows) + n*d.dim
	for row := 0; row < n; {
		chunk := d.buffer[:min(len(d.buffer), (n-row)*rowBytes)]
		got, err := io.ReadFull(r, chunk)
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return nil, fail(row+got/rowBytes, "the file is cut off here")
		case err != nil:
			return nil, err
		}
		rows = room(rows, len(chunk)/d.width(), need)
		for ; len(chunk) > 0; chunk = chunk[rowBytes:] {
			at := len(rows)
			rows = rows[:at+d.dim]
			if what := d.check(rows[at:], chunk, directed); what != "" {
				return nil, fail(row, what)
			}
			row++
		}
	}
	return rows, nil
}

// check reads a row and says what is wrong with it, "" if nothing is.
func (d *rowReader) check(row []float32, raw []byte, directed bool) string {
	switch finite, any := d.decode(row, raw); {
	case !finite:
		return "a number that is not finite: want finite numbers"
	case directed && !any:
		return "all numbers are 0: want a vector with a direction; was it recorded?"
	}
	return ""
}

// room returns rows with room for more numbers; need is how many there will be in the end.
func room(rows []float32, more, need int) []float32 {
	if cap(rows)-len(rows) >= more {
		return rows
	}
	larger := make([]float32, len(rows), min(need, max(2*cap(rows), len(rows)+more)))
	copy(larger, rows)
	return larger
}
