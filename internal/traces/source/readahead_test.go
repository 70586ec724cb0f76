package source

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"
)

func TestReadAheadReturnsEverythingAndThenTheError(t *testing.T) {
	content := make([]byte, 3<<20)
	for i := range content {
		content[i] = byte(rand.Uint32())
	}
	broken := errors.New("broken")
	for _, want := range []error{nil, broken} {
		r := io.Reader(bytes.NewReader(content))
		if want != nil {
			r = io.MultiReader(r, iotest.ErrReader(want))
		}
		a := newReadAhead(iotest.HalfReader(r))
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
	a := newReadAhead(endlessLines{})
	if _, err := io.ReadFull(a, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := a.stop(); err != nil { // must not hang
		t.Error(err)
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
