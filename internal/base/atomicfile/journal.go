package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/cachesim/cachesim/internal/base/filestate"
)

// Journal is a file that grows in place, because its content must outlive the program. Its reader must recognise which
// part is complete.
type Journal struct {
	*os.File
	path string
	lock *fileLock // nil where the file system has no locks
}

// OpenJournal opens the journal at path, or creates it. A symbolic link or a device there is an error, and so is
// another program that has it open.
func OpenJournal(path string) (*Journal, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("cannot write %s: it is a link, a folder or a device, want a file; remove it", path)
	}
	flags := os.O_RDWR
	if errors.Is(err, fs.ErrNotExist) {
		flags |= os.O_CREATE | os.O_EXCL
	}
	if err = filestate.Before(filestate.Create, path); err != nil {
		return nil, createError(path, err)
	}
	file, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return nil, createError(path, err)
	}
	j := &Journal{file, path, newFileLock(path, os.O_RDWR)}
	locked, err := j.lock.TryLock()
	if err == nil && !locked {
		file.Close()
		return nil, fmt.Errorf("another cachesim is writing %s: wait until it has ended", path)
	}
	if err != nil {
		j.lock = nil
	}
	return j, nil
}

func (j *Journal) WriteAt(p []byte, at int64) (int, error) {
	if err := filestate.Before(filestate.Write, j.path); err != nil {
		n, _ := j.File.WriteAt(p[:len(p)/2], at)
		return n, writeError(j.path, err)
	}
	n, err := j.File.WriteAt(p, at)
	return n, writeError(j.path, err)
}

// Close closes the journal, and removes it if it is not to be kept.
func (j *Journal) Close(keep bool) error {
	if j.lock != nil {
		defer j.lock.Unlock()
	}
	err := j.File.Close()
	if keep {
		return err
	}
	if j.lock != nil && !openFilesMove {
		j.lock.Unlock()
	}
	return errors.Join(err, os.Remove(j.path))
}
