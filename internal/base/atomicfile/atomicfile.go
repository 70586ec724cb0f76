// Package atomicfile writes output files that appear under their name only when they are complete: an error, a full
// disk or an interruption leaves the previous file unchanged. A symbolic link at the file's path is replaced, never
// followed.
//
// The program writes all files with this package. A killed program leaves at most hidden files, which the next program
// that writes into the folder removes.
package atomicfile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/parallel"
)

// File is an output that is being written. It ends with Commit or Abort.
type File struct {
	path  string // as the user gave it, for errors
	out   *os.File
	temp  *temporary      // nil if out is a device or a pipe, which cannot be replaced
	ctx   context.Context // ends the wait for a pipe's reader; nil if there is nothing to wait for
	ended bool
}

// Create starts a new file at a path that the user has named; its folder must exist. Until Commit the bytes are in a
// hidden file in the same folder, which then takes the place of what is there. A device, a named pipe and an output of
// this process, such as /dev/stdout, are written directly; if nobody reads from a pipe, Create waits until ctx ends.
func Create(ctx context.Context, path string) (*File, error) {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() || info.Mode().IsRegular() && !isOpenFile(path) {
		return createRegular(path)
	}
	out, err := parallel.Await(ctx, func() (*os.File, error) {
		return os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, writeError(path, err)
	}
	return &File{path: path, out: out, ctx: ctx}, nil
}

// CreateIn starts a new file in an output folder. A file, device or pipe of that name is replaced and never opened.
func CreateIn(dir, name string) (*File, error) { return createRegular(filepath.Join(dir, name)) }

// isOpenFile reports whether path is a link of the system to a file that a process has open, as /dev/stdout is.
func isOpenFile(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return false
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	return err == nil && (dir == "/dev" || dir == "/dev/fd" || strings.HasPrefix(dir, "/proc/"))
}

func createRegular(path string) (*File, error) {
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("cannot write %s: it is a folder, want the name of a file", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, createError(path, err)
	}
	temp, err := newTemporary(filepath.Dir(path))
	if err != nil {
		return nil, createError(path, err)
	}
	// A file that is replaced keeps its permissions.
	if info != nil && info.Mode().IsRegular() {
		if err := temp.Chmod(info.Mode().Perm()); err != nil {
			temp.drop()
			return nil, writeError(path, err)
		}
	}
	return &File{path: path, out: temp.File, temp: temp}, nil
}

func (f *File) Write(p []byte) (int, error) {
	if err := filestate.Before(filestate.Write, f.path); err != nil {
		// As on a full disk, a part is written.
		n, _ := f.out.Write(p[:len(p)/2])
		return n, writeError(f.path, err)
	}
	if f.ctx != nil {
		return f.writeDirectly(p)
	}
	n, err := f.out.Write(p)
	return n, writeError(f.path, err)
}

// writeDirectly writes to a pipe, whose reader may be slow or stopped.
func (f *File) writeDirectly(p []byte) (int, error) {
	left := bytes.Clone(p) // a write that outlives this call must not see p change
	n, err := parallel.Await(f.ctx, func() (int, error) { return f.out.Write(left) })
	if f.ctx.Err() != nil {
		return 0, f.ctx.Err()
	}
	return n, writeError(f.path, err)
}

// Commit flushes the file to the disk and puts it under its name. After an error nothing is left behind.
func (f *File) Commit() error {
	if f.ended {
		return nil
	}
	f.ended = true
	if f.temp == nil {
		return writeError(f.path, f.out.Close())
	}
	err := filestate.Before(filestate.Sync, f.path)
	if err == nil {
		// Before the rename: otherwise a power failure may leave an empty file under the final name.
		err = f.temp.Sync()
	}
	if err != nil {
		f.temp.drop()
		return writeError(f.path, err)
	}
	return writeError(f.path, f.temp.moveTo(f.path))
}

// Abort discards what was written. After Commit it does nothing, so it can be deferred.
func (f *File) Abort() {
	if f.ended {
		return
	}
	f.ended = true
	if f.temp == nil {
		f.out.Close()
		return
	}
	f.temp.drop()
}

// Write creates the file at a path that the user has named, with the output of write, which it buffers. After an error
// nothing has changed.
func Write(ctx context.Context, path string, write func(io.Writer) error) error {
	f, err := Create(ctx, path)
	if err != nil {
		return err
	}
	return f.fill(write)
}

// WriteIn is Write for a file in an output folder.
func WriteIn(dir, name string, write func(io.Writer) error) error {
	f, err := CreateIn(dir, name)
	if err != nil {
		return err
	}
	return f.fill(write)
}

func (f *File) fill(write func(io.Writer) error) error {
	defer f.Abort()
	if err := f.writeBuffered(write); err != nil {
		return err
	}
	return f.Commit()
}

func (f *File) writeBuffered(write func(io.Writer) error) error {
	buffer := bufio.NewWriter(f)
	if err := write(buffer); err != nil {
		return err
	}
	return buffer.Flush()
}

// Output is one of several files that are written together.
type Output struct {
	Name  string
	Write func(io.Writer) error
}

// WriteAllIn is WriteIn for several files in one folder, which is created if it does not exist: all are written before
// the first gets its name. After an error none has changed, unless renaming one of them failed.
func WriteAllIn(dir string, outputs ...Output) error {
	if err := MakeFolder(dir); err != nil {
		return err
	}
	var files []*File
	for _, out := range outputs {
		f, err := CreateIn(dir, out.Name)
		if err != nil {
			return err
		}
		defer f.Abort()
		if err := f.writeBuffered(out.Write); err != nil {
			return err
		}
		files = append(files, f)
	}
	for _, f := range files {
		if err := f.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// WriteNew creates a file with a content in an output folder, unless it already exists: then the error is fs.ErrExist.
// If several programs do so at the same time, even on machines that share the folder, one succeeds. It does not wait
// for the disk, so a power failure may leave the file empty.
func WriteNew(dir, name string, content []byte) error {
	path := filepath.Join(dir, name)
	temp, err := newTemporary(dir)
	if err != nil {
		return createError(path, err)
	}
	f := &File{path: path, out: temp.File, temp: temp}
	if _, err := f.Write(content); err != nil {
		f.Abort()
		return err
	}
	err = temp.moveToNew(path)
	if errors.Is(err, fs.ErrExist) {
		return fs.ErrExist
	}
	return writeError(path, err)
}

// Spool is a file that the program writes and later reads again.
type Spool struct{ temporary }

// NewSpool creates a spool in a folder. It lasts until Discard or until the program ends, however it ends.
func NewSpool(dir string) (*Spool, error) {
	temp, err := newTemporary(dir)
	if err != nil {
		return nil, err
	}
	if filestate.Before(filestate.Delete, temp.Name()) == nil {
		os.Remove(temp.Name()) // fails where a file that is open cannot be removed; Discard does it there
	}
	return &Spool{*temp}, nil
}

func (s *Spool) Write(p []byte) (int, error) {
	if err := filestate.Before(filestate.Write, s.Name()); err != nil {
		return 0, err
	}
	return s.File.Write(p)
}

func (s *Spool) Discard() { s.drop() }

// MakeFolder creates a folder that the user has named, and those above it, unless it exists.
func MakeFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("cannot write to %s: it is a file, want a folder", dir)
	}
	if err = filestate.Before(filestate.MakeFolder, dir); err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return fmt.Errorf("cannot create the folder %s: %w", dir, cause(err))
	}
	return nil
}

