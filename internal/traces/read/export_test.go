package read

import (
	"context"
	"math"

	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// What tests use of the inside of this package.
const FirstRoom = firstRoom

var RotatedWarning = rotatedWarning

// Keeps reports whether a sample has the key of a record.
func Keeps(rate float64, seed uint64, rec *stream.Record) bool {
	return traces.NewSampler(rate, seed).Keeps(rec)
}

// Stored says until when objects are valid, by their keys, of those that a log stored; 0: for ever.
type Stored map[string]int64

// Follow calls after behind each command of a log, with the number of rows so far and what is stored.
func Follow(rows []stream.Record, after func(rows int, stored Stored)) {
	numbering := stream.NewNumbering()
	t := &traces.Trace{Written: traces.Written{Mode: stream.WritesStore}}
	var ttls []int64
	var flushed flushes
	var counted, flushRows []int // rows at each position, and those that delete all objects
	for i := range rows {
		rec := &rows[i]
		if rec.Op.Kind() == stream.OpFlush {
			flushed.rows = append(flushed.rows, flushRow{len(t.Objects), string(rec.Text)})
			flushRows = append(flushRows, i)
			continue
		}
		t.Objects, t.Ops = append(t.Objects, numbering.OfRecord(rec)), append(t.Ops, rec.Op)
		t.Times, ttls = append(t.Times, rec.Time), append(ttls, rec.TTL)
		counted = append(counted, i)
	}
	t.NumObjects, t.Keys = numbering.Len(), numbering.AllKeys()
	f := newFollower(t, ttls, &flushed)
	say := func(rows int) {
		stored := Stored{}
		for o, life := range f.lives {
			if life == wasStored {
				stored[t.Keys[o].String()] = f.valid.ends[o] % math.MaxInt64
			}
		}
		after(rows, stored)
	}
	for pos := 0; pos < len(t.Objects); {
		pos = f.follow(pos)
		say(counted[pos-1] + 1)
		for flushed.waits(pos) {
			f.flush(pos)
			say(flushRows[len(flushRows)-len(flushed.rows)-1] + 1)
		}
	}
}

const wasStored = stored

// Opened is a file as Agree sees it.
type Opened struct {
	Path   string
	Ops    bool
	Writes stream.Writes
}

// Agree opens files one after another and returns what their writes do.
func Agree(mode string, files ...Opened) (stream.Writes, error) {
	s, err := newScan(context.Background(), []string{"all"}, Options{Selection: Selection{Writes: mode}})
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		if err := s.agree(f.Path, stream.Fields{Op: f.Ops}, f.Writes); err != nil {
			return 0, err
		}
	}
	return s.writes, nil
}
