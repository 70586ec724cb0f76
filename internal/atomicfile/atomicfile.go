// Package atomicfile writes output files that appear under their name only when they are complete: an error, a full disk or
// an interruption leaves what was there before. It wraps renameio with errors that name the output and say what to do.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// File is an output that is being written. It ends with Commit or Abort.
type File struct {
	path    string // as the user gave it, for errors
	out     *os.File
	pending *renameio.PendingFile // nil where out is a device or a pipe, which cannot be replaced
	ended   bool
}

// Create starts a new file that will stand at path, in place of a file that is there already; its folder must exist.
// Until Commit the bytes are in a hidden file in the same folder. A device or a named pipe at path is written directly,
// and a symbolic link keeps standing: the file it points to is replaced.
func Create(path string) (*File, error) {
	target := path
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		target = resolved
	}
	info, err := os.Stat(target)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("cannot write %s: it is a folder, want the name of a file", path)
	case err == nil && !info.Mode().IsRegular():
		out, err := os.OpenFile(target, os.O_WRONLY, 0)
		if err != nil {
			return nil, writeError(path, err)
		}
		return &File{path: path, out: out}, nil
	}
	pending, err := renameio.NewPendingFile(target, renameio.WithTempDir(filepath.Dir(target)),
		renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
	if err != nil {
		return nil, createError(path, err)
	}
	return &File{path: path, out: pending.File, pending: pending}, nil
}

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.out.Write(p)
	return n, writeError(f.path, err)
}

// Commit flushes the file to the disk and puts it under its name. After an error nothing is left behind.
func (f *File) Commit() error {
	if f.ended {
		return nil
	}
	f.ended = true
	if f.pending == nil {
		return writeError(f.path, f.out.Close())
	}
	err := f.pending.CloseAtomicallyReplace()
	if err != nil {
		f.pending.Cleanup()
	}
	return writeError(f.path, err)
}

// Abort drops what was written. After Commit it does nothing, so that it can be deferred.
func (f *File) Abort() {
	if f.ended {
		return
	}
	f.ended = true
	if f.pending == nil {
		f.out.Close()
		return
	}
	f.pending.Cleanup()
}

// Write creates the file at path with what write writes, through a buffer, or changes nothing.
func Write(path string, write func(io.Writer) error) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	buffer := bufio.NewWriter(f)
	if err := write(buffer); err != nil {
		return err
	}
	if err := buffer.Flush(); err != nil {
		return err
	}
	return f.Commit()
}

// WriteNew creates the file at path with a content, unless there is one already: then the error is fs.ErrExist. Of several programs that do so
// at a time, on machines that share the folder too, one succeeds. It does not wait for the disk, so a power failure may leave the file empty.
func WriteNew(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return createError(path, err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return writeError(path, err)
	}
	err = os.Link(f.Name(), path)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fs.ErrExist
	case err != nil: // a file system without links
		return renameNew(f.Name(), path)
	}
	return nil
}

// renameNew puts a file under a name that is free; between the look and the renaming another program may take it.
func renameNew(from, path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	return writeError(path, os.Rename(from, path))
}

// MakeFolder creates the folder dir, and those above it, unless it exists.
func MakeFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("cannot write to %s: it is a file, want a folder", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot create the folder %s: %w", dir, cause(err))
	}
	return nil
}

// createError explains why no file can be created at path.
func createError(path string, err error) error {
	dir := filepath.Dir(path)
	info, statErr := os.Stat(dir)
	switch {
	case errors.Is(statErr, fs.ErrNotExist):
		return fmt.Errorf("cannot write %s: the folder %s does not exist; create it first", path, dir)
	case statErr == nil && !info.IsDir():
		return fmt.Errorf("cannot write %s: %s is a file, want a folder", path, dir)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("cannot write %s: no permission to create files in %s", path, dir)
	}
	return writeError(path, err)
}

// writeError names the output instead of the hidden file; nil stays nil.
func writeError(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot write %s: %w", path, cause(err))
}

// cause strips the name of the hidden file from err.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	var linkErr *os.LinkError
	if errors.As(err, &linkErr) {
		return linkErr.Err
	}
	return err
}
