package source

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func TestReadAheadReturnsEverythingAndThenTheError(t *testing.T) {
	content := make([]byte, 3*chunkBytes+17)
	for i := range content {
		content[i] = byte(rand.Uint32())
	}
	broken := errors.New("broken")
	for _, want := range []error{nil, broken} {
		r := io.Reader(bytes.NewReader(content))
		if want != nil {
			r = io.MultiReader(r, iotest.ErrReader(want))
		}
		a := newReadAhead(&File{}, iotest.HalfReader(r))
		got, err := io.ReadAll(a)
		if !bytes.Equal(got, content) || err != want {
			t.Errorf("got %d bytes and error %v, want %d and %v", len(got), err, len(content), want)
		}
		if _, again := a.Read(make([]byte, 1)); want != nil && again != want || want == nil && again != io.EOF {
			t.Errorf("the second error is %v", again)
		}
		if err := a.stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestReadAheadStopsEarly(t *testing.T) {
	a := newReadAhead(&File{}, endlessLines{})
	must.Get(io.ReadFull(a, make([]byte, 1<<20)))(t)
	if err := a.stop(); err != nil { // must not hang
		t.Error(err)
	}
}

// What is read ahead is no progress: the room for a trace is estimated from how much of the file its requests took.
func TestReadAheadCountsWhatWasParsed(t *testing.T) {
	content := make([]byte, 3*chunkBytes)
	in := &File{r: bytes.NewReader(content)}
	in.ahead = newReadAhead(in, in)
	defer in.ahead.stop()
	buffer := make([]byte, chunkBytes/2)
	for i, want := range []int64{chunkBytes, chunkBytes, 2 * chunkBytes, 2 * chunkBytes, 3 * chunkBytes} {
		must.Get(io.ReadFull(in.ahead, buffer))(t)
		if got := in.BytesRead(); got != want {
			t.Errorf("after %d halves of a chunk %d bytes were taken, want %d", i+1, got, want)
		}
	}
}

// A file that is merged with others reads less ahead than one alone.
func TestReadAheadIsBounded(t *testing.T) {
	for _, c := range []struct {
		merged bool
		want   int64
	}{{false, chunksAhead * chunkBytes}, {true, chunksAheadTogether * chunkBytesTogether}} {
		in := &File{r: bytes.NewReader(make([]byte, 2*c.want)), Merged: c.merged}
		a := newReadAhead(in, in)
		for len(a.filled) < cap(a.filled) {
			time.Sleep(time.Millisecond)
		}
		a.stop()
		if got := in.fetched.Load(); got != c.want {
			t.Errorf("merged %v: %d bytes were read ahead, want %d", c.merged, got, c.want)
		}
	}
}

// silent returns nothing and no error, which io.Reader discourages.
type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

func TestReadAheadGivesUpOnAReaderThatReturnsNothing(t *testing.T) {
	a := newReadAhead(&File{}, silent{})
	defer a.stop()
	if _, err := bufio.NewReader(a).ReadByte(); err != io.ErrNoProgress {
		t.Errorf("got %v, want %v", err, io.ErrNoProgress)
	}
}

// endlessLines repeats a line for ever.
type endlessLines struct{}

func (endlessLines) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = "7\n"[i%2]
	}
	return len(p) / 2 * 2, nil
}
