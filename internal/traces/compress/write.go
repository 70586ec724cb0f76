package compress

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
)

// compressors maps the endings of compressed files to their encoders.
var compressors = map[string]func(w io.Writer) (io.WriteCloser, error){
	".gz":  func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
	".zst": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
	".xz":  func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) },
	".s2":  func(w io.Writer) (io.WriteCloser, error) { return s2.NewWriter(w), nil },
	".sz":  func(w io.Writer) (io.WriteCloser, error) { return s2.NewWriter(w, s2.WriterSnappyCompat()), nil },
	".lz4": func(w io.Writer) (io.WriteCloser, error) { return lz4.NewWriter(w), nil },
}

// ChooseCompressor returns the encoder for the ending of a path, one that copies if the ending names no compression. An
// ending that readers of the file would take for a compression that cannot be written is an error.
func ChooseCompressor(path string) (func(io.Writer) (io.WriteCloser, error), error) {
	ending := strings.ToLower(filepath.Ext(path))
	if compress := compressors[ending]; compress != nil {
		return compress, nil
	}
	switch ending {
	case ".bz2", ".zstd", ".snappy", ".tar", ".zip":
		return nil, fmt.Errorf("%s: cannot write %s: use one of .gz, .zst, .xz, .s2, .sz, .lz4, or no compression",
			path, ending)
	}
	return func(w io.Writer) (io.WriteCloser, error) { return uncompressed{w}, nil }, nil
}

// Write calls write with an encoder for the ending of a path, whose output goes to w.
func Write(w io.Writer, path string, write func(io.Writer) error) error {
	compress, err := ChooseCompressor(path)
	if err != nil {
		return err
	}
	buffer := bufio.NewWriterSize(w, 1<<18)
	compressed, err := compress(buffer)
	if err != nil {
		return err
	}
	if err := write(compressed); err != nil {
		return err
	}
	return cmp.Or(compressed.Close(), buffer.Flush())
}

type uncompressed struct{ io.Writer }

func (uncompressed) Close() error { return nil }
