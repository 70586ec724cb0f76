package workload

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/cachesim/cachesim/internal/traces/attention"
)

// FindAll returns where files are, as Find does for one. A folder stands for all files in it and below, a pattern for
// the files that match: ** is any number of folders, as in s3-prefix/2026/**, and *, ? and [...] are those of a shell.
// Both are in the order of their paths, without names that begin with a dot, and without empty files unless all are: a
// log that was just rotated has no lines yet. A folder that is an attention trace stays as it is.
func FindAll(paths, dirs []string) (found []string, err error) {
	for _, path := range paths {
		files, err := findEach(path, dirs)
		if err != nil {
			return nil, err
		}
		found = append(found, files...)
	}
	return found, nil
}

// StandsForFiles reports whether a path is a folder or a pattern, whose files FindAll lists.
func StandsForFiles(path string, dirs []string) bool {
	place, err := Find(path, dirs)
	if err != nil {
		return isPattern(path)
	}
	return isFolder(place)
}

// isPattern reports whether a path that is no file is meant as a pattern.
func isPattern(path string) bool {
	return strings.ContainsAny(path, "*?[") && !strings.Contains(path, "://")
}

func isFolder(place string) bool {
	info, err := os.Stat(place)
	return err == nil && info.IsDir() && !attention.IsFolder(place)
}

func findEach(path string, dirs []string) ([]string, error) {
	place, err := Find(path, dirs)
	switch {
	case err != nil && !isPattern(path):
		return nil, err
	case err != nil:
		return findMatches(path, dirs)
	case place == "-" || !isFolder(place):
		return []string{place}, nil
	}
	files, err := filesBelow(place)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: is a folder without files: want trace files in it, whose names do not begin with a dot", path)
	}
	return files, err
}

// filesBelow returns the regular files in a folder and below.
func filesBelow(folder string) (files []string, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != folder && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case isRegularEntry(path, entry):
			files = append(files, path)
		}
		return nil
	})
	return sortedLogs(files), err
}

// sortedLogs sorts files by their paths. Empty ones are left out unless all are.
func sortedLogs(files []string) []string {
	slices.Sort(files)
	full := slices.DeleteFunc(slices.Clone(files), func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular() && info.Size() == 0
	})
	if len(full) == 0 {
		return files
	}
	return full
}

// isRegularEntry reports whether an entry of a folder is a file, or a link to one.
func isRegularEntry(path string, entry fs.DirEntry) bool {
	return entry.Type().IsRegular() || entry.Type()&fs.ModeSymlink != 0 && isRegular(path)
}

func findMatches(path string, dirs []string) ([]string, error) {
	for _, place := range places(path, dirs) {
		files, err := doublestar.FilepathGlob(place, doublestar.WithFilesOnly(), doublestar.WithFailOnIOErrors(),
			doublestar.WithNoHidden())
		if errors.Is(err, doublestar.ErrBadPattern) {
			return nil, fmt.Errorf("%q: is no file and no pattern: want *, ?, [a-z] and ** for all folders below", path)
		}
		if err != nil {
			return nil, err
		}
		if len(files) > 0 {
			return sortedLogs(files), nil
		}
	}
	s := fmt.Sprintf("%q: no file matches", path)
	if len(dirs) > 0 && !filepath.IsAbs(path) {
		s += ", nor in " + strings.Join(dirs, ", ")
	}
	return nil, errors.New(s + "; ** stands for all folders below, and names that begin with a dot are left out")
}
