package formats

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var oracleGeneralFormat = source.Format{
	Name:       "oraclegeneral",
	Detect:     detectOracleGeneral,
	Binary:     true,
	Impossible: noOracleGeneral,
	Open: func(src *source.Source, _ params.Values) (stream.Reader, stream.Fields, error) {
		src.Reading.Time = "time in s"
		return &OracleGeneralReader{src: src}, stream.Fields{Time: true, Size: true}, nil
	},
}

// A record is oracleGeneralRecord bytes long. Its next access is the position in the file, counted from 1, of the
// object's next request; oracleGeneralNever, or the largest int64 in some files, for none.
const (
	OracleGeneralRecord = 24
	oracleGeneralNever  = -1
)

func OracleGeneralFields(record []byte) (seconds uint32, key uint64, size uint32, next int64) {
	_ = record[OracleGeneralRecord-1]
	return binary.LittleEndian.Uint32(record),
		binary.LittleEndian.Uint64(record[4:]),
		binary.LittleEndian.Uint32(record[12:]),
		int64(binary.LittleEndian.Uint64(record[16:]))
}

// detectOracleGeneral follows the next accesses at the beginning of the file.
func detectOracleGeneral(head source.Head, name string) source.Confidence {
	records := head.Bytes[:len(head.Bytes)/OracleGeneralRecord*OracleGeneralRecord]
	if len(records) == 0 || noOracleGeneral(head) != "" {
		return source.No
	}
	named := strings.Contains(name, "oraclegeneral")
	lastTime, known := uint32(0), false
	for offset := 0; offset < len(records); offset += OracleGeneralRecord {
		seconds, key, _, next := OracleGeneralFields(records[offset:])
		if seconds < lastTime || !plausibleNext(records, offset/OracleGeneralRecord+1, key, next) {
			return source.No
		}
		lastTime = seconds
		known = known || next != 0
	}
	if named {
		return source.Certain
	}
	return source.Likely.If(known)
}

// plausibleNext reports whether the next access of the record at a position (from 1) can be true: none, not stated (0),
// or a later position that has the same key if it is among the given records.
func plausibleNext(records []byte, pos int, key uint64, next int64) bool {
	switch {
	case next == oracleGeneralNever || next == math.MaxInt64 || next == 0:
		return true
	case next <= int64(pos) || next > stream.MaxCount:
		return false
	}
	offset := (next - 1) * OracleGeneralRecord
	return offset >= int64(len(records)) || binary.LittleEndian.Uint64(records[offset+4:]) == key
}

// What the first records of oracleGeneral may hold. Traces that were cut, sampled, merged or shuffled have wrong next
// accesses and times that go back, and yet are read for their keys. But a position of 2^40, in a file of 26 TB, is
// impossible, and so is a negative one, except for those that mean none (-1) and unknown (-2).
const (
	leastNextAccess = -2
	maxNextAccess   = 1 << 40
	maxImpossible   = 1. / 4 // share of records with impossible next accesses, which may be damaged
	maxBack         = 1. / 4 // share of times that go back, unless the sizes are plausible
	hugeSize        = 1 << 30
	fewRecords      = 32 // too few for shares to mean anything
)

// noOracleGeneral says why the first records of a file are not oracleGeneral, "" if they may be.
func noOracleGeneral(head source.Head) string {
	var impossible, first, back, huge, empty, shifted, n int
	var stated int64
	last := uint32(0)
	for records := head.Bytes; len(records) >= OracleGeneralRecord; records = records[OracleGeneralRecord:] {
		seconds, key, size, next := OracleGeneralFields(records)
		n++
		if next < leastNextAccess || next > maxNextAccess && next != math.MaxInt64 {
			if impossible++; impossible == 1 {
				first, stated = n, next
			}
		}
		back += count(seconds < last)
		huge += count(size > hugeSize)
		empty += count(size == 0)
		shifted += count(size == 0 && key != 0 && uint32(key) == 0)
		last = seconds
	}
	share := func(counted int) float64 { return float64(counted) / float64(n) }
	odd := n >= fewRecords && share(back) > maxBack
	switch {
	case n > 0 && share(impossible) > maxImpossible:
		return fmt.Sprintf("%d of the first %d records have an impossible next access, the first of them record %d "+
			"(byte %d): %d; want the number of a later request, or %d for none",
			impossible, n, first, (first-1)*OracleGeneralRecord, stated, oracleGeneralNever)
	case n >= fewRecords && shifted == n:
		return fmt.Sprintf("the first %d records have size 0 and keys whose lower 32 bits are 0, as in a list of whole "+
			"numbers of 64 bits", n)
	case odd && empty == n:
		return fmt.Sprintf("the first %d records have size 0, and the times of %d go back", n, back)
	case odd && share(huge) > 0.5:
		return fmt.Sprintf("of the first %d records %d are larger than 1 GiB, and the times of %d go back", n, huge,
			back)
	}
	return ""
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// OracleGeneralReader reads record by record. Load takes them in batches from src instead. It implements Reader.
type OracleGeneralReader struct {
	src   *source.Source
	batch []byte // records not yet returned
	zeros int    // records of only zeros at the end so far
}

// manyZeros is a number of all-zero records that no trace ends with by chance.
const manyZeros = 32

// Records takes the next records from src. A file that ends with many records of zeros was not written completely; its
// end is then an error.
func (o *OracleGeneralReader) Records() ([]byte, error) {
	batch, err := o.src.Records(OracleGeneralRecord)
	if err == io.EOF && o.zeros >= manyZeros {
		whole := o.src.Offset() - int64(o.zeros)*OracleGeneralRecord
		if whole > 0 { // or all are like that: requests without times and sizes for object 0
			return nil, o.src.OffsetErrorf(whole, "the file ends with %d records of only zeros: it was not written "+
				"completely; head -c %d keeps the records before them", o.zeros, whole)
		}
	}
	if err != nil {
		return nil, err
	}
	n := len(batch)
	for n > 0 && *(*[OracleGeneralRecord]byte)(batch[n-OracleGeneralRecord:]) == [OracleGeneralRecord]byte{} {
		n -= OracleGeneralRecord
	}
	if n > 0 {
		o.zeros = 0
	}
	o.zeros += (len(batch) - n) / OracleGeneralRecord
	return batch, nil
}

func (o *OracleGeneralReader) Read(rec *stream.Record) error {
	if len(o.batch) == 0 {
		var err error
		if o.batch, err = o.Records(); err != nil {
			return err
		}
	}
	seconds, key, size, _ := OracleGeneralFields(o.batch)
	*rec = stream.Record{Time: int64(seconds) * 1e9, Num: key, Size: int64(size)}
	o.batch = o.batch[OracleGeneralRecord:]
	return nil
}

// ContentBytes returns the bytes of all records, 0 if that is unknown.
func (o *OracleGeneralReader) ContentBytes() int64 { return o.src.Size() }
