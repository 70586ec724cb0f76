package experiment

import (
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
)

// Cells that a device replays have the records of the CPU; their times, and no others, name the device.
func TestExecuteOnDevice(t *testing.T) {
	const trace = "zipf(objects=150,requests=3000)"
	cells := grid([]string{trace}, []string{"lru", "lru-stack", "fifo"}, []string{"5", "10%", "100"})
	want := must.Get(execute(t, cells, Options{}))(t)
	var notes []string
	got := must.Get(execute(t, cells, Options{Device: cuda.Share(ptxrun.New(ptxrun.Options{})),
		Note: func(text string) { notes = append(notes, text) }}))(t)
	for _, c := range cells {
		device := ""
		if strings.HasPrefix(c.Label, "lru") {
			device = "PTX interpreter"
		}
		r := got[c.Hash]
		if !reflect.DeepEqual(r.Record, want[c.Hash].Record) || r.Device != device {
			t.Errorf("%s on %q: %+v, want %q and %+v", c, r.Device, r.Record, device, want[c.Hash].Record)
		}
	}
	if len(notes) == 0 || !strings.Contains(strings.Join(notes, "\n"), "replaying on PTX interpreter: lru") {
		t.Errorf("notes %q", notes)
	}
}
