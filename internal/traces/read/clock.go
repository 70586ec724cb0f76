package read

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// clock follows the times of files that are read one after another, to find out where they run backwards: logs that
// were rotated are often named newest first.
type clock struct {
	files []span // in the order of reading; those without requests are left out
	ended bool   // the next time begins a file
}

// span has the times of the first and the last request of a file, in nanoseconds.
type span struct {
	path        string
	first, last int64
}

func (c *clock) open(path string) {
	if n := len(c.files); n > 0 && c.ended {
		c.files = c.files[:n-1] // no request was seen
	}
	c.files, c.ended = append(c.files, span{path: path}), true
}

func (c *clock) see(at int64) {
	file := &c.files[len(c.files)-1]
	if c.ended {
		file.first, c.ended = at, false
	}
	file.last = at
}

// warnings says where times run backwards; apart says that each file is replayed by itself.
func (c *clock) warnings(apart bool) (found []string) {
	if n := len(c.files); n > 0 && c.ended {
		c.files = c.files[:n-1]
	}
	for _, f := range c.files {
		if f.last < f.first {
			found = append(found, fmt.Sprintf("times run backwards in %s: it begins %s after it ends; requests are replayed "+
				"in the order of the file, so put the oldest first", filepath.Base(f.path), time.Duration(f.first-f.last)))
			break // the other files were probably written in the same way
		}
	}
	if apart {
		return found
	}
	for i := 1; i < len(c.files); i++ {
		before, file := c.files[i-1], c.files[i]
		if file.first < before.last {
			return append(found, fmt.Sprintf("times run backwards: %s begins %s before %s ends, which is read first; %s",
				filepath.Base(file.path), time.Duration(before.last-file.first), filepath.Base(before.path), c.advice()))
		}
	}
	return found
}

// advice says how the files are read in the order of their times. No order of the files does that where they overlap,
// as logs of two servers do.
func (c *clock) advice() string {
	const byTime = "read them by time (--merge; in an experiment merge: true)"
	files := slices.Clone(c.files)
	slices.SortStableFunc(files, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	paths := make([]string, len(files))
	for i, f := range files {
		if paths[i] = f.path; i > 0 && f.first < files[i-1].last {
			return "times of files overlap: " + byTime
		}
	}
	return "name the files oldest first" + inOrder(paths) + ", or " + byTime
}

// mostNamedFiles are named one by one in a warning.
const mostNamedFiles = 6

// inOrder lists files in the order to name them in; "" if they are too many to read.
func inOrder(paths []string) string {
	if len(paths) > mostNamedFiles {
		return ""
	}
	return " (" + strings.Join(paths, " ") + ")"
}

// age splits the name of a rotated log into the name of the log and the number, which grows with its age; the log
// itself has number 0.
func age(path string) (log string, number int) {
	name := packed.ReplaceAllString(path, "")
	match := numbered.FindStringSubmatch(name)
	if match == nil {
		return path, 0
	}
	number, _ = strconv.Atoi(name[len(match[1])+1:])
	return match[1], number
}

// rotatedWarning says that a log is read before an older part of it, judged by their names since there are no times;
// "" if none is. Numbers alone say nothing: parts of a trace have them, too, and then mostly grow with time.
func rotatedWarning(paths []string) string {
	lastOlder := map[string]int{} // per log: where its last older part is
	for i, path := range paths {
		if stem, number := age(path); number > 0 {
			lastOlder[stem] = i
		}
	}
	for i, log := range paths {
		stem, number := age(log)
		if number > 0 || lastOlder[stem] <= i {
			continue
		}
		older := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { of, _ := age(p); return of != stem })
		slices.SortStableFunc(older, func(a, b string) int {
			_, first := age(a)
			_, second := age(b)
			return cmp.Compare(second, first)
		})
		return fmt.Sprintf("%s is read before older parts of it, by their names, and requests have no times: name the "+
			"files oldest first%s", filepath.Base(log), inOrder(older))
	}
	return ""
}
