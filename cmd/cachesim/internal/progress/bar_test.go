package progress

import (
	"io"
	"testing"

	"github.com/vbauerster/mpb/v8"
)

// A preparation that is abandoned goes on for a while, and may tell how far it is when its bar has gone.
func TestPreparationGoesOnAfterItsEnd(t *testing.T) {
	p := newBar(mpb.New(mpb.WithOutput(io.Discard)), "writing", Requests)
	silent, endSilent := p.Preparing()
	set, end := p.Preparing()
	set(1, 4)
	set(2, 4)
	end()
	endSilent() // no error: it never printed
	p.Finish()
	set(3, 4)
	silent(1, 4)
	none := &Bar{notes: io.Discard}
	set, end = none.Preparing()
	set(1, 4)
	end()
}
