package files

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var juicefsFormat = source.Format{
	Name:    "juicefs",
	Options: []params.Param{blockOption(4096), filesOption(), jobOption("the number of the process")},
	Detect: source.CertainIf(func(head source.Head) bool {
		lines := slices.DeleteFunc(slices.Clone(head.Lines), isPause)
		if len(lines) == 0 {
			return false
		}
		_, timed := juicefsTime(lines[0])
		return timed && bytes.HasPrefix(lines[0][juicefsClock:], []byte(" [uid:"))
	}),
	Open: openJuiceFS,
}

const (
	juicefsLayout = "2006.01.02 15:04:05.000000"
	juicefsClock  = len(juicefsLayout)
)

func juicefsTime(line []byte) (at time.Time, ok bool) {
	if len(line) < juicefsClock {
		return at, false
	}
	at, err := time.Parse(juicefsLayout, string(line[:juicefsClock]))
	return at, err == nil
}

// isPause reports whether a line is the mark that JuiceFS writes for a second without operations.
func isPause(line []byte) bool { return string(bytes.TrimSpace(line)) == "#" }

type juicefsReader struct{ path []byte }

func openJuiceFS(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	j := &juicefsReader{}
	src.Reading.Time, src.Reading.Why = "time", "other operations, and reads of nothing"
	return NewReader(src, Lines(src, j.parse), opts, true)
}

func (j *juicefsReader) parse(line []byte, a *Access) error {
	if isPause(line) {
		return source.ErrLeftOut
	}
	when, ok := juicefsTime(line)
	if !ok {
		return fmt.Errorf("want a time such as 2022.09.22 08:55:21.013121 first, got %.30q", line)
	}
	process, call, ok := bytes.Cut(line[juicefsClock:], []byte("] "))
	if !ok || !bytes.HasPrefix(process, []byte(" [uid:")) {
		return fmt.Errorf("want [uid:N,gid:N,pid:N] behind the time, got %.40q", line[juicefsClock:])
	}
	arguments, ok := bytes.CutPrefix(call, []byte("read ("))
	if !ok {
		return source.ErrLeftOut
	}
	arguments, result, ok := bytes.Cut(arguments, []byte("): "))
	numbers := make([]uint64, 3, 4) // inode, size, offset; newer versions add the handle
	if bytes.Count(arguments, []byte(",")) == 3 {
		numbers = numbers[:4]
	}
	if !ok || !source.ParseNumbers(bytes.ReplaceAll(arguments, []byte(","), []byte(" ")), numbers) {
		return fmt.Errorf("want read (INODE,SIZE,OFFSET) or (INODE,SIZE,OFFSET,HANDLE), and a result, got %.60q", call)
	}
	count, ok := bytes.CutPrefix(result, []byte("OK"))
	if !ok {
		return source.ErrLeftOut // it failed
	}
	length := numbers[1]
	// A read past the end of the file returns fewer bytes than requested.
	if text, _, found := bytes.Cut(bytes.TrimPrefix(count, []byte(" (")), []byte(")")); found {
		if n, ok := source.ParseDigits(text); ok {
			length = n
		}
	}
	if numbers[2] > source.MaxSize || length > source.MaxSize {
		return fmt.Errorf("a read of %d bytes at offset %d: want both from 0 to 2^50", length, numbers[2])
	}
	if _, pid, found := bytes.Cut(process, []byte("pid:")); found {
		a.Job = pid
	}
	j.path = fmt.Appendf(j.path[:0], "inode:%d", numbers[0])
	a.Time, a.Path, a.Offset, a.Length = when.UnixNano(), j.path, int64(numbers[2]), int64(length)
	return nil
}
