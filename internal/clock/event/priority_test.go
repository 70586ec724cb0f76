package event

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// prioritised is a transfer of a schedule over a PriorityLink, and what happens to it.
type prioritised struct {
	at       time.Duration
	bytes    int64
	p        Priority
	promoted time.Duration // 0: never
	ends     time.Duration // when it is cancelled; 0: never
}

// send sends transfers over a link, and returns when they arrived, -1 for never, and the order of arrivals.
func send(t rapid.TB, bandwidth float64, all []prioritised) (at []time.Duration, order []int, l *Loop,
	link *PriorityLink) {
	l = &Loop{}
	at = slices.Repeat([]time.Duration{-1}, len(all))
	link = NewPriorityLink(l, bandwidth, func(i int32) {
		if at[i] >= 0 {
			t.Fatalf("transfer %d arrives twice", i)
		}
		at[i] = l.Now()
		order = append(order, int(i))
	})
	for i, tr := range all {
		p := tr.p
		l.At(tr.at, func() { link.Begin(int32(i), tr.bytes, p) })
		if tr.promoted > 0 {
			l.At(tr.promoted, func() {
				if at[i] < 0 {
					link.Promote(int32(i))
					p = Urgent
				}
			})
		}
		if tr.ends > 0 {
			l.At(tr.ends, func() {
				if at[i] < 0 {
					link.Cancel(int32(i), p)
				}
			})
		}
	}
	for l.Step() {
	}
	return at, order, l, link
}

func TestPriorityLinkWorkedExample(t *testing.T) {
	// One byte per nanosecond. 0 sends alone 0-10 (10 of its 30), pauses for 1 until 20, then shares with 2: 2 is promoted
	// at 30 (5 sent, 15 left) and sends alone until 45, when 0 (5 of 20 sent) goes on, alone, until 60. 3 is cancelled.
	got, _, _, link := send(t, 1e9, []prioritised{
		{at: 0, bytes: 30, p: Background}, {at: 10, bytes: 10}, {at: 20, bytes: 20, p: Background, promoted: 30},
		{at: 100, bytes: 10, p: Background, ends: 105}, {at: 103, bytes: 4}, {at: 104, bytes: 0},
	})
	if want := []time.Duration{60, 20, 45, -1, 107, 104}; !slices.Equal(got, want) {
		t.Errorf("arrivals %v, want %v", got, want)
	}
	urgent, background := link.Busy(200)
	if math.Abs(urgent-(10+15+4)*1e-9) > 1e-15 || math.Abs(background-(35+3)*1e-9) > 1e-15 {
		t.Errorf("busy for %v s and %v s", urgent, background)
	}
}

func TestCancelAfterTheLastByte(t *testing.T) {
	var l Loop
	arrived := 0
	link := NewPriorityLink(&l, 1e9, func(int32) { arrived++ })
	l.At(10, func() { link.Cancel(0, Urgent) }) // scheduled before the report of the same time
	l.At(0, func() { link.Begin(0, 10, Urgent) })
	run(t, &l)
	if arrived != 0 {
		t.Error("a cancelled transfer arrived")
	}
}

// TestPriorityLinkOfOneClassIsShared: with one priority it is a shared link.
func TestPriorityLinkOfOneClassIsShared(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Priority(rapid.IntRange(0, 1).Draw(t, "priority"))
		bandwidth := rapid.SampledFrom([]float64{1e9, 3e9, 0.7e9}).Draw(t, "bandwidth")
		var plain []transfer
		var all []prioritised
		at := time.Duration(0)
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			at += time.Duration(rapid.IntRange(0, 60).Draw(t, "gap"))
			bytes := int64(rapid.IntRange(0, 100).Draw(t, "bytes"))
			plain = append(plain, transfer{at, bytes})
			all = append(all, prioritised{at: at, bytes: bytes, p: p})
		}
		got, _, _, _ := send(t, bandwidth, all)
		for _, a := range arrivals(shared(0, bandwidth), plain) {
			if got[a.id] != a.at {
				t.Fatalf("transfer %d arrives at %v, on a shared link at %v", a.id, got[a.id], a.at)
			}
		}
	})
}

// TestBackgroundNeverDelaysUrgent: urgent transfers arrive as if there were no others, whatever is begun, promoted or
// cancelled, and the link is never above its bandwidth.
func TestBackgroundNeverDelaysUrgent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const bandwidth = 1e9
		var all, urgent []prioritised
		var numbers []int
		at := time.Duration(0)
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			at += time.Duration(rapid.IntRange(0, 60).Draw(t, "gap"))
			tr := prioritised{at: at, bytes: int64(rapid.IntRange(0, 100).Draw(t, "bytes")),
				p: Priority(rapid.IntRange(0, 1).Draw(t, "priority"))}
			if rapid.Bool().Draw(t, "cancel") {
				tr.ends = at + time.Duration(rapid.IntRange(1, 200).Draw(t, "after"))
			}
			if tr.p == Urgent {
				numbers = append(numbers, len(all))
				urgent = append(urgent, tr)
			}
			all = append(all, tr)
		}
		got, order, l, link := send(t, bandwidth, all)
		alone, _, _, _ := send(t, bandwidth, urgent)
		for i, n := range numbers {
			if got[n] != alone[i] {
				t.Fatalf("urgent transfer %d arrives at %v, and at %v without background", n, got[n], alone[i])
			}
		}
		var bytes int64
		for i, tr := range all {
			if tr.ends == 0 && got[i] < tr.at+time.Duration(tr.bytes) {
				t.Fatalf("transfer %d of %d bytes from %v arrives at %v", i, tr.bytes, tr.at, got[i])
			}
		}
		for _, i := range order {
			if bytes += all[i].bytes; bytes > int64(got[i]) {
				t.Fatalf("%d bytes have arrived by %v", bytes, got[i])
			}
		}
		a, b := link.Busy(l.Now())
		if a+b > l.Now().Seconds()+1e-12 || (a+b)*bandwidth < float64(bytes)-1e-3 {
			t.Fatalf("busy for %v s and %v s of %v, for %d bytes", a, b, l.Now(), bytes)
		}
	})
}

// TestPromotedBytesArriveOnce: promotion loses no byte: the link ends when it would without.
func TestPromotedBytesArriveOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all, plain []prioritised
		at := time.Duration(0)
		for range rapid.IntRange(1, 30).Draw(t, "n") {
			at += time.Duration(rapid.IntRange(0, 60).Draw(t, "gap"))
			tr := prioritised{at: at, bytes: int64(rapid.IntRange(0, 100).Draw(t, "bytes")), p: Background}
			plain = append(plain, tr)
			if rapid.Bool().Draw(t, "promote") {
				tr.promoted = at + time.Duration(rapid.IntRange(1, 200).Draw(t, "after"))
			}
			all = append(all, tr)
		}
		got, _, _, _ := send(t, 1e9, all)
		want, _, _, _ := send(t, 1e9, plain)
		if slices.Contains(got, -1) {
			t.Fatalf("a transfer never arrives: %v", got)
		}
		if a, b := slices.Max(got), slices.Max(want); a-b > 1 || b-a > 1 {
			t.Fatalf("the last arrives at %v, and at %v without promotion", a, b)
		}
	})
}

func BenchmarkPriorityLink(b *testing.B) {
	var l Loop
	var link *PriorityLink
	link = NewPriorityLink(&l, 1e9, func(i int32) { link.Begin(i, 512+int64(i), Priority(i&1)) })
	for i := range int32(64) {
		link.Begin(i, 512, Priority(i&1))
	}
	b.ReportAllocs()
	for b.Loop() {
		l.Step()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
