package read

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
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

// Names of logs that were moved away by logrotate (a number, or with dateext a date), by cronolog and rotatelogs (a
// date), and by lumberjack, as in Caddy (a date and a time before the extension).
const dateInName = `(?:[0-9]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2})(?:[-_.T]?[0-9]{2,10}(?:[-.][0-9]{2}){0,2}(?:\.[0-9]{3})?)?`

var (
	packed     = regexp.MustCompile(`\.(?:gz|bz2|xz|zst|lz4|s2)$`)
	numbered   = regexp.MustCompile(`^(.+)\.[0-9]{1,9}$`)
	dated      = regexp.MustCompile(`^(.+?)[-_.]` + dateInName + `(?:[-.][0-9]{1,3})?$`)
	datedInner = regexp.MustCompile(`^(.+?)[-_.]` + dateInName + `(\.log)$`)
)

// logOf returns the name that a log had before it was rotated, and whether it was.
func logOf(path string) (log string, moved bool) {
	name := packed.ReplaceAllString(path, "")
	for _, pattern := range []*regexp.Regexp{datedInner, dated, numbered} {
		if match := pattern.FindStringSubmatch(name); match != nil {
			return strings.Join(match[1:], ""), true
		}
	}
	return name, false
}

// areRotated reports whether files are parts of one log that was rotated. Parts of a trace have numbers, too: they are
// of a log only if the log itself is there, or its name says so.
func areRotated(paths []string) bool {
	stem, _ := logOf(paths[0])
	whole := strings.HasSuffix(strings.ToLower(stem), "log")
	for _, path := range paths {
		log, moved := logOf(path)
		if log != stem {
			return false
		}
		whole = whole || !moved
	}
	return whole && len(paths) > 1
}

// RotationOrder returns the order in which to read files that are parts of a rotated log, as indexes of paths: by the
// times of their first requests, not in the order of the shell. It is nil if there is nothing to order: the files are
// not such parts, are in that order already, have no times, are read in another way, or can be opened only once, such
// as pipes.
func RotationOrder(ctx context.Context, paths []string, opts Options) []int {
	if len(paths) < 2 || opts.Merge || opts.PerFile || opts.Beside != nil || !areRotated(paths) {
		return nil
	}
	first := make([]int64, len(paths))
	order := make([]int, len(paths))
	err := parallel.For(ctx, parallel.Jobs(0), len(paths), func(ctx context.Context, _, i int) error {
		at, ok := firstTime(ctx, paths[i], opts)
		if !ok {
			return errNoFirstTime
		}
		first[i], order[i] = at, i
		return nil
	})
	if err != nil {
		return nil
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(first[a], first[b]) })
	if slices.IsSorted(order) {
		return nil
	}
	return order
}

var errNoFirstTime = errors.New("a file has no first time")

// firstTime returns the time of the first request of a file; false if there is none. An unreadable file is reported
// later, when it is read.
func firstTime(ctx context.Context, path string, opts Options) (at int64, ok bool) {
	if !isRegular(path) {
		return 0, false
	}
	opened, err := open(ctx, path, opts, new(source.Together))
	if err != nil {
		return 0, false
	}
	defer opened.Close()
	var rec stream.Record
	if !opened.Fields.Time || opened.Fields.Counted || opened.Read(&rec) != nil {
		return 0, false
	}
	return rec.Time, true
}

// RotationNote says in which order the files of a rotated log are read.
func RotationNote(paths []string) string {
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = filepath.Base(path)
	}
	const most = 12
	if len(names) > most {
		names = append(append(names[:most/2:most/2], "..."), names[len(names)-most/2:]...)
	}
	return fmt.Sprintf("these %d files are of one rotated log: read in the order of their first times: %s", len(paths),
		strings.Join(names, " "))
}
