package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func mustLock(t *testing.T, lock *Lock, err error) *Lock {
	t.Helper()
	must.Do(t, err)
	if !lock.Works() {
		t.Skip("this file system has no locks")
	}
	return lock
}

func wantLocked(t *testing.T, _ *Lock, err error) {
	t.Helper()
	if locked := new(LockedError); !errors.As(err, &locked) {
		t.Errorf("error %v, want that the folder is locked", err)
	}
}

func take(t *testing.T, lock func(string) (*Lock, error), dir string) *Lock {
	t.Helper()
	l, err := lock(dir)
	return mustLock(t, l, err)
}

func refused(t *testing.T, lock func(string) (*Lock, error), dir string) {
	t.Helper()
	l, err := lock(dir)
	wantLocked(t, l, err)
}

func TestLockFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	alone := take(t, LockFolder, dir)
	refused(t, LockFolder, dir)
	refused(t, ShareFolder, dir)
	alone.Unlock()
	wantNames(t, dir)
	first, second := take(t, ShareFolder, dir), take(t, ShareFolder, dir)
	refused(t, LockFolder, dir)
	first.Unlock()
	refused(t, LockFolder, dir)
	second.Unlock()
	take(t, LockFolder, dir).Unlock()
	wantNames(t, dir)
}

// The file of a killed program locks nothing.
func TestLockFileWithoutProgram(t *testing.T) {
	dir := t.TempDir()
	for _, leave := range []func(path string) error{
		func(path string) error { return os.WriteFile(path, nil, 0o644) },
		func(path string) error { return os.Symlink("victim", path) },
	} {
		must.Do(t, leave(filepath.Join(dir, lockName)))
		take(t, LockFolder, dir).Unlock()
		wantNames(t, dir)
	}
}

func TestLockIsHeldByOneAtATime(t *testing.T) {
	dir := t.TempDir()
	take(t, LockFolder, dir).Unlock()
	var holders atomic.Int32
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for taken := 0; taken < 50; {
				l, err := LockFolder(dir)
				if err != nil {
					continue
				}
				if holders.Add(1) != 1 {
					t.Error("two hold the lock")
				}
				holders.Add(-1)
				l.Unlock()
				taken++
			}
		})
	}
	workers.Wait()
	wantNames(t, dir)
}
