package queries

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/traces/npy"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// VectorFile reads embeddings row by row from a file with nothing else: a NumPy array (.npy,
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html) or fvecs (http://corpus-texmex.irisa.fr),
// compressed or not, which it recognises by its content.
type VectorFile struct {
	in       *source.File
	src      *source.Source
	dim      int
	fvecs    bool // each row begins with its length
	width    int  // bytes of a number: 2, 4 or 8
	rows     int64
	row      int64  // the next row to read, from 0
	rowBytes int    // of a row in the file
	batch    []byte // rows at hand
}

// vectorEndings are the endings of file names that OpenVectors reads, without the ending of a compression.
var vectorEndings = []string{".npy", ".fvecs"}

// isVectorFile reports whether a file holds embeddings, by its name: .npy or .fvecs, possibly compressed.
func isVectorFile(path string) bool {
	return slices.Contains(vectorEndings, filepath.Ext(source.StrippedName(path)))
}

// MaxDim is the largest number of dimensions of an embedding. A file that claims more is something else.
const MaxDim = 1 << 16

// unknownRows is the number of rows if the file does not state it.
const unknownRows = -1

// OpenVectors opens a file of embeddings; "-" is stdin, or the process's if that is nil. The error names the file and
// says what is wrong with it; ctx ends waiting for a pipe.
func OpenVectors(ctx context.Context, path string, stdin io.Reader) (*VectorFile, error) {
	in, err := source.OpenFile(ctx, path, stdin)
	if err != nil {
		return nil, err
	}
	v, err := newVectorFile(in)
	if err != nil {
		in.Close()
		return nil, err
	}
	return v, nil
}

func newVectorFile(in *source.File) (*VectorFile, error) {
	src, err := source.New(in, in.Label, in.Path, in)
	if err != nil {
		return nil, err
	}
	v := &VectorFile{in: in, src: src}
	head, err := src.Peek(len(npy.Magic))
	if err != nil && err != io.EOF {
		return nil, err
	}
	if string(head) == npy.Magic {
		err = v.beginNpy()
	} else {
		err = v.beginFvecs(head)
	}
	return v, err
}

func (v *VectorFile) Dim() int       { return v.dim }
func (v *VectorFile) String() string { return v.src.Place }
func (v *VectorFile) Close() error   { return v.in.Close() }

// Read fills vector, of length Dim, and returns io.EOF after the last row. Other errors say which file is wrong, where
// and how. If the file changed meanwhile, that explains any error, and is an error at the end, too.
func (v *VectorFile) Read(vector []float32) error {
	err := v.read(vector)
	if err == nil {
		return nil
	}
	return cmp.Or(v.in.Opened.Check(), err)
}

func (v *VectorFile) read(vector []float32) error {
	if v.row == v.rows {
		return v.end()
	}
	if len(v.batch) == 0 {
		if err := v.fill(); err != nil {
			return err
		}
	}
	row := v.batch[:v.rowBytes]
	v.batch = v.batch[v.rowBytes:]
	if err := v.decode(row, vector); err != nil {
		return v.src.Errorf("row %d, counted from 0: %w", v.row, err)
	}
	v.row++
	return nil
}

func (v *VectorFile) fill() (err error) {
	v.batch, err = v.src.Records(v.rowBytes)
	if err == io.EOF && v.rows != unknownRows {
		return v.src.Errorf("the file is cut off: its header states %d rows, but it has %d", v.rows, v.row)
	}
	return err
}

// numRows says how many rows the file has, which are more than limit: as its header states, or that there are more.
func (v *VectorFile) numRows(limit int) string {
	if v.rows == unknownRows {
		return fmt.Sprintf("more than %d", limit)
	}
	return strconv.FormatInt(v.rows, 10)
}

// end makes sure that nothing follows the last row.
func (v *VectorFile) end() error {
	if len(v.batch) == 0 {
		if _, err := v.src.Peek(1); err != nil {
			return err // io.EOF at the end
		}
	}
	return v.src.Errorf("bytes follow the %d rows of %d numbers that its header states", v.rows, v.dim)
}

// decode reads the numbers of a row and checks that they have a direction.
func (v *VectorFile) decode(row []byte, vector []float32) error {
	if v.fvecs {
		if length := int32(binary.LittleEndian.Uint32(row)); int(length) != v.dim {
			return lengthError(int(length), v.dim)
		}
		row = row[4:]
	}
	for i := range vector {
		switch number := row[i*v.width:]; v.width {
		case 2:
			vector[i] = npy.Half(binary.LittleEndian.Uint16(number))
		case 4:
			vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(number))
		default:
			x, err := Narrowed(math.Float64frombits(binary.LittleEndian.Uint64(number)))
			if err != nil {
				return err
			}
			vector[i] = x
		}
	}
	return checkVector(vector)
}

// Narrowed returns x as float32. A finite number that does not fit is an error.
func Narrowed(x float64) (float32, error) {
	narrow := float32(x)
	if math.IsInf(float64(narrow), 0) && !math.IsInf(x, 0) {
		return 0, fmt.Errorf("the number %v: want numbers within the range of float32", x)
	}
	return narrow, nil
}

// beginFvecs takes the length of the first row for the length of all.
func (v *VectorFile) beginFvecs(head []byte) error {
	const lengthBytes = 4
	if len(head) < lengthBytes {
		return v.src.Errorf("holds %d bytes: want embeddings as .npy or .fvecs", len(head))
	}
	length := binary.LittleEndian.Uint32(head)
	if length == 0 || length > MaxDim {
		return v.src.Errorf("begins with %.8q: want embeddings as .npy, which begins with %q, or as .fvecs, which begins "+
			"with a length from 1 to %d as int32", head, npy.Magic, MaxDim)
	}
	v.fvecs, v.width, v.dim, v.rows, v.rowBytes = true, 4, int(length), unknownRows, lengthBytes+4*int(length)
	return nil
}

// beginNpy reads the header of a NumPy array.
func (v *VectorFile) beginNpy() error {
	header, err := npy.Read(v.src)
	if err != nil {
		return err
	}
	if err := v.setNpyShape(header); err != nil {
		return v.src.Errorf("%w", err)
	}
	v.rowBytes = v.width * v.dim
	if size := v.src.Size(); size > 0 && size-v.src.Offset() != v.rows*int64(v.rowBytes) {
		return v.src.Errorf("its header states %d rows of %d numbers, %d bytes, but %d bytes follow: the file is "+
			"cut off or damaged", v.rows, v.dim, v.rows*int64(v.rowBytes), size-v.src.Offset())
	}
	return nil
}

// setNpyShape takes the number of rows and their length from a header.
func (v *VectorFile) setNpyShape(header npy.Header) error {
	lengths := header.Lengths()
	if len(lengths) != 2 {
		return fmt.Errorf("a NumPy array of the shape (%s): want two dimensions, (requests, numbers of an embedding)",
			header.Shape)
	}
	rows, err := strconv.ParseInt(lengths[0], 10, 64)
	if err != nil || rows > stream.MaxCount {
		return fmt.Errorf("a NumPy array of %s rows: want at most %d", lengths[0], stream.MaxCount)
	}
	dim, err := strconv.Atoi(lengths[1])
	if err != nil || dim == 0 || dim > MaxDim {
		return fmt.Errorf("a NumPy array with %s numbers in a row: want embeddings of 1 to %d numbers", lengths[1], MaxDim)
	}
	v.width, v.rows, v.dim = header.Width, rows, dim
	return nil
}
