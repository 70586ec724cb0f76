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
	Name: "blkparse",
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
	return NewReader(src, Lines(src, b.parse), opts, true)
}

// parse reads a line. What does not begin like an event belongs to the summary at the end.
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

// DeviceOptions are the options of traces of block devices: KiB in a block, and who the job is by default.
func DeviceOptions(kib int, otherwise string) []params.Param {
	return []params.Param{blockOption(kib), filesOption(), jobOption(otherwise), {
		Name: "ops", Default: "reads", Choices: []string{"reads", "accesses"},
		Doc: "reads, or accesses: reads and writes; --writes says what writes do"}}
}
