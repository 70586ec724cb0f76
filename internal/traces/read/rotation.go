package read

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

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
