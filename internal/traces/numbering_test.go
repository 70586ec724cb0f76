package traces

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/random"
)

func TestNumberingEqualsMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(0, 2000).Draw(t, "count") // drawn first: rapid's slices of open length have about 6 elements
		keys := rapid.SliceOfN(rapid.Custom(anyKey), count, count).Draw(t, "keys")
		n := newNumbering()
		want := map[Key]uint32{}
		for _, key := range keys {
			rec := Record{Num: key.Num}
			if key.Text != "" {
				rec.Text = []byte(key.Text)
			}
			if _, known := want[key]; !known {
				want[key] = uint32(len(want))
			}
			if got := n.ofRecord(&rec); got != want[key] {
				t.Fatalf("key %v: got %d, want %d", key, got, want[key])
			}
		}
		if n.len() != len(want) {
			t.Fatalf("%d numbers given, want %d", n.len(), len(want))
		}
		for i, key := range n.allKeys() {
			if want[key] != uint32(i) {
				t.Fatalf("number %d has the key %v", i, key)
			}
		}
	})
}

func anyKey(t *rapid.T) Key {
	num := rapid.OneOf(rapid.Uint64Range(0, 300), rapid.Uint64Range(math.MaxUint64-3, math.MaxUint64),
		rapid.Uint64()).Draw(t, "num")
	if rapid.Bool().Draw(t, "text") {
		return Key{Text: "k" + strconv.FormatUint(num, 10)}
	}
	return Key{Num: num}
}

// TestNumberingGrows gives keys that lie regularly, as real ones do, through many growths of the table.
func TestNumberingGrows(t *testing.T) {
	const count = 300_000
	for _, stride := range []uint64{1, 4096, 1 << 40, 0x9e3779b97f4a7c15} {
		n := newNumbering()
		for round := range 2 {
			for i := range uint64(count) {
				if got := n.ofNumber(i * stride); got != uint32(i) {
					t.Fatalf("stride %d, round %d: key %d got number %d", stride, round, i, got)
				}
			}
		}
	}
}

func TestNumberingRefusesTooManyKeys(t *testing.T) {
	n := newNumbering()
	n.limit = 2
	for _, key := range []uint64{7, 8, 7, 8} {
		if n.ofNumber(key); n.full {
			t.Fatal("full too early")
		}
	}
	if n.ofText([]byte("x")); !n.full {
		t.Error("a third key found room for a text")
	}
	if n.full = false; n.ofNumber(9) != 0 || !n.full {
		t.Error("a third key found room for a number")
	}
}

func BenchmarkNumbering(b *testing.B) {
	const objects = 1 << 20
	for name, key := range map[string]func(i uint64) uint64{
		"sequential": func(i uint64) uint64 { return i },
		"scattered":  random.Scramble,
	} {
		b.Run(name, func(b *testing.B) {
			n := newNumbering()
			for i := range uint64(b.N) {
				n.ofNumber(key(i * 0x2545f491 % objects))
			}
		})
	}
}
