package traces

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/cachesim/cachesim/internal/params"
)

var oracleGeneralFormat = Format{
	Name:      "oraclegeneral",
	Summary:   "libCacheSim's oracleGeneral: packed little-endian records of 24 bytes, uint32 time in seconds, uint64 key, uint32 size, int64 next access",
	Carries:   "time, key, size",
	Detection: "times that do not decrease and next accesses that lead to the same key",
	Detect:    detectOracleGeneral,
	Open:      openOracleGeneral,
}

// A record is oracleGeneralRecord bytes long. Its next access is the position in the file, counted from 1, of the object's next
// request; oracleGeneralNever, or the largest int64 in some files, says that there is none.
const (
	oracleGeneralRecord = 24
	oracleGeneralNever  = -1
)

// oracleGeneralFields decodes one record.
func oracleGeneralFields(record []byte) (seconds uint32, key uint64, size uint32, next int64) {
	_ = record[oracleGeneralRecord-1]
	return binary.LittleEndian.Uint32(record),
		binary.LittleEndian.Uint64(record[4:]),
		binary.LittleEndian.Uint32(record[12:]),
		int64(binary.LittleEndian.Uint64(record[16:]))
}

// detectOracleGeneral follows the next accesses at the beginning of the file.
func detectOracleGeneral(head Head, name string) Confidence {
	records := head.Bytes[:len(head.Bytes)/oracleGeneralRecord*oracleGeneralRecord]
	if len(records) == 0 {
		return No
	}
	named := strings.Contains(name, "oraclegeneral")
	lastTime, known := uint32(0), false
	for offset := 0; offset < len(records); offset += oracleGeneralRecord {
		seconds, key, _, next := oracleGeneralFields(records[offset:])
		if seconds < lastTime || !plausibleNext(records, offset/oracleGeneralRecord+1, key, next) {
			return No
		}
		lastTime = seconds
		known = known || next != 0
	}
	switch {
	case named:
		return Certain
	case known:
		return Likely
	}
	return No
}

// plausibleNext says whether the next access of the record at a position (from 1) can be true: none, not stated (0), or a later
// position, where the same key is if that is among the records at hand.
func plausibleNext(records []byte, pos int, key uint64, next int64) bool {
	if next == oracleGeneralNever || next == math.MaxInt64 || next == 0 {
		return true
	}
	if next <= int64(pos) || next > maxCount {
		return false
	}
	offset := (next - 1) * oracleGeneralRecord
	return offset >= int64(len(records)) || binary.LittleEndian.Uint64(records[offset+4:]) == key
}

// oracleGeneralReader reads one record after another. Load takes them in batches from src instead.
type oracleGeneralReader struct {
	src   *Source
	batch []byte // records not yet returned
}

func openOracleGeneral(src *Source, _ params.Values) (Reader, Fields, error) {
	return &oracleGeneralReader{src: src}, Fields{Time: true, Size: true}, nil
}

// Read implements Reader.
func (o *oracleGeneralReader) Read(rec *Record) error {
	if len(o.batch) == 0 {
		var err error
		if o.batch, err = o.src.Records(oracleGeneralRecord); err != nil {
			return err
		}
	}
	seconds, key, size, _ := oracleGeneralFields(o.batch)
	*rec = Record{Time: int64(seconds) * 1e9, Num: key, Size: int64(size)}
	o.batch = o.batch[oracleGeneralRecord:]
	return nil
}
