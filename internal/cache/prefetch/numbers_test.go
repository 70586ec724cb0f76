package prefetch

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

func traceOfKeys(keys ...uint64) *traces.Trace {
	t := &traces.Trace{Name: "keys", NumObjects: len(keys)}
	for o, key := range keys {
		t.Objects = append(t.Objects, uint32(o))
		t.Keys = append(t.Keys, stream.Key{Num: key})
	}
	return t
}

func addressesOf(t *testing.T, keys ...uint64) *Addresses {
	t.Helper()
	return must.Get(NewAddresses(traceOfKeys(keys...)))(t)
}

func TestAddressesFindEveryKey(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		keys := rapid.SliceOfDistinct(rapid.Uint64(), rapid.ID).Draw(r, "keys")
		a := must.Get(NewAddresses(traceOfKeys(keys...)))(r)
		known := map[uint64]bool{}
		for o, key := range keys {
			known[key] = true
			if got, ok := a.Find(key); !ok || got != Object(o) || a.Key(got) != key {
				r.Fatalf("key %d: object %d, %t, want %d", key, got, ok, o)
			}
		}
		if other := rapid.Uint64().Draw(r, "other"); !known[other] {
			if o, ok := a.Find(other); ok {
				r.Fatalf("key %d, which the trace does not have, is object %d", other, o)
			}
		}
	})
}

func TestAddressesRefuseTextsAndTracesWithoutKeys(t *testing.T) {
	texts := traceOfKeys(1, 2)
	texts.Keys[1] = stream.Key{Text: "index.html"}
	none := traceOfKeys(1)
	none.Keys = nil
	for want, trace := range map[string]*traces.Trace{
		`object 1 of keys is the text "index.html"`: texts, "keys are not loaded": none,
	} {
		must.NotGet(NewAddresses(trace))(t, want)
	}
}

func TestStrangersGetNumbersBehindTheTrace(t *testing.T) {
	n := NewNumbers(addressesOf(t, 10, 20), func(Object) bool { return false })
	for _, want := range []struct {
		key uint64
		o   Object
	}{{20, 1}, {21, 2}, {11, 3}, {21, 2}, {10, 0}} {
		if o, ok := n.Number(want.key); !ok || o != want.o || n.Key(o) != want.key {
			t.Errorf("address %d has number %d (%t), want %d", want.key, o, ok, want.o)
		}
	}
	if n.Count() != 4 {
		t.Errorf("%d numbers, want 4", n.Count())
	}
}

func TestNumbersOfStrangersAreBounded(t *testing.T) {
	resident := map[Object]bool{}
	n := NewNumbers(addressesOf(t, 0), func(o Object) bool { return resident[o] })
	for key := uint64(1); key <= leastStrangers; key++ {
		o, ok := n.Number(key)
		if !ok {
			t.Fatalf("address %d has no number", key)
		}
		resident[o] = true
	}
	if o, ok := n.Number(5000); ok {
		t.Errorf("all strangers are resident, but address 5000 has number %d", o)
	}
	resident[7] = false // it has the address 7
	for range leastStrangers / searched {
		if o, ok := n.Number(5000); ok && (o != 7 || n.Key(7) != 5000) {
			t.Errorf("address 5000 has number %d, want 7, which is free", o)
		}
	}
	if o, ok := n.Number(5000); !ok || o != 7 {
		t.Errorf("address 5000 has number %d (%t), want 7", o, ok)
	}
	resident[7] = true
	if n.Count() != 1+leastStrangers {
		t.Errorf("%d numbers, want %d", n.Count(), 1+leastStrangers)
	}
	if _, ok := n.Number(7); ok {
		t.Error("address 7 still has its number, which is that of address 5000 now")
	}
}

// TestAddressesOfFiles: a block of a file that the trace does not read gets a number, what lies behind its end none.
func TestAddressesOfFiles(t *testing.T) {
	trace := &traces.Trace{Name: "files", NumObjects: 2, Objects: []uint32{0, 1}, Kind: &files.Columns{
		Block: 10, Paths: []string{"/a"}, Sizes: []int64{30}, Files: []int32{0, 0}, Numbers: []int64{0, 2},
	}}
	a := must.Get(NewAddresses(trace))(t)
	n := NewNumbers(a, func(Object) bool { return false })
	for address, want := range map[uint64]Object{0: 0, 1: 2, 2: 1} {
		if o, ok := n.Number(address); !ok || o != want {
			t.Errorf("block %d is object %d (%v), want %d", address, o, ok, want)
		}
	}
	if o, ok := n.Number(3); ok {
		t.Errorf("block 3 behind the end is object %d, want none", o)
	}
}
