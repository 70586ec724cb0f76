package cudatest

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
)

func TestDeviceIsTheInterpreter(t *testing.T) {
	if _, is := Device(t, ptxrun.Options{}).(*ptxrun.Machine); !is {
		t.Error("the first round is not in the interpreter")
	}
}

// A test has a part of a GPU's memory, its capability, and what it leaves is freed.
func TestPartOfADevice(t *testing.T) {
	whole := ptxrun.New(ptxrun.Options{Memory: 1 << 20, Major: 9})
	gpu = whole
	defer func() { gpu = nil }()
	t.Run("part", func(t *testing.T) {
		d := Device(t, ptxrun.Options{Memory: 1000, Major: 7, Minor: 5})
		if got := d.Capability(); got.String() != "7.5" {
			t.Errorf("capability %v, want 7.5", got)
		}
		at := must.Get(d.Alloc(600))(t)
		if free, total, err := d.Memory(); free != 400 || total != 1000 || err != nil {
			t.Errorf("%d of %d bytes are free, %v", free, total, err)
		}
		must.NotGet(d.Alloc(401))(t, "the test has 400 left")
		must.Do(t, d.Free(at))
		must.Get(d.Alloc(1000))(t)
	})
	if free, total, err := whole.Memory(); free != total || err != nil {
		t.Errorf("%d of %d bytes are free, %v", free, total, err)
	}
	t.Run("faults", func(t *testing.T) {
		Device(t, ptxrun.Options{Fail: 3})
		t.Error("a test of faults runs on the GPU")
	})
}

// A scope frees what is left in it, once.
func TestScopeFreesOnce(t *testing.T) {
	machine := ptxrun.New(ptxrun.Options{Memory: 1 << 20})
	s := cuda.NewScope(machine)
	for range 2 {
		must.Get(s.Alloc(100))(t)
		freed := must.Get(s.Alloc(100))(t)
		must.Do(t, s.Free(freed))
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if free, total, err := machine.Memory(); free != total || err != nil {
		t.Errorf("%d of %d bytes are free, %v", free, total, err)
	}
}