// CheckFolder checks that a folder that the user has named exists or can be created. MakeFolder creates it.
func CheckFolder(dir string) error {
	if isThere(dir) {
		return MakeFolder(dir) // what is there may be something else
	}
	above := filepath.Dir(dir)
	for !isThere(above) && filepath.Dir(above) != above {
		above = filepath.Dir(above)
	}
	if err := MakeFolder(above); err != nil {
		return err
	}
	temp, err := newTemporary(above)
	if err != nil {
		return fmt.Errorf("cannot create the folder %s: %w", dir, cause(err))
	}
	temp.drop()
	return nil
}

// isThere reports whether a path names something, or cannot name anything.
func isThere(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// MakeFolderIn creates a folder in an output folder and returns its path. A symbolic link in its place is an error,
// because files in it would be outside the output folder.
func MakeFolderIn(dir, name string) (path string, err error) {
	path = filepath.Join(dir, name)
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return path, fmt.Errorf("cannot write to %s: it is a symbolic link, want a folder; remove it", path)
	}
	return path, MakeFolder(path)
}

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
	if errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("cannot write %s: %w; ulimit -f and the file system say how large a file may be", path, cause(err))
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

// Remove removes a file from an output folder, if it exists. A folder in the name must not be a link that leads out of
// the output folder.
func Remove(dir, name string) error {
	path := filepath.Join(dir, name)
	root, err := os.OpenRoot(dir)
	if err == nil {
		defer root.Close()
		err = filestate.Before(filestate.Delete, path)
	}
	if err == nil {
		err = root.Remove(name)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("cannot remove %s: %w", path, cause(err))
}
