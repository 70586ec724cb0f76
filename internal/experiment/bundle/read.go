package bundle

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
)

// What an archive may have at most, so that a small file cannot fill the memory.
const (
	mostBytes = 256 << 20 // unpacked
	mostFiles = 10_000
	mostIndex = 4 << 20 // bytes
)

// Read reads an archive that Write wrote, and checks every file of it against its index. Errors begin with the name.
func Read(name string, from io.Reader) (*Bundle, error) {
	b, err := read(from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

func read(from io.Reader) (*Bundle, error) {
	packed, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(windowBytes))
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	unpacked := &limited{from: packed, left: mostBytes}
	archive := tar.NewReader(unpacked)
	b := &Bundle{files: map[string][]byte{}}
	listed := map[string]File{}
	for first := true; ; first = false {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, explained(err)
		}
		if err := b.checkMember(header, first, listed); err != nil {
			return nil, err
		}
		content, err := io.ReadAll(io.LimitReader(archive, header.Size))
		if err != nil {
			return nil, explained(err)
		}
		if first {
			if err := b.readIndex(content, listed); err != nil {
				return nil, err
			}
			continue
		}
		if want := listed[header.Name]; digest(content) != want.SHA256 {
			return nil, fmt.Errorf("%s: its checksum is sha256:%s, and the bundle lists sha256:%s; the file was changed",
				header.Name, digest(content), want.SHA256)
		}
		b.files[header.Name] = content
	}
	if err := onlyZeros(unpacked); err != nil { // what follows the last file
		return nil, err
	}
	return b, b.check()
}

// onlyZeros refuses what is behind the end of an archive, unless it fills a block.
func onlyZeros(rest io.Reader) error {
	buffer := make([]byte, 32<<10)
	for {
		n, err := rest.Read(buffer)
		if bytes.ContainsFunc(buffer[:n], func(r rune) bool { return r != 0 }) {
			return errors.New("goes on behind the end of its archive; something was appended")
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return explained(err)
		}
	}
}

// checkMember refuses what Write does not write, before it is read.
func (b *Bundle) checkMember(header *tar.Header, first bool, listed map[string]File) error {
	name := show.Printable(header.Name)
	switch {
	case first && header.Name != indexName:
		return fmt.Errorf("is no bundle: it begins with %.80q, want %s; cachesim reproduce --bundle writes one", name,
			indexName)
	case header.Typeflag != tar.TypeReg:
		return fmt.Errorf("%.80q is no regular file; a bundle has no folders and links", name)
	case !first && !isMember(header.Name):
		return fmt.Errorf("%.80q is no name of a file in a bundle: want %s/ or %s/ and a path below", name, FormsDir,
			recordsDir)
	case !first && listed[header.Name].Name == "":
		return fmt.Errorf("%.80q is not among the files that the bundle lists", name)
	case b.files[header.Name] != nil:
		return fmt.Errorf("%.80q is there twice", name)
	case first && header.Size > mostIndex:
		return fmt.Errorf("%s has %d bytes; at most %d are read", indexName, header.Size, mostIndex)
	case !first && header.Size != listed[header.Name].Size:
		return fmt.Errorf("%.80q has %d bytes, and the bundle lists %d; the file was changed", name, header.Size,
			listed[header.Name].Size)
	}
	return nil
}

// isMember reports whether a name is that of a file in one of the folders of a bundle, and leads nowhere else.
func isMember(name string) bool {
	folder, _, _ := strings.Cut(name, "/")
	return slices.Contains([]string{FormsDir, recordsDir}, folder) && path.Clean(name) == name &&
		filepath.IsLocal(filepath.FromSlash(name)) && !strings.ContainsAny(name, "\\:\x00") && name != folder
}

func (b *Bundle) readIndex(content []byte, listed map[string]File) error {
	if err := json.Unmarshal(content, &b.Index); err != nil {
		return fmt.Errorf("%s: %w", indexName, err)
	}
	if b.Form != form {
		return fmt.Errorf("is a bundle of form %d, and this program reads %d; use the version that wrote it, %.40q", b.Form,
			form, b.Program)
	}
	if len(b.Files) > mostFiles {
		return fmt.Errorf("%s lists %d files; a bundle has at most %d", indexName, len(b.Files), mostFiles)
	}
	left := int64(mostBytes)
	for _, file := range b.Files {
		if listed[file.Name] = file; file.Size < 0 || file.Size > left {
			return errLarge
		}
		left -= file.Size
	}
	return nil
}

// check makes sure that nothing is missing.
func (b *Bundle) check() error {
	if b.Form == 0 {
		return errors.New("is an empty archive, and no bundle")
	}
	for _, file := range b.Files {
		if b.files[file.Name] == nil {
			return fmt.Errorf("lists %.80q and does not have it; it is cut off", file.Name)
		}
	}
	for _, e := range b.Experiments {
		if b.files[e.Form] == nil || b.files[e.Records] == nil {
			return fmt.Errorf("has no file or no records of the experiment %.80q", e.Name)
		}
	}
	if len(b.Experiments) == 0 {
		return errors.New("has no experiment")
	}
	return nil
}

// Records returns those of an experiment.
func (b *Bundle) Records(e Experiment) ([]records.Record, error) {
	return records.ReadFrom(e.Records, bytes.NewReader(b.files[e.Records]))
}

// Unpack writes all files but the index below a folder.
func (b *Bundle) Unpack(folder string) error {
	for name, content := range b.files {
		place := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(place, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// limited reads up to a number of bytes, and fails if there are more.
type limited struct {
	from io.Reader
	left int
}

var errLarge = fmt.Errorf("has more than %d MiB unpacked, which is no bundle", mostBytes>>20)

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.from.Read(p[:min(len(p), l.left+1)])
	if n > l.left {
		return 0, errLarge
	}
	l.left -= n
	return n, err
}

// explained says what an error of the archive means.
func explained(err error) error {
	switch {
	case errors.Is(err, errLarge):
		return errLarge
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("is cut off; copy it again")
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return fmt.Errorf("was compressed for readers with more memory; want windows of at most %d MiB", windowBytes>>20)
	}
	return fmt.Errorf("is damaged, or no archive of tar and zstd: %w", err)
}
