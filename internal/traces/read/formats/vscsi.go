package formats

import (
	"encoding/binary"
	"math"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var vscsiFormat = source.Format{
	Name: "vscsi",
	Options: []params.Param{{
		Name: "version", Default: "auto", Choices: []string{"auto", "1", "2"}, Doc: "version of the records",
	}},
	Detect:     detectVSCSI,
	Binary:     true,
	Impossible: noVSCSI,
	Open:       openVSCSI,
}

// vscsiLayout says where the fields of a record are, in bytes from its beginning. (As in libCacheSim's vscsi.h.)
type vscsiLayout struct {
	version                              string
	record                               int // length in bytes
	size, command, stated, block, microS int
}

var vscsiLayouts = []vscsiLayout{
	{version: "1", record: 32, size: 4, command: 12, stated: 14, block: 16, microS: 24},
	{version: "2", record: 40, size: 8, command: 0, stated: 2, block: 16, microS: 24},
}

// matches reports whether a record states the version of l, which is in the upper byte of its field.
func (l vscsiLayout) matches(record []byte) bool {
	return record[l.stated+1] == l.version[0]-'0'
}

// recogniseVSCSI returns the layout in which all whole records of head state the right version.
func recogniseVSCSI(head []byte) (layout vscsiLayout, ok bool) {
	for _, l := range vscsiLayouts {
		matched := len(head) >= l.record
		for records := head; matched && len(records) >= l.record; records = records[l.record:] {
			matched = l.matches(records)
		}
		if matched {
			return l, true
		}
	}
	return vscsiLayout{}, false
}

func detectVSCSI(head source.Head, _ string) source.Confidence {
	layout, ok := recogniseVSCSI(head.Bytes)
	if !ok || !source.IsBinary(head.Bytes) {
		return source.No
	}
	if len(head.Bytes) >= 2*layout.record {
		return source.Likely
	}
	return source.Possible
}

// noVSCSI says why a file is not a vscsi trace.
func noVSCSI(head source.Head) string {
	if _, ok := recogniseVSCSI(head.Bytes); ok {
		return ""
	}
	return "want records of 32 bytes that state version 1, or of 40 bytes that state version 2"
}

// vscsiReader implements Reader.
type vscsiReader struct {
	src    *source.Source
	layout vscsiLayout
	batch  []byte // records not yet returned
	offset int64  // of batch in the file
}

func openVSCSI(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	r := &vscsiReader{src: src}
	for _, l := range vscsiLayouts {
		if l.version == opts.Text("version") {
			r.layout = l
		}
	}
	if r.layout.record == 0 {
		head, err := src.Head()
		if err != nil {
			return nil, stream.Fields{}, err
		}
		var ok bool
		if r.layout, ok = recogniseVSCSI(head.Bytes); !ok {
			return nil, stream.Fields{}, src.Errorf("is not in format vscsi: %s", noVSCSI(head))
		}
	}
	opts["version"] = r.layout.version
	src.Reading.Layout, src.Reading.Key, src.Reading.Time = "version "+r.layout.version, "key block", "time in us"
	return r, stream.Fields{Time: true, Size: true, Op: true}, nil
}

func (r *vscsiReader) Read(rec *stream.Record) error {
	if len(r.batch) == 0 {
		var err error
		r.offset = r.src.Offset()
		if r.batch, err = r.src.Records(r.layout.record); err != nil {
			return err
		}
	}
	record := r.batch[:r.layout.record]
	if !r.layout.matches(record) {
		return r.src.OffsetErrorf(r.offset, "the record states version %d: want %s like the records before",
			record[r.layout.stated+1], r.layout.version)
	}
	microseconds := binary.LittleEndian.Uint64(record[r.layout.microS:])
	if microseconds > math.MaxInt64/1000 {
		return r.src.OffsetErrorf(r.offset, "time %d us: want less than 2^63 ns", microseconds)
	}
	*rec = stream.Record{
		Time: int64(microseconds) * 1000,
		Num:  binary.LittleEndian.Uint64(record[r.layout.block:]),
		Size: int64(binary.LittleEndian.Uint32(record[r.layout.size:])),
		Op:   scsiOp(binary.LittleEndian.Uint16(record[r.layout.command:])),
	}
	r.batch = r.batch[r.layout.record:]
	r.offset += int64(r.layout.record)
	return nil
}

// scsiOp translates a SCSI operation code: READ and WRITE of 6, 10, 12 and 16 bytes.
func scsiOp(command uint16) stream.Op {
	switch command {
	case 0x08, 0x28, 0xa8, 0x88:
		return stream.OpRead
	case 0x0a, 0x2a, 0xaa, 0x8a:
		return stream.OpWrite
	}
	return stream.OpUnknown
}
