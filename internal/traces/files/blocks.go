package files

import (
	"bytes"
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// sectorBytes is the unit of offsets and lengths in block traces of Linux.
const sectorBytes = 512

var blkparseFormat = source.Format{
	Name:    "blkparse",
	Summary: "block traces of Linux as text, as blkparse prints them by default; a device is a file",
	Example: "  8,0    3        1     0.000000000   697  Q   R 223490 + 8 [python3]",
	Carries: "file reads: time, process, device, offset, length",
	Detection: "lines of device, processor, number, time, process, action, kind of request, sector + sectors " +
		"[name]",
	Options: []params.Param{
		blockOption(4), filesOption(), jobOption("the number of the process"),
		{Name: "action", Default: "Q", Choices: []string{"Q", "D", "C"},
			Doc: "which of the events of a request counts: queued, issued to the device, or completed"},
	},
	Detect: source.CertainIf(func(head source.Head) bool {
		return len(head.Lines) > 0 && looksLikeBlkparse(head.Lines[0])
	}),
	Open: openBlkparse,
}

func looksLikeBlkparse(line []byte) bool {
	words := bytes.Fields(line)
	return len(words) >= 7 && isDevice(words[0]) && source.AllDigits(words[1:3]) && source.IsNumber(words[3]) &&
		source.IsDigits(words[4]) && bytes.IndexByte(words[3], '.') > 0 && len(words[5]) <= 2
}

// isDevice reports whether a word names a device: MAJOR,MINOR.
func isDevice(word []byte) bool {
	major, minor, ok := bytes.Cut(word, []byte(","))
	return ok && source.IsDigits(major) && source.IsDigits(minor)
}

type blkparseReader struct{ action string }

func openBlkparse(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	b := &blkparseReader{opts.Text("action")}
	src.Reading.Time, src.Reading.Why = "time in s", "events other than reads with action "+b.action+", and the summary"
	return NewReader(src, &lineAccesses{src: src, parse: b.parse}, opts, true)
}

// parse implements lineAccesses. What does not begin like an event belongs to the summary at the end.
func (b *blkparseReader) parse(line []byte, a *Access) (err error) {
	words := bytes.Fields(line)
	if len(words) < 7 || !isDevice(words[0]) {
		return source.ErrLeftOut
	}
	if string(words[5]) != b.action || bytes.IndexByte(words[6], 'R') < 0 {
		return source.ErrLeftOut
	}
	if len(words) < 10 || string(words[8]) != "+" {
		return fmt.Errorf("want SECTOR + SECTORS of a read, got %.60q", bytes.Join(words[7:], []byte(" ")))
	}
	if a.Time, err = source.ParseTime(words[3], 1e9); err != nil {
		return err
	}
	if a.Offset, err = sectors(words[7]); err != nil {
		return err
	}
	if a.Length, err = sectors(words[9]); err != nil {
		return err
	}
	a.Path, a.Job = words[0], words[4]
	return nil
}

// sectors reads a number of sectors as bytes.
func sectors(text []byte) (int64, error) {
	n, ok := source.ParseDigits(text)
	if !ok || n > source.MaxSize/sectorBytes {
		return 0, fmt.Errorf("%.40q sectors: want a whole number from 0 to 2^41", text)
	}
	return int64(n) * sectorBytes, nil
}

var msrFormat = source.Format{
	Name: "msr",
	Summary: "block traces of MSR Cambridge as CSV without a header: time, host, disk, Read or Write, offset, length, " +
		"response time; a disk is a file (Narayanan et al., FAST 2008)",
	Example:   "128166372003061629,hm,1,Read,383496192,32768,413",
	Carries:   "file reads: time, host, disk, offset, length",
	Detection: "seven columns, the fourth of them Read or Write",
	Options:   []params.Param{blockOption(4), filesOption(), jobOption("the host"), readsOption()},
	Detect:    source.CertainIf(everyRow(parseMSR)),
	Open:      openRows(parseMSR, "time in 100 ns from 1601"),
}

// readsOption says whether writes count.
func readsOption() params.Param {
	return params.Param{Name: "ops", Default: "reads", Choices: []string{"reads", "accesses"},
		Doc: "reads, or accesses, which counts writes as reads: a cache of whole blocks loads what is written to"}
}

type blockRow struct {
	Access
	write bool
}

type rowParser func(cells [][]byte, path []byte, row *blockRow) ([]byte, error)

// everyRow detects a format by its parser, which must accept every line at the beginning.
func everyRow(parse rowParser) func(source.Head) bool {
	return func(head source.Head) bool {
		return head.EveryLine(func(_ int, line []byte) bool {
			_, err := parse(bytes.Split(line, []byte(",")), nil, &blockRow{})
			return err == nil
		})
	}
}

// openRows reads a format with a parser of its rows. clock describes its times.
func openRows(parse rowParser, clock string) func(*source.Source, params.Values) (stream.Reader, stream.Fields, error) {
	return func(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
		writes := opts.Text("ops") == "accesses"
		var path []byte
		src.Reading.Time, src.Reading.Why = clock, "writes, and reads of nothing"
		if writes {
			src.Reading.Why = "reads and writes of no bytes"
		}
		lines := &lineAccesses{src: src, parse: func(line []byte, a *Access) (err error) {
			row := blockRow{Access: *a}
			if path, err = parse(bytes.Split(line, []byte(",")), path, &row); err != nil {
				return err
			}
			if row.write && !writes {
				return source.ErrLeftOut
			}
			*a = row.Access
			return nil
		}}
		return NewReader(src, lines, opts, true)
	}
}

func parseMSR(cells [][]byte, path []byte, row *blockRow) ([]byte, error) {
	if len(cells) != 7 {
		return path, fmt.Errorf("%d columns: want 7, as time, host, disk, Read or Write, offset, length, response time",
			len(cells))
	}
	if err := row.operation(cells[3], "Read", "Write"); err != nil {
		return path, err
	}
	ticks, ok := source.ParseDigits(cells[0])
	// 2^56 x 100 ns still fit into an int64, and are 228 years.
	if !ok || ticks < windowsEpoch || ticks-windowsEpoch > 1<<56 {
		return path, fmt.Errorf("time %.30q: want a number of 100 ns from 1601, after 1970", cells[0])
	}
	row.Time = int64(ticks-windowsEpoch) * 100
	path = append(append(append(path[:0], cells[1]...), '/'), cells[2]...)
	row.Path, row.Job = path, cells[1]
	return path, row.extent(cells[4], cells[5])
}

// windowsEpoch is 1970 in units of 100 ns from 1601.
const windowsEpoch = 116444736000000000

var alibabaFormat = source.Format{
	Name: "alibaba",
	Summary: "block traces of Alibaba Cloud as CSV without a header: volume, R or W, offset, length, time in " +
		"microseconds; a volume is a file (Li et al., IISWC 2020)",
	Example:   "419,W,8792731648,16384,1577808144360767\n725,R,59110326272,360448,1577808144360813",
	Carries:   "file reads: time, volume, offset, length",
	Detection: "five columns, the second of them R or W, the others whole numbers",
	Options:   []params.Param{blockOption(4), filesOption(), jobOption("the volume"), readsOption()},
	Detect:    source.CertainIf(everyRow(parseAlibaba)),
	Open:      openRows(parseAlibaba, "time in us"),
}

func parseAlibaba(cells [][]byte, path []byte, row *blockRow) (_ []byte, err error) {
	if len(cells) != 5 {
		return path, fmt.Errorf("%d columns: want 5, as volume, R or W, offset, length, time", len(cells))
	}
	if err := row.operation(cells[1], "R", "W"); err != nil {
		return path, err
	}
	if !source.IsDigits(cells[0]) {
		return path, fmt.Errorf("volume %.30q: want a whole number", cells[0])
	}
	if row.Time, err = source.ParseTime(cells[4], 1e3); err != nil {
		return path, err
	}
	row.Path, row.Job = cells[0], cells[0]
	return path, row.extent(cells[2], cells[3])
}

// operation reads the word for a read or a write.
func (r *blockRow) operation(word []byte, read, write string) error {
	switch string(word) {
	case read:
	case write:
		r.write = true
	default:
		return fmt.Errorf("operation %.20q: want %s or %s", word, read, write)
	}
	return nil
}
