package atomicfile

import (
	"errors"
	"io/fs"
	"os"
)

type fileLock struct {
	path string
	flag int
	file *os.File // nil while nothing is locked
}

func newFileLock(path string, flag int) *fileLock { return &fileLock{path: path, flag: flag} }

// TryLock locks the file for this program alone. It returns false at once if another has a lock.
func (l *fileLock) TryLock() (bool, error) { return l.try(true) }

// TryRLock locks the file together with others that call TryRLock.
func (l *fileLock) TryRLock() (bool, error) { return l.try(false) }

func (l *fileLock) try(alone bool) (bool, error) {
	file := l.file
	if file == nil {
		var err error
		if file, err = os.OpenFile(l.path, l.flag, 0o666); err != nil {
			return false, err
		}
	}
	err := lockFile(file, alone)
	if err == nil {
		l.file = file
		return true, nil
	}
	if l.file == nil {
		file.Close()
	}
	if isLocked(err) {
		err = nil
	}
	return false, err
}

// Unlock lets others lock the file. It does nothing if the file is not locked.
func (l *fileLock) Unlock() error {
	if l.file == nil {
		return nil
	}
	err := errors.Join(unlockFile(l.file), l.file.Close())
	l.file = nil
	return err
}

func (l *fileLock) Stat() (fs.FileInfo, error) { return l.file.Stat() }
