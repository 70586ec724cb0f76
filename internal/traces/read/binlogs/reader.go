package binlogs

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

const second = int64(1e9)

// reader reads records of a layout. It implements stream.Reader.
type reader struct {
	src *source.Source
	layout
	unit    int64 // nanoseconds of a unit of time
	ops     source.OpFilter
	tenants bool
	batch   []byte // records not yet returned
	offset  int64  // of batch in the file
	read    int64  // records
	stated  int64  // how many there are; 0: the file does not say it
	text    []byte // of the tenant
}

func (r *reader) fields() stream.Fields {
	return stream.Fields{Time: r.time.exists(), Size: r.size.exists(), Op: r.op.exists(), TTL: r.ttl.exists(),
		Tenant: r.tenants, SizeMayLack: r.size.exists() && r.lacksSizes()}
}

// lacksSizes reports whether a size of 0 is one that the trace does not state.
func (l *layout) lacksSizes() bool { return l.op.exists() && l.op.kind != scsi }

func (r *reader) Read(rec *stream.Record) error {
	for {
		if len(r.batch) == 0 {
			if err := r.fill(); err != nil {
				return err
			}
		}
		record := r.batch[:r.record]
		at := r.offset
		r.batch, r.offset = r.batch[r.record:], at+int64(r.record)
		r.read++
		if err := r.parse(record, rec); err != nil {
			return r.src.OffsetErrorf(at, "%w", err)
		}
		if r.ops.Has(rec.Op) {
			return nil
		}
		r.src.Reading.LeftOut++
	}
}

// fill takes the next records. A file that has fewer than its header states was cut off.
func (r *reader) fill() (err error) {
	r.offset = r.src.Offset()
	r.batch, err = r.src.Records(r.record)
	if err == io.EOF && r.read < r.stated {
		return r.src.OffsetErrorf(r.offset, "the file ends after %d requests, and its header states %d: it was cut off",
			r.read, r.stated)
	}
	return err
}

func (r *reader) parse(record []byte, rec *stream.Record) (err error) {
	if err := r.checkVersion(record); err != nil {
		return err
	}
	*rec = stream.Record{Num: r.key.number(record)}
	if r.time.exists() {
		if rec.Time, err = r.time.timeFrom(record, r.unit); err != nil {
			return err
		}
	}
	if r.size.exists() {
		if err = r.setSize(record, rec); err != nil {
			return err
		}
	}
	if r.op.exists() {
		if rec.Op, err = opFrom(&r.op, record); err != nil {
			return err
		}
	}
	if r.ttl.exists() {
		if n := r.ttl.number(record); !r.ttl.negative(n) && n <= uint64(math.MaxInt64/second) { // else for ever
			rec.TTL = int64(n) * second
		}
	}
	if r.tenants {
		r.text = strconv.AppendUint(r.text[:0], r.tenant.number(record), 10)
		rec.Tenant = r.text
	}
	return nil
}

// checkVersion refuses a record that states another version than its layout.
func (l *layout) checkVersion(record []byte) error {
	if !l.version.exists() {
		return nil
	}
	if version := l.version.number(record) >> 8; strconv.FormatUint(version, 10) != l.name {
		return fmt.Errorf("the record states version %d: want %s like the records before", version, l.name)
	}
	return nil
}

func (r *reader) setSize(record []byte, rec *stream.Record) (err error) {
	if r.extends {
		const ones = 0xffffffff << 32
		if n := r.size.number(record); n >= ones {
			rec.Size = int64(n - ones)
			rec.SizeUnknown = r.lacksSizes() && rec.Size == 0
			return nil
		}
	}
	if rec.Size, err = r.size.bytesFrom(record, "size"); err != nil {
		return err
	}
	rec.SizeUnknown = r.lacksSizes() && rec.Size == 0
	if r.keySize.exists() {
		rec.KeySize, err = r.keySize.bytesFrom(record, "size of the key")
	}
	return err
}

// operations are the numbers of operations in libCacheSim's enum req_op_e.
var operations = [...]stream.Op{
	0: stream.OpUnknown, 1: stream.OpRead, 2: stream.OpRead, // nop, get, gets
	3: stream.OpWrite, 4: stream.OpWrite, 5: stream.OpWrite, 6: stream.OpWrite, // set, add, cas, replace
	7: stream.OpUpdate, 8: stream.OpUpdate, 9: stream.OpDelete, // append, prepend, delete
	10: stream.OpUpdate, 11: stream.OpUpdate, // incr, decr
	12: stream.OpRead, 13: stream.OpWrite, 14: stream.OpUpdate,
}

// scsiOp translates the code of READ and WRITE of 6, 10, 12 and 16 bytes.
func scsiOp(code uint64) stream.Op {
	switch code {
	case 0x08, 0x28, 0xa8, 0x88:
		return stream.OpRead
	case 0x0a, 0x2a, 0xaa, 0x8a:
		return stream.OpWrite
	}
	return stream.OpUnknown
}

// opFrom reads an operation: a number of libCacheSim's or of SCSI, or a word.
func opFrom(f *field, record []byte) (stream.Op, error) {
	if f.kind == scsi {
		return scsiOp(f.number(record)), nil
	}
	if f.kind == text {
		word := bytes.TrimRight(record[f.offset:f.offset+f.bytes], "\x00 ")
		op, ok := source.ParseOp(word)
		if !ok {
			return op, fmt.Errorf("operation %.20q: want one such as get, set, r, w or delete", word)
		}
		return op, nil
	}
	n := f.number(record)
	if n >= uint64(len(operations)) {
		return stream.OpUnknown, fmt.Errorf("operation %d: want a number of libCacheSim's, from 0 to %d", n,
			len(operations)-1)
	}
	return operations[n], nil
}
