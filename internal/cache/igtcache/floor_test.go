package igtcache

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// Readers that take turns in any order are counted, forwards and backwards, and one that stops is not any more.
// Requests here and there are no readers.
func TestReadersAreCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "readers") // each has its turn among 2n - 1 < 64 requests
		bits := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		var x use
		at := make([]uint64, n)
		for i := range at {
			at[i] = uint64(i+1) << 20
		}
		for range 3 {
			for _, i := range bits.Perm(n) {
				x.read(at[i])
				at[i] += uint64(2*(i%2)) - 1
			}
		}
		if got := x.goOn(); got != int64(n) {
			t.Fatalf("%d readers, want %d", got, n)
		}
		for range followed {
			x.read(at[0])
			at[0]--
		}
		if got := x.goOn(); got != 1 {
			t.Fatalf("%d readers where one goes on", got)
		}
		for i := range uint64(followed) {
			x.read(i << 40)
		}
		if got := x.goOn(); got != 0 {
			t.Fatalf("%d readers where none goes on", got)
		}
	})
}

// The floor is readers x (depth + 1) + 1 blocks.
func TestFloor(t *testing.T) {
	d := &dataset{}
	var requests []block
	for range 3 {
		d.add(90, "%d.bin", len(d.paths)) // fewer blocks than make a stream
	}
	for number := range 90 {
		for file := range 3 {
			requests = append(requests, block{file, number})
		}
	}
	for text, want := range map[string]int64{
		"igtcache(floor=true)":            3*(8+1) + 1, // of the readahead
		"igtcache(floor=true,depth=12)":   3*(12+1) + 1,
		"igtcache(floor=true,under=none)": 3*(4+1) + 1,
		"igtcache(idle=lend)":             0,
	} {
		c := configOf(t, d.trace(requests, 0), text, 200, true)
		served := build(t, c)
		serve(t, served, c, 0, len(requests))
		if s := served.system; s.floor(s.units[0]) != want {
			t.Errorf("%s: %d blocks, want %d", text, s.floor(s.units[0]), want)
		}
	}
}

// Files that are read backwards, one after the other, are streams that nobody reads again for long: what they had
// serves the one that is read.
func TestIdleStreamsLendTheirRoom(t *testing.T) {
	const files, blocks = 60, 120
	d := &dataset{}
	var requests []block
	for file := range files {
		d.add(blocks, "layer%02d.bin", file)
	}
	for range 3 {
		for file := files - 1; file >= 0; file-- {
			for number := blocks - 1; number >= 0; number-- {
				requests = append(requests, block{file, number})
			}
		}
	}
	free, safe := hitRatio(t, d, requests, "igtcache", 0.03), hitRatio(t, d, requests, "igtcache(mode=safe)", 0.03)
	if free > 0.3 || safe < 0.7 {
		t.Errorf("hit ratio %v, with mode=safe %v", free, safe)
	}
	for _, text := range []string{"igtcache(idle=lend)", "igtcache(mode=safe)"} {
		c := configOf(t, d.trace(requests, 1), text, files*blocks/30, true)
		served := build(t, c)
		serve(t, served, c, 0, len(requests))
		s := served.system
		if u := s.unitOf(s.owner); u.pool.Capacity()+s.free < c.Capacity/2 {
			t.Errorf("%s: the stream that is read has %d of %d, and %d are free", text, u.pool.Capacity(), c.Capacity, s.free)
		}
	}
}
