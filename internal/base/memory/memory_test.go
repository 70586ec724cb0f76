package memory

import (
	"errors"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestNeedRefusesWhatIsNotLeft(t *testing.T) {
	b := Fixed(1000, 400)
	if err := b.Need(600, "that"); err != nil {
		t.Errorf("600 of 600 bytes that are left: %v", err)
	}
	err := b.Need(601, "that", "--limit")
	var refused *Error
	if !errors.As(err, &refused) || refused.Need != 601 || refused.Left != 600 {
		t.Fatalf("601 of 600 bytes that are left: %v", err)
	}
	for _, part := range []string{"that would take about 601 bytes", "600 bytes are left", "1000 bytes",
		"--limit, a larger --memory"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
}

func TestNoBudgetHasNoBound(t *testing.T) {
	var b *Budget
	if err := b.Need(1<<62, "all"); err != nil {
		t.Error(err)
	}
	if part := b.Part(0.25, 1<<30); part != 1<<30 {
		t.Errorf("a part of no budget is %d, want the most that may be used", part)
	}
}

func TestThereIsMemory(t *testing.T) {
	available, limit := Available()
	if available <= 0 || limit == "" {
		t.Fatalf("%d bytes %s", available, limit)
	}
	b := Default()
	if got := float64(b.Total()) / float64(available); got < 0.74 || got > 0.76 {
		t.Errorf("the default is %v of what there is, want three quarters", got)
	}
	if left := b.Left(); left <= 0 || left >= b.Total() {
		t.Errorf("%d of %d bytes are left: want that the test itself takes some", left, b.Total())
	}
	if _, err := New(available+1, "--memory X"); err == nil {
		t.Error("a budget of more than there is was taken")
	}
}

func TestWatchStopsAndThenAborts(t *testing.T) {
	for _, c := range []struct {
		what  string
		then  int64 // bytes in use once it was asked to stop
		after time.Duration
		abort bool
	}{
		{"it gave memory back", 900, 10 * patience, false},
		{"it may still give memory back", 1001, patience - 2*lookEvery, false},
		{"it does not give memory back", 1001, patience + 2*lookEvery, true},
		{"it takes much more", 1200, 2 * lookEvery, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			var used atomic.Int64
			b := &Budget{total: 1000, used: used.Load}
			var stops, aborts []error
			end := b.Watch(func(err error) { stops = append(stops, err) }, func(err error) { aborts = append(aborts, err) })
			used.Store(1000)
			time.Sleep(10 * lookEvery)
			used.Store(1001)
			time.Sleep(2 * lookEvery)
			used.Store(c.then)
			time.Sleep(c.after)
			end()
			if len(stops) != 1 || !errors.As(stops[0], new(*Error)) {
				t.Errorf("%s: stopped with %v, want one error", c.what, stops)
			}
			if (len(aborts) == 1) != c.abort || len(aborts) > 1 {
				t.Errorf("%s: aborted with %v after %v, want an abort: %v", c.what, aborts, c.after, c.abort)
			}
		})
	}
}

// A program within its budget runs to its end.
func TestWatchLetsTheRestGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &Budget{total: 1000, used: func() int64 { return 1000 }}
		refuse := func(err error) { t.Errorf("ended with %v", err) }
		end := b.Watch(refuse, refuse)
		time.Sleep(10 * patience)
		end()
	})
}

func TestGaugeSeesWhatIsWritten(t *testing.T) {
	debug.FreeOSMemory() // what earlier tests left would be returned now, or written to again
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	gauge := newGauge()
	before := gauge()
	block := make([]byte, 64<<20)
	for i := range block {
		block[i] = 1
	}
	if grown := gauge() - before; grown < 48<<20 || grown > 256<<20 {
		t.Errorf("64 MiB were written and the gauge went up by %d bytes", grown)
	}
	if block[len(block)-1] != 1 {
		t.Fatal()
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 1536: "1.5 KiB", 300 << 20: "300 MiB",
		17 << 30: "17.0 GiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d bytes: %q, want %q", n, got, want)
		}
	}
}

// Columns are made of zeros at any length, also where large pages begin and end within them.
func TestColumnsAreZerosToWriteTo(t *testing.T) {
	for _, n := range []int{0, 1, largePage/8 - 1, largePage / 8, largePage, largePage + 1} {
		column := Column[uint64](n)
		if len(column) != n || cap(column) != n {
			t.Fatalf("%d values with room for %d, want %d", len(column), cap(column), n)
		}
		for i := range column {
			if column[i] != 0 {
				t.Fatalf("value %d of %d is %d", i, n, column[i])
			}
			column[i] = uint64(i) + 1
		}
		for i := range column {
			if column[i] != uint64(i)+1 {
				t.Fatalf("value %d of %d was lost", i, n)
			}
		}
	}
}

// What was advised for this run comes first in the error of a run that exceeds its budget.
func TestAdviceComesFirst(t *testing.T) {
	b := Fixed(100, 0)
	b.Advise("longer windows of the series")
	text := b.exceeded().Error()
	if want := "what would help: longer windows of the series, --sample, --limit"; !strings.Contains(text, want) {
		t.Errorf("%s, want %s", text, want)
	}
	(*Budget)(nil).Advise("nothing")
}

func TestChunksAreAList(t *testing.T) {
	var c Chunks[int32]
	if len(c.Joined()) != 0 {
		t.Error("an empty list has values")
	}
	const n = 2*chunkLength + 3
	for i := range int32(n) {
		c.Append(3 * i)
	}
	if c.Len() != n || c.At(0) != 0 || c.At(chunkLength) != 3*chunkLength || c.At(n-1) != 3*(n-1) {
		t.Fatalf("%d values, of which the last is %d", c.Len(), c.At(c.Len()-1))
	}
	all := c.Joined()
	if len(all) != n || c.Len() != 0 {
		t.Fatalf("%d values joined, and %d left; want %d and 0", len(all), c.Len(), n)
	}
	for i, v := range all {
		if v != 3*int32(i) {
			t.Fatalf("value %d is %d", i, v)
		}
	}
}
