package read

import (
	"sync/atomic"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// parseAhead reads records in a goroutine of its own while those before are numbered, which takes about half as long as
// to parse them. The records come in their order, so that what is read does not depend on how far ahead it is.
type parseAhead struct {
	from    stream.Reader
	read    func() int64 // bytes of the file that were read so far
	empty   chan *parsed
	filled  chan *parsed
	quit    chan struct{} // closed to end the goroutine
	ended   chan struct{} // closed when it has ended
	current *parsed
	next    int          // record of current
	taken   atomic.Int64 // bytes of the file that were read for the records returned so far
}

// parsed are the records that the goroutine hands over at once.
type parsed struct {
	stream.Batch
	err   error // after the records
	taken int64 // bytes of the file that were read for them and all before
}

// batchesAhead is how far ahead is read.
const batchesAhead = 8

// What is worth a goroutine: bytes of a file, or records from elsewhere.
const (
	leastParseAhead = 1 << 20
	leastReadAhead  = 1 << 16
)

// isAhead reports whether records with some fields can be read ahead, where there are cores for it. Those of plain
// objects can: what else belongs to a record is valid until the next one is read. A limit ends the reading where it is
// reached.
func (s *scan) isAhead(f stream.Fields) bool {
	return parallel.Jobs(0) > 1 && s.opts.Limit == 0 && f.Kind == nil && !f.Groups && !f.Tenant && s.opts.By == "" &&
		s.opts.Beside == nil
}

// parseAhead starts to parse a file ahead; nil where that is not worth it, or cannot be: the members of an archive may
// end the reading, too. The caller must call stop before it closes the file.
func (s *scan) parseAhead(opened *Stream) *parseAhead {
	_, isArchive := opened.Reader.(*tarReader)
	_, isBinary := opened.Reader.(*formats.OracleGeneralReader) // which is faster than what is handed over
	if opened.in.Size < leastParseAhead || isArchive || isBinary || !s.isAhead(opened.Fields) {
		return nil
	}
	return newParseAhead(opened.Reader, opened.in.BytesRead)
}

// newParseAhead starts to read ahead. The caller must call stop.
func newParseAhead(from stream.Reader, read func() int64) *parseAhead {
	a := &parseAhead{from: from, read: read, empty: make(chan *parsed, batchesAhead),
		filled: make(chan *parsed, batchesAhead), quit: make(chan struct{}), ended: make(chan struct{}), current: &parsed{}}
	for range batchesAhead - 1 { // and the current one
		a.empty <- &parsed{}
	}
	go a.run()
	return a
}

func (a *parseAhead) run() {
	defer close(a.ended)
	for {
		select {
		case <-a.quit:
			return
		case p := <-a.empty:
			p.fill(a.from, a.read)
			a.filled <- p // has room for all
			if p.err != nil {
				return
			}
		}
	}
}

// fill reads records until the batch is full or they end.
func (p *parsed) fill(from stream.Reader, read func() int64) {
	p.Clear()
	var rec stream.Record
	for full := false; !full && p.err == nil; {
		if p.err = from.Read(&rec); p.err == nil {
			full = p.Add(&rec)
		}
	}
	p.taken = read()
}

func (a *parseAhead) Read(rec *stream.Record) error {
	for a.next == len(a.current.Records) {
		if a.current.err != nil {
			return a.current.err
		}
		a.empty <- a.current // has room for all
		a.current, a.next = <-a.filled, 0
		a.taken.Store(a.current.taken)
	}
	*rec = a.current.Records[a.next]
	a.next++
	return nil
}

// stop ends the goroutine. Read must not be called any more.
func (a *parseAhead) stop() {
	close(a.quit)
	<-a.ended
}
