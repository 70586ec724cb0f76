package cuda

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func TestParseChoice(t *testing.T) {
	for text, want := range map[string]Choice{
		"cpu": {}, "cuda": {kind: onGPU}, "cuda:0": {kind: onGPU}, "cuda:12": {onGPU, 12}, "auto": {kind: auto},
	} {
		got, err := ParseChoice(text)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
		again, err := ParseChoice(got.String())
		if err != nil || again != got {
			t.Errorf("%s: written %s, which is %v, %v", text, got, again, err)
		}
	}
	for text, want := range map[string]string{
		"":           `device ""`,
		"gpu":        `device "gpu": want cpu, cuda (an NVIDIA GPU), cuda:N`,
		"CUDA":       `device "CUDA": want cpu, cuda`,
		"cuda:":      `want the number of a GPU after cuda:`,
		"cuda:-1":    `want the number of a GPU after cuda:`,
		"cuda:1.5":   `want the number of a GPU after cuda:`,
		"cuda:99999": `want the number of a GPU after cuda:`,
		"cuda:N":     `want the number of a GPU after cuda:`,
	} {
		if c, err := ParseChoice(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, error %v, want %s", text, c, err, want)
		}
	}
}

func TestPack(t *testing.T) {
	got, err := Pack(uint32(1), 0.5, int32(-1), Pointer(2), float32(1), uint64(3), int64(-2))
	want := []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xe0, 0x3f, 255, 255, 255, 255, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0x80, 0x3f, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 254, 255, 255, 255, 255, 255, 255, 255}
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	_, err = Pack(uint32(1), 2)
	must.Fail(t, err, "argument 1 of a kernel is a int")
}

func TestGridCheck(t *testing.T) {
	for _, test := range []struct {
		grid Grid
		want string
	}{
		{Grid{1, 32}, ""},
		{Grid{1<<31 - 1, 1024}, ""},
		{Grid{0, 32}, "0 blocks"},
		{Grid{1 << 31, 32}, "blocks"},
		{Grid{1, 0}, "0 threads"},
		{Grid{1, 33}, "33 threads"},
		{Grid{1, 1056}, "threads"},
	} {
		err := test.grid.check()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: error %v, want %q", test.grid, err, test.want)
		}
	}
}

func TestComputations(t *testing.T) {
	for _, test := range []struct {
		c    Capability
		want int
	}{{Capability{6, 2}, 0}, {Capability{7, 0}, 3}, {Capability{7, 5}, 3}, {Capability{8, 0}, 4}, {Capability{12, 0}, 4}} {
		if got := Computations(test.c); len(got) != test.want {
			t.Errorf("%v: %v, want %d", test.c, got, test.want)
		}
	}
}
