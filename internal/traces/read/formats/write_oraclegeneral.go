package formats

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// oracleGeneralWriter writes oracleGeneral. A record states when its object is next requested, so the records first go
// to a temporary file, with the object's dense number in that place. Finish then reads the file backwards, replaces the
// numbers by the next accesses, and copies it to the output. Memory is bounded by the number of objects.
//
// Times are rounded down to seconds. Traces without sizes get size 1, because readers of this format skip requests of
// size 0. A text key is written as its hash of 64 bits. It implements source.Loser.
type oracleGeneralWriter struct {
	ctx       context.Context
	dst       io.Writer
	fields    stream.Fields
	spool     *atomicfile.Spool
	buffer    *bufio.Writer
	numbering *stream.Numbering
	hasText   bool
	cutsTimes bool // some time is not a whole number of seconds
	records   int64
}

func newOracleGeneralWriter(ctx context.Context, w io.Writer, folder string,
	fields stream.Fields) (source.RecordWriter, error) {
	spool, err := atomicfile.NewSpool(folder)
	if err != nil {
		return nil, err
	}
	return &oracleGeneralWriter{
		ctx:       ctx,
		dst:       w,
		fields:    fields,
		spool:     spool,
		buffer:    bufio.NewWriterSize(spool, 1<<18),
		numbering: stream.NewNumbering(),
	}, nil
}

func (o *oracleGeneralWriter) Write(rec *stream.Record) error {
	seconds, size, id := int64(0), int64(1), rec.Num
	if o.fields.Time {
		seconds = rec.Time / 1e9
		o.cutsTimes = o.cutsTimes || rec.Time%1e9 != 0
	}
	if o.fields.Size {
		size = rec.Size
	}
	if rec.Text != nil {
		id, o.hasText = stream.HashText(rec.Text), true
	}
	if seconds > math.MaxUint32 {
		return fmt.Errorf("time %d s does not fit the 32 bits of oracleGeneral: it holds 0 to %d", seconds,
			uint32(math.MaxUint32))
	}
	if size > math.MaxUint32 {
		return fmt.Errorf("size %d does not fit the 32 bits of oracleGeneral: it holds 0 to %d", size, uint32(math.MaxUint32))
	}
	number := o.numbering.OfRecord(rec)
	if o.numbering.Full {
		return stream.ErrTooManyObjects
	}
	o.records++
	line := o.buffer.AvailableBuffer()
	line = binary.LittleEndian.AppendUint32(line, uint32(seconds))
	line = binary.LittleEndian.AppendUint64(line, id)
	line = binary.LittleEndian.AppendUint32(line, uint32(size))
	line = binary.LittleEndian.AppendUint64(line, uint64(number))
	_, err := o.buffer.Write(line)
	return err
}

func (o *oracleGeneralWriter) Finish() error {
	defer o.Discard()
	if err := o.buffer.Flush(); err != nil {
		return err
	}
	if err := o.checkTextIDs(); err != nil {
		return err
	}
	if err := o.fillNextAccesses(); err != nil {
		return err
	}
	if _, err := o.spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(o.dst, o.spool)
	return err
}

func (o *oracleGeneralWriter) Losses() (lost []string) {
	if o.cutsTimes {
		lost = append(lost, "fractions of seconds")
	}
	if o.hasText {
		lost = append(lost, "texts of keys (they are hashed)")
	}
	return lost
}

func (o *oracleGeneralWriter) Discard() { o.spool.Discard() }

// fillNextAccesses replaces the dense numbers in the spool by next accesses, block by block from the end.
func (o *oracleGeneralWriter) fillNextAccesses() error {
	const blockRecords = 1 << 14
	next := make([]int64, o.numbering.Len()) // per object: its next access, 0 if none
	block := make([]byte, blockRecords*OracleGeneralRecord)
	for end := o.records; end > 0; {
		if err := o.ctx.Err(); err != nil {
			return err
		}
		start := max(end-blockRecords, 0)
		block := block[:(end-start)*OracleGeneralRecord]
		if _, err := o.spool.ReadAt(block, start*OracleGeneralRecord); err != nil {
			return err
		}
		for pos := end; pos > start; pos-- {
			field := block[(pos-start)*OracleGeneralRecord-8:]
			number := binary.LittleEndian.Uint64(field)
			nextAccess := next[number]
			if nextAccess == 0 {
				nextAccess = oracleGeneralNever
			}
			binary.LittleEndian.PutUint64(field, uint64(nextAccess))
			next[number] = pos
		}
		if _, err := o.spool.WriteAt(block, start*OracleGeneralRecord); err != nil {
			return err
		}
		end = start
	}
	return nil
}

// checkTextIDs makes sure that no two keys were written as the same number, as is expected once in 37 million files of
// a million keys.
func (o *oracleGeneralWriter) checkTextIDs() error {
	if !o.hasText {
		return nil
	}
	ids := stream.NewNumbering()
	for number := range uint32(o.numbering.Len()) {
		key := o.numbering.Key(number)
		id := key.Num
		if key.Text != "" {
			id = stream.HashText([]byte(key.Text))
		}
		if other := ids.OfNumber(id); other != number {
			return fmt.Errorf("keys %s and %s would both become the number %d in oracleGeneral: write CSV or Parquet instead",
				o.numbering.Key(other), key, id)
		}
	}
	return nil
}
