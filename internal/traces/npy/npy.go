// Package npy reads and writes the headers of NumPy arrays
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html). The library sbinet/npyio reads whole arrays
// instead, into memory for as many rows as the header claims.
package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/source"
)

// Magic begins an array.
const Magic = "\x93NUMPY"

// Header describes an array of little-endian floating-point numbers, row by row.
type Header struct {
	Width int    // bytes of a number: 2, 4 or 8
	Shape string // as the file has it, "640, 9, 64"
}

// The header of an array of plain numbers: a Python dictionary with these three keys.
var (
	typeOf  = regexp.MustCompile(`['"]descr['"]\s*:\s*['"]([^'"]*)['"]`)
	orderOf = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)
	shapeOf = regexp.MustCompile(`['"]shape['"]\s*:\s*\(([0-9L,\s]*)\)`)
)

// widths are the supported types of numbers, and their bytes.
var widths = map[string]int{"<f2": 2, "<f4": 4, "<f8": 8}

// Read reads everything before the numbers. Its errors name the file.
func Read(src *source.Source) (Header, error) {
	const maxHeader = 1 << 16 // NumPy writes 118 bytes for an array of numbers
	start, err := read(src, len(Magic)+2)
	if err != nil {
		return Header{}, err
	}
	if string(start[:len(Magic)]) != Magic {
		return Header{}, src.Errorf("begins with %.8q: want a NumPy array, which begins with %q", start, Magic)
	}
	lengthBytes := 4
	switch version := start[len(Magic)]; version {
	case 1:
		lengthBytes = 2
	case 2, 3:
	default:
		return Header{}, src.Errorf("a NumPy array of version %d: want 1, 2 or 3", version)
	}
	field, err := read(src, lengthBytes)
	if err != nil {
		return Header{}, err
	}
	length := binary.LittleEndian.Uint32(append(field, 0, 0)[:4])
	if length > maxHeader {
		return Header{}, src.Errorf("a NumPy array with a header of %d bytes: want at most %d", length, maxHeader)
	}
	text, err := read(src, int(length))
	if err != nil {
		return Header{}, err
	}
	h, err := parse(string(text))
	if err != nil {
		return Header{}, src.Errorf("%w", err)
	}
	return h, nil
}

func read(src *source.Source, n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(src, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil, src.Errorf("the file is cut off within the header of a NumPy array")
	}
	return b, err
}

// parse takes the shape and the type of the numbers from the dictionary of a header.
func parse(text string) (Header, error) {
	shape, order := shapeOf.FindStringSubmatch(text), orderOf.FindStringSubmatch(text)
	if shape == nil || order == nil || !strings.Contains(text, "descr") {
		return Header{}, fmt.Errorf("a NumPy array with the header %.80q: want it to have descr, fortran_order and a shape "+
			"of whole numbers from 0", strings.TrimSpace(text))
	}
	const advice = "in Python: numpy.save(path, numpy.ascontiguousarray(x, dtype='<f4'))"
	kind := typeOf.FindStringSubmatch(text)
	if kind == nil {
		return Header{}, fmt.Errorf("a NumPy array of records: want one of numbers, float32 or float64; %s", advice)
	}
	width := widths[kind[1]]
	if width == 0 {
		return Header{}, fmt.Errorf(
			"a NumPy array of type %q: want little-endian floating-point numbers, '<f4', '<f8' or '<f2'; %s", kind[1], advice)
	}
	if order[1] == "True" {
		return Header{}, fmt.Errorf("a NumPy array in Fortran order, column by column: want it row by row; %s", advice)
	}
	return Header{Width: width, Shape: shape[1]}, nil
}

// Lengths returns the lengths of the dimensions, as the file writes them.
func (h Header) Lengths() []string {
	return strings.FieldsFunc(h.Shape, func(r rune) bool { return !('0' <= r && r <= '9') })
}

func (h Header) Dimensions() ([]int, error) {
	var lengths []int
	for _, text := range h.Lengths() {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("a NumPy array of the shape (%.80s): want lengths below 2^63", h.Shape)
		}
		lengths = append(lengths, n)
	}
	return lengths, nil
}

// Append appends the header of version 1.0 of an array of float32, which ends in spaces and a line break so that its
// length is a multiple of 64.
func Append(to []byte, rows int64, dim int) []byte {
	const magic, alignment = Magic + "\x01\x00", 64
	dictionary := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows, dim)
	length := len(magic) + 2 + len(dictionary) + 1
	dictionary += strings.Repeat(" ", (alignment-length%alignment)%alignment) + "\n"
	to = binary.LittleEndian.AppendUint16(append(to, magic...), uint16(len(dictionary)))
	return append(to, dictionary...)
}
