package cuda

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// SelfTest is a small computation that leaves known bytes in the memory of every device that works. It finds drivers
// that accept kernels but do nothing, or something else: what these return looks like a result.
type SelfTest struct {
	Name string             // of the computation
	Run  func(Device) error // launches every kernel of the computation at least once, in the same order on all devices
	// Sums has a line per launch: the kernel, and the checksum of all memory without addresses when it has ended.
	Sums string
	// AnyOrder: the order of what kernels write depends on the device. The checksum then ignores the order, and no kernel
	// may write where another one has written.
	AnyOrder bool
}

// Check runs the test on a device. Its error names the first kernel with a wrong result, or the copy that did not
// arrive.
func (t *SelfTest) Check(d Device) error {
	want := strings.FieldsFunc(t.Sums, func(r rune) bool { return r == '\n' || r == '\r' })
	w := &witness{Device: d, test: t, check: func(n int, sum string) error {
		if n < len(want) && sum == want[n] {
			return nil
		}
		expected := "no further launch"
		if n < len(want) {
			expected = want[n]
		}
		return t.failed(fmt.Sprintf("launch %d left other bytes in memory than it must: kernel and checksum are %s, "+
			"expected %s", n+1, sum, expected))
	}}
	err := t.Run(w)
	switch {
	case w.failed != nil:
		return w.failed
	case err != nil:
		return fmt.Errorf("self-test of %s: %w", t.Name, err)
	case w.launches != len(want):
		return t.failed(fmt.Sprintf("%d kernels were launched, expected %d", w.launches, len(want)))
	}
	return nil
}

// Record returns the Sums of the test on a device that works.
func (t *SelfTest) Record(d Device) (string, error) {
	var sums strings.Builder
	w := &witness{Device: d, test: t, check: func(_ int, sum string) error {
		sums.WriteString(sum + "\n")
		return nil
	}}
	err := t.Run(w)
	return sums.String(), err
}

func (t *SelfTest) failed(what string) error {
	return &Failure{Text: fmt.Sprintf("the self-test of %s failed: %s; the GPU or its driver does not work as it should: "+
		"see nvidia-smi, and %s", t.Name, what, useCPU)}
}

// witness is a device whose memory is read after each launch, and whose copies are read back. It implements Device.
type witness struct {
	Device
	test     *SelfTest
	held     []holding // in order of allocation
	launches int
	check    func(launch int, sum string) error
	failed   error // what check returned
}

type holding struct {
	at     Pointer
	bytes  int64
	opaque bool
}

// Opaque marks an allocation that holds addresses, which differ between devices: self-tests leave it out.
func Opaque(s *Scope, at Pointer) {
	if w, is := s.Device.(*witness); is {
		for i := range w.held {
			w.held[i].opaque = w.held[i].opaque || w.held[i].at == at
		}
	}
}

// Alloc implements Device. The memory is 0, so that checksums do not depend on what was there.
func (w *witness) Alloc(bytes int64) (Pointer, error) {
	at, err := w.Device.Alloc(bytes)
	if err != nil {
		return 0, err
	}
	w.held = append(w.held, holding{at: at, bytes: bytes})
	return at, w.Fill(at, 0, bytes)
}

func (w *witness) Free(at Pointer) error {
	w.held = slices.DeleteFunc(w.held, func(h holding) bool { return h.at == at })
	return w.Device.Free(at)
}

func (w *witness) Write(to Pointer, from []byte) error {
	if err := w.Device.Write(to, from); err != nil {
		return err
	}
	return w.readBack(to, from)
}

func (w *witness) Fill(at Pointer, value byte, count int64) error {
	if err := w.Device.Fill(at, value, count); err != nil {
		return err
	}
	return w.readBack(at, bytes.Repeat([]byte{value}, int(max(count, 0))))
}

// readBack compares memory of the device with what was copied there.
func (w *witness) readBack(at Pointer, want []byte) error {
	got := make([]byte, len(want))
	if err := w.Read(got, at); err != nil {
		return err
	}
	if !bytes.Equal(got, want) && w.failed == nil {
		w.failed = w.test.failed(fmt.Sprintf("%d bytes were copied to its memory, and others came back",
			len(want)))
	}
	return w.failed
}

func (w *witness) Load(ptx []byte) (Module, error) {
	m, err := w.Device.Load(ptx)
	return witnessed{m, w}, err
}

// witnessed implements Module.
type witnessed struct {
	Module
	witness *witness
}

func (m witnessed) Launch(kernel string, grid Grid, arguments ...any) error {
	w := m.witness
	if w.failed != nil {
		return w.failed
	}
	if err := m.Module.Launch(kernel, grid, arguments...); err != nil {
		return err
	}
	sum, err := w.sum()
	if err != nil {
		return err
	}
	w.failed = w.check(w.launches, fmt.Sprintf("%s %016x", kernel, sum))
	w.launches++
	return w.failed
}

// sum returns the checksum of all memory.
func (w *witness) sum() (sum uint64, err error) {
	var content []byte
	for number, h := range w.held {
		if h.opaque {
			continue
		}
		content = slices.Grow(content[:0], int(h.bytes)+wordBytes)[:h.bytes]
		if err := w.Read(content, h.at); err != nil {
			return 0, err
		}
		clear(content[h.bytes : h.bytes+wordBytes]) // the last word may have fewer bytes
		for at := int64(0); at < h.bytes; at += wordBytes {
			place := uint64(number+1) << 40
			if !w.test.AnyOrder {
				place += uint64(at)
			}
			if word := binary.LittleEndian.Uint32(content[at : at+wordBytes]); word != 0 {
				// Added, not chained: with AnyOrder, words may be in any place of an allocation.
				sum += mixed(mixed(place) ^ uint64(word))
			}
		}
	}
	return sum, nil
}

// wordBytes is the size of the words that a checksum adds.
const wordBytes = 4

// mixed scrambles a number (splitmix64).
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
