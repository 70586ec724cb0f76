package stream

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/random"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

func TestNumberingEqualsMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(0, 2000).Draw(t, "count") // drawn first: rapid's slices of open length have about 6 elements
		keys := rapid.SliceOfN(rapid.Custom(drawKey), count, count).Draw(t, "keys")
		n := NewNumbering()
		want := map[Key]uint32{}
		for _, key := range keys {
			rec := Record{Num: key.Num}
			if key.Text != "" {
				rec.Text = []byte(key.Text)
			}
			if _, known := want[key]; !known {
				want[key] = uint32(len(want))
			}
			if got := n.OfRecord(&rec); got != want[key] {
				t.Fatalf("key %v: got %d, want %d", key, got, want[key])
			}
		}
		if n.Len() != len(want) {
			t.Fatalf("%d numbers given, want %d", n.Len(), len(want))
		}
		for i, key := range n.AllKeys() {
			if want[key] != uint32(i) {
				t.Fatalf("number %d has the key %v", i, key)
			}
		}
	})
}

func TestBatchesNumberAsOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(0, 1000).Draw(t, "count")
		keys := rapid.SliceOfN(rapid.Custom(drawKey), count, count).Draw(t, "keys")
		alone, together := NewNumbering(), NewNumbering()
		var batch Batch
		var want []uint32
		room := make([]byte, 0, 64)
		for i, key := range keys {
			rec := Record{Num: key.Num, Time: int64(i)}
			if key.Text != "" {
				room = append(room[:0], key.Text...) // valid until the next record
				rec.Text = room
			}
			want = append(want, alone.OfRecord(&rec))
			full := batch.Add(&rec)
			if want := len(batch.Records) == BatchLen; full != want {
				t.Fatalf("a batch of %d records is full: %v, want %v", len(batch.Records), full, want)
			}
			if !full && i < len(keys)-1 && !rapid.Bool().Draw(t, "ends") {
				continue
			}
			batch.Number(together)
			first := i + 1 - len(batch.Records)
			for j, number := range batch.Numbers {
				if number != want[first+j] || batch.Records[j].Time != int64(first+j) {
					t.Fatalf("record %d of %d: number %d, want %d", first+j, i+1, number, want[first+j])
				}
			}
			batch.Clear()
		}
		for i, key := range together.AllKeys() {
			if key != alone.Key(uint32(i)) {
				t.Fatalf("number %d has the key %v, want %v", i, key, alone.Key(uint32(i)))
			}
		}
	})
}

func drawKey(t *rapid.T) Key {
	num := rapid.OneOf(rapid.Uint64Range(0, 300), rapid.Uint64Range(math.MaxUint64-3, math.MaxUint64),
		rapid.Uint64()).Draw(t, "num")
	if rapid.Bool().Draw(t, "text") {
		return Key{Text: "k" + strconv.FormatUint(num, 10)}
	}
	return Key{Num: num}
}

// TestNumberingGrows takes regularly spaced keys, as real ones are, through many growths of the table.
func TestNumberingGrows(t *testing.T) {
	const count = 300_000
	for _, stride := range []uint64{1, 4096, 1 << 40, 0x9e3779b97f4a7c15} {
		n := NewNumbering()
		for round := range 2 {
			for i := range uint64(count) {
				if got := n.OfNumber(i * stride); got != uint32(i) {
					t.Fatalf("stride %d, round %d: key %d got number %d", stride, round, i, got)
				}
			}
		}
	}
}

func TestNumberingRefusesTooMdrawKeys(t *testing.T) {
	n := NewNumbering()
	n.limit = 2
	for _, key := range []uint64{7, 8, 7, 8} {
		if n.OfNumber(key); n.Full {
			t.Fatal("full too early")
		}
	}
	if n.OfText([]byte("x")); !n.Full {
		t.Error("a third key found room for a text")
	}
	if n.Full = false; n.OfNumber(9) != 0 || !n.Full {
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
			n := NewNumbering()
			for i := range uint64(b.N) {
				n.OfNumber(key(i * 0x2545f491 % objects))
			}
		})
	}
}
