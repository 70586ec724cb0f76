// Command mysim is cachesim with a trace format of its own: lines such as "17.5 GET /a 4096", with seconds, key and
// bytes. It is detected, listed by mysim formats, and read by every command.
package main

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/cachesim/cachesim"
)

func init() {
	cachesim.RegisterFormat(cachesim.Format{
		Name:    "mylog",
		Summary: "lines of seconds, method, key and bytes",
		Example: "17.5 GET /a 4096",
		Carries: "time, key, size",
		Detect:  detect,
		Open: func(src *cachesim.Source, _ cachesim.Values) (cachesim.Reader, cachesim.Fields, error) {
			return cachesim.ReadLines(src, parse), cachesim.Fields{Time: true, Size: true}, nil
		},
	})
}

func main() { cachesim.Main() }

// detect is certain if every line at the beginning of the file can be read.
func detect(head cachesim.Head, _ string) cachesim.Confidence {
	if len(head.Lines) > 0 && head.EveryLine(func(_ int, line []byte) bool {
		return parse(line, &cachesim.TraceRecord{}) == nil
	}) {
		return cachesim.Certain
	}
	return cachesim.No
}

func parse(line []byte, rec *cachesim.TraceRecord) error {
	cells := bytes.Fields(line)
	if len(cells) != 4 || string(cells[1]) != "GET" {
		return fmt.Errorf("%.60q: want SECONDS GET KEY BYTES", line)
	}
	seconds, err := strconv.ParseFloat(string(cells[0]), 64)
	if err != nil || !(seconds >= 0 && seconds < 1e9) {
		return fmt.Errorf("time %.60q: want seconds", cells[0])
	}
	size, err := strconv.ParseInt(string(cells[3]), 10, 64)
	if err != nil || size < 0 {
		return fmt.Errorf("size %.60q: want a number of bytes", cells[3])
	}
	*rec = cachesim.TraceRecord{Time: int64(seconds * 1e9), Size: size}
	rec.SetKey(cells[2])
	return nil
}
