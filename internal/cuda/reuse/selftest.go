package reuse

import (
	_ "embed"

	"github.com/cachesim/cachesim/internal/cuda"
)

//go:embed selftest.txt
var sums string

// SelfTest has few objects but more than a tile of requests in the second of two chunks, so that every kernel runs.
var SelfTest = &cuda.SelfTest{Name: cuda.ReuseDistances.Name, Sums: sums, Run: func(d cuda.Device) error {
	const numObjects, warmup = 300, 400
	objects := make([]uint32, warmup+2*tile)
	for i := range objects {
		x := uint32(i) * 0x9e3779b9 // its upper bits are spread evenly
		objects[i] = x >> 16 * (x & 0xff) % numObjects
	}
	s, err := NewStack(d, numObjects, len(objects)-warmup)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Serve(objects[:warmup], false); err != nil {
		return err
	}
	if err := s.Serve(objects[warmup:], true); err != nil {
		return err
	}
	_, err = s.Distances()
	return err
}}
