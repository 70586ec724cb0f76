package atomicfile

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cachesim/cachesim/internal/base/filestate"
)

// Names of temporary files begin and end like this, with a number for the machine and random digits in between.
const (
	temporaryPrefix = ".cachesim-"
	temporarySuffix = ".tmp"
)

// temporary is a file under a hidden name in its final folder. While it is being written it is locked, so that another
// program can distinguish it from one whose program was killed.
type temporary struct {
	*os.File
	lock *fileLock // nil if the file system has no locks
}

// newTemporary creates a temporary file in a folder, and removes temporary files of killed programs.
func newTemporary(dir string) (*temporary, error) {
	removeLeftovers(dir)
	for {
		path := filepath.Join(dir, temporaryPrefix+machine()+"-"+rand.Text()[:12]+temporarySuffix)
		t, err := createTemporary(path)
		if !errors.Is(err, fs.ErrExist) {
			return t, err
		}
	}
}

// createTemporary creates the file at path, which must be free: a symbolic link is not followed. The error is
// fs.ErrExist, too, where another program has taken the file for a leftover before it was locked.
func createTemporary(path string) (*temporary, error) {
	if err := filestate.Before(filestate.Create, path); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	t := &temporary{File: file, lock: newFileLock(path, os.O_RDONLY)}
	locked, err := t.lock.TryLock()
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && (!locked || !isAt(t.lock, path)):
		t.drop()
		return nil, fs.ErrExist
	case err != nil:
		t.lock = nil
	}
	return t, nil
}

// isAt reports whether the file that is locked is still the one at path.
func isAt(lock *fileLock, path string) bool {
	locked, err := lock.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(locked, there)
}

// moveTo closes the file and moves it to path, replacing an existing file. After an error it is gone.
func (t *temporary) moveTo(path string) error {
	err := t.close()
	if err == nil {
		err = filestate.Before(filestate.Rename, path)
	}
	// The lock is held until the rename, or another program could take the file for a leftover.
	defer t.unlock()
	t.letMove()
	if err == nil {
		err = rename(t.Name(), path)
	}
	if err != nil {
		t.remove()
	}
	return err
}

// moveToNew closes the file and puts it at path if nothing is there; otherwise the error is fs.ErrExist. The hidden
// name is gone in any case.
func (t *temporary) moveToNew(path string) error {
	err := t.close()
	t.letMove()
	defer t.unlock()
	defer t.remove()
	if err != nil {
		return err
	}
	err = filestate.Before(filestate.Link, path)
	if err == nil {
		// A link fails if the name is taken; a rename would replace the file.
		err = os.Link(t.Name(), path)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return fs.ErrExist
	}
	return renameNew(t.Name(), path) // a file system without links
}

// renameNew puts a file under a name that is free. Between the look and the renaming another program may take it.
func renameNew(from, path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	if err := filestate.Before(filestate.Rename, path); err != nil {
		return err
	}
	return rename(from, path)
}

func (t *temporary) close() error {
	err := filestate.Before(filestate.Close, t.Name())
	return errors.Join(err, t.File.Close())
}

// drop closes and removes the file. An error is ignored: the next program removes the file.
func (t *temporary) drop() {
	t.File.Close()
	t.letMove()
	t.remove()
	t.unlock()
}

func (t *temporary) remove() {
	if filestate.Before(filestate.Delete, t.Name()) == nil {
		os.Remove(t.Name())
	}
}

// letMove releases the lock if it would keep the file from being renamed or removed.
func (t *temporary) letMove() {
	if !openFilesMove {
		t.unlock()
	}
}

func (t *temporary) unlock() {
	if t.lock != nil {
		t.lock.Unlock()
	}
}

// machine returns a number for this machine. A lock in a folder that several machines share may be visible on only one
// of them.
var machine = sync.OnceValue(func() string {
	name, _ := os.Hostname()
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:4])
})

// searched contains the folders that were searched for leftovers.
var searched sync.Map

// removeLeftovers removes the temporary files of programs that were killed, once for each folder.
func removeLeftovers(dir string) {
	if _, done := searched.LoadOrStore(dir, true); !done {
		removeLeftoversNow(dir)
	}
}

func removeLeftoversNow(dir string) {
	entries, _ := os.ReadDir(dir) // the killed program could not have written into a folder that cannot be read
	for _, e := range entries {
		name := e.Name()
		isTemporary := strings.HasPrefix(name, temporaryPrefix) && strings.HasSuffix(name, temporarySuffix)
		if isTemporary && e.Type().IsRegular() {
			removeLeftover(filepath.Join(dir, name))
		}
	}
}

// leftoverAge is how old a temporary file must be to count as left behind if its lock does not show that.
const leftoverAge = 24 * time.Hour

// removeLeftover removes a temporary file unless its program may still be running.
func removeLeftover(path string) {
	info, err := os.Lstat(path)
	if err != nil {
		return
	}
	lock := newFileLock(path, os.O_RDONLY)
	locked, err := lock.TryLock()
	defer lock.Unlock()
	if !openFilesMove {
		lock.Unlock()
	}
	// Locks of other machines may be invisible here: only for files of this machine is a free lock enough.
	local := strings.HasPrefix(filepath.Base(path), fmt.Sprintf("%s%s-", temporaryPrefix, machine()))
	if locked && local || (locked || err != nil) && time.Since(info.ModTime()) > leftoverAge {
		os.Remove(path)
	}
}
