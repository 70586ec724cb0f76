package atomicfile

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// lockName is the file with which programs that use a folder notice each other. The last one removes it.
const lockName = ".cachesim.lock"

// How long to wait for a lock, and how often to look.
const (
	lockPatience = 300 * time.Millisecond
	lookAgain    = 10 * time.Millisecond
)

// Lock keeps other programs from using a folder. It ends with its process, however that ends.
type Lock struct {
	file *fileLock // nil if the file system has no locks
	path string
}

// LockedError says that another program uses a folder.
type LockedError struct{ Dir string }

func (e *LockedError) Error() string {
	return fmt.Sprintf("another cachesim is at work in %s: wait until it has ended, or name another folder", e.Dir)
}

// LockFolder locks a folder, which is created if it does not exist, for this program alone.
func LockFolder(dir string) (*Lock, error) {
	if err := MakeFolder(dir); err != nil {
		return nil, err
	}
	return lock(dir, (*fileLock).TryLock)
}

// ShareFolder locks a folder, which must exist, for this program and others that share it.
func ShareFolder(dir string) (*Lock, error) { return lock(dir, (*fileLock).TryRLock) }

func lock(dir string, try func(*fileLock) (bool, error)) (*Lock, error) {
	l := &Lock{path: filepath.Join(dir, lockName)}
	patience := time.Now().Add(lockPatience)
	for {
		if info, err := os.Lstat(l.path); err == nil && !info.Mode().IsRegular() {
			os.Remove(l.path) // a link, which would be followed; a folder stays and is an error below
		}
		l.file = newFileLock(l.path, os.O_CREATE|os.O_RDWR)
		locked, err := try(l.file)
		switch {
		case noLocks(err):
			os.Remove(l.path)
			l.file = nil
			return l, nil
		case err != nil:
			return nil, createError(l.path, err)
		case !locked && time.Now().Before(patience):
			time.Sleep(lookAgain) // a program that shares the folder locks it exclusively for the moment in which it ends
			continue
		case !locked:
			return nil, &LockedError{dir}
		case isAt(l.file, l.path):
			return l, nil
		}
		l.file.Unlock() // the file was removed between its opening and its locking
	}
}

// Works reports whether the file system has locks, so that the folder is protected.
func (l *Lock) Works() bool { return l.file != nil }

// Unlock lets others use the folder.
func (l *Lock) Unlock() {
	if l.file == nil {
		return
	}
	if !openFilesMove {
		l.file.Unlock()
		os.Remove(l.path) // fails as long as another has it open
		return
	}
	if alone, err := l.file.TryLock(); alone && err == nil {
		os.Remove(l.path)
	}
	l.file.Unlock()
}
