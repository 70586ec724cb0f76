package source

import "io"

// readAhead decompresses in a goroutine of its own while what it already has is parsed, which takes about as long.
type readAhead struct {
	r       io.Reader
	empty   chan []byte // buffers to fill
	filled  chan chunk
	quit    chan struct{} // closed to end the goroutine
	ended   chan struct{} // closed when it has ended
	current chunk
	unread  []byte // part of current
}

// chunk is what one Read returned.
type chunk struct {
	buffer []byte
	n      int
	err    error
}

// newReadAhead starts to read r, a call of which must not wait for long. The caller must call stop before it closes
// what r reads.
func newReadAhead(r io.Reader) *readAhead {
	const buffers, bufferSize = 4, 128 << 10
	a := &readAhead{
		r:      r,
		empty:  make(chan []byte, buffers),
		filled: make(chan chunk, buffers),
		quit:   make(chan struct{}),
		ended:  make(chan struct{}),
	}
	for range buffers {
		a.empty <- make([]byte, bufferSize)
	}
	go a.run()
	return a
}

func (a *readAhead) run() {
	defer close(a.ended)
	for {
		select {
		case <-a.quit:
			return
		case buffer := <-a.empty:
			n, err := a.r.Read(buffer)
			a.filled <- chunk{buffer, n, err} // has room for all buffers
			if err != nil {
				return
			}
		}
	}
}

// Read implements io.Reader.
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
	}
	n := copy(p, a.unread)
	a.unread = a.unread[n:]
	return n, nil
}

// stop ends the goroutine. Read must not be called any more.
func (a *readAhead) stop() error {
	close(a.quit)
	<-a.ended
	return nil
}
