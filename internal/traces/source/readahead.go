package source

import (
	"io"
	"sync/atomic"
)

// readAhead decompresses in a goroutine of its own while what it already has is parsed. The two take about as long, but
// not evenly: tables grow, blocks compress differently. So the goroutine may be several chunks ahead, and a chunk is
// large, because each may put one of the two to sleep.
type readAhead struct {
	r       io.Reader
	in      *File       // that r decompresses
	empty   chan []byte // buffers to fill
	filled  chan chunk
	quit    chan struct{} // closed to end the goroutine
	ended   chan struct{} // closed when it has ended
	current chunk
	unread  []byte       // part of current
	taken   atomic.Int64 // bytes of the file read for the data returned so far
}

// How far ahead is read: chunks, and the bytes of each. When files are merged there may be thousands of them, so each
// reads ahead less.
const (
	chunksAhead, chunkBytes                 = 8, 1 << 20
	chunksAheadTogether, chunkBytesTogether = 4, 128 << 10
)

// leastAhead is the size of a compressed file from which reading ahead is worth a goroutine and its buffers.
const leastAhead = 64 << 10

// chunk is what the goroutine has read at once.
type chunk struct {
	buffer []byte
	n      int
	err    error
	taken  int64 // bytes of the file that were read for it and all earlier chunks
}

// newReadAhead starts to read r, the decompressed content of a file. A call of r.Read must not wait for long. The
// caller must call stop before it closes what r reads.
func newReadAhead(in *File, r io.Reader) *readAhead {
	chunks, size := chunksAhead, chunkBytes
	if in.Merged {
		chunks, size = chunksAheadTogether, chunkBytesTogether
	}
	a := &readAhead{r: r, in: in, empty: make(chan []byte, chunks), filled: make(chan chunk, chunks),
		quit: make(chan struct{}), ended: make(chan struct{})}
	go a.run(chunks, size)
	return a
}

func (a *readAhead) run(chunks, size int) {
	defer close(a.ended)
	for made := 0; ; {
		if made < chunks && len(a.empty) == 0 { // a short file needs few buffers
			a.empty <- make([]byte, size)
			made++
		}
		select {
		case <-a.quit:
			return
		case buffer := <-a.empty:
			next := a.fill(buffer)
			a.filled <- next // has room for all buffers
			if next.err != nil {
				return
			}
		}
	}
}

// fill reads until the buffer is full, r ends or stop is called.
func (a *readAhead) fill(buffer []byte) chunk {
	c := chunk{buffer: buffer}
	for c.err == nil && c.n < len(buffer) {
		select {
		case <-a.quit:
			return c
		default:
		}
		var n int
		n, c.err = a.r.Read(buffer[c.n:])
		c.n += n
		if n == 0 {
			break // bufio, which reads a, limits how often it accepts nothing
		}
	}
	c.taken = a.in.fetched.Load()
	return c
}

func (a *readAhead) Read(p []byte) (int, error) {
	if len(a.unread) == 0 {
		if a.current.err != nil {
			return 0, a.current.err
		}
		if a.current.buffer != nil {
			a.empty <- a.current.buffer // has room for all buffers
		}
		a.current = <-a.filled
		a.unread = a.current.buffer[:a.current.n]
		a.taken.Store(a.current.taken)
	}
	n := copy(p, a.unread)
	a.unread = a.unread[n:]
	return n, nil
}

// stop ends the goroutine. Read must not be called any more.
func (a *readAhead) stop() error {
	// The goroutine never blocks on filled, which has room for all buffers, so it sees this.
	close(a.quit)
	<-a.ended
	return nil
}
