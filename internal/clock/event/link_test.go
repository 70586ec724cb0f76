package event

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// arrival is when a transfer arrived.
type arrival struct {
	id int
	at time.Duration
}

// transfer is one of a schedule.
type transfer struct {
	at    time.Duration
	bytes int64
}

// arrivals sends transfers over a link and returns when they arrived, in that order.
func arrivals(link func(*Loop) Link, transfers []transfer) (got []arrival) {
	var l Loop
	to := link(&l)
	for id, tr := range transfers {
		l.At(tr.at, func() {
			to.Transfer(tr.bytes, func() { got = append(got, arrival{id, l.Now()}) })
		})
	}
	for l.Step() {
	}
	return got
}

func queued(latency time.Duration, bandwidth float64) func(*Loop) Link {
	return func(l *Loop) Link { return NewQueuedLink(l, latency, bandwidth) }
}

func shared(latency time.Duration, bandwidth float64) func(*Loop) Link {
	return func(l *Loop) Link { return NewSharedLink(l, latency, bandwidth) }
}

func TestQueuedLinkSendsOneAfterTheOther(t *testing.T) {
	// One byte per nanosecond.
	got := arrivals(queued(100, 1e9), []transfer{{0, 10}, {5, 10}, {5, 0}, {30, 4}})
	want := []arrival{{0, 110}, {1, 120}, {2, 120}, {3, 134}}
	if !slices.Equal(got, want) {
		t.Errorf("arrivals %v, want %v", got, want)
	}
}

func TestSmallTransfersDoNotAddUpRoundings(t *testing.T) {
	// 512 bytes at 60 GB/s take 8.53 ns; 100,000 of them 0.853 ms.
	transfers := slices.Repeat([]transfer{{0, 512}}, 100_000)
	want := time.Duration(math.Ceil(512e5 / 60e9 * 1e9))
	for name, link := range map[string]func(*Loop) Link{"queued": queued(0, 60e9), "shared": shared(0, 60e9)} {
		if got := arrivals(link, transfers); got[len(got)-1].at != want {
			t.Errorf("%s: the last arrived at %v, want %v", name, got[len(got)-1].at, want)
		}
	}
}

// TestFlowsShareFairly: k equal flows that begin together end together, after k times what one takes alone.
func TestFlowsShareFairly(t *testing.T) {
	for _, k := range []int{1, 2, 3, 7, 100} {
		got := arrivals(shared(50, 1e9), slices.Repeat([]transfer{{0, 1000}}, k))
		for i, a := range got {
			if want := (arrival{i, time.Duration(1000*k) + 50}); a != want {
				t.Errorf("%d flows: %v, want %v", k, a, want)
			}
		}
	}
}

func TestSharedLinkWorkedExample(t *testing.T) {
	// Alone 0-10 (10 bytes of 0), then halves: 1 ends at 30 with its 10, 0 has had 20 and sends its last 10 alone until
	// 40. 2 and 3 begin together at 100; 3, of no bytes, arrives at once.
	got := arrivals(shared(0, 1e9), []transfer{{0, 30}, {10, 10}, {100, 5}, {100, 0}})
	want := []arrival{{1, 30}, {0, 40}, {3, 100}, {2, 105}}
	if !slices.Equal(got, want) {
		t.Errorf("arrivals %v, want %v", got, want)
	}
}

// TestSharedLinkMeanSojourn: with Poisson arrivals the mean time under processor sharing is 1/(1-rho) services whatever
// the sizes are (Kleinrock, Queueing Systems II, 4.4).
func TestSharedLinkMeanSojourn(t *testing.T) {
	const transfers, rho = 100_000, 0.6
	for name, size := range map[string]func(*rand.Rand) float64{
		"equal": func(*rand.Rand) float64 { return 1 }, "exponential": (*rand.Rand).ExpFloat64,
	} {
		rng := rand.New(rand.NewPCG(3, 4))
		var l Loop
		link := NewSharedLink(&l, 0, 1e9)
		var sum float64
		var arrive func(n int)
		arrive = func(n int) {
			if n == transfers {
				return
			}
			came := l.Now()
			link.Transfer(int64(1e6*size(rng)), func() { sum += float64(l.Now() - came) })
			l.After(time.Duration(1e6*rng.ExpFloat64()/rho), func() { arrive(n + 1) })
		}
		arrive(0)
		run(t, &l)
		if got, want := sum/transfers/1e6, 1/(1-rho); math.Abs(got/want-1) > 0.04 {
			t.Errorf("%s sizes: mean %.3f services, want %.3f", name, got, want)
		}
	}
}

// TestLinksConserveBytes: every transfer arrives once, none sooner than alone, and both kinds of link are busy for as
// long and send everything that has come by the ends of their busy periods.
func TestLinksConserveBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var transfers []transfer
		at := time.Duration(0)
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			at += time.Duration(rapid.IntRange(0, 60).Draw(t, "gap"))
			transfers = append(transfers, transfer{at, int64(rapid.IntRange(0, 100).Draw(t, "bytes"))})
		}
		bandwidth := rapid.SampledFrom([]float64{1e9, 3e9, 0.7e9, 60e9}).Draw(t, "bandwidth")
		var ends [2]time.Duration
		for k, link := range []func(*Loop) Link{queued(3, bandwidth), shared(3, bandwidth)} {
			var l Loop
			to := link(&l)
			arrived := make([]int, len(transfers))
			for id, tr := range transfers {
				l.At(tr.at, func() {
					to.Transfer(tr.bytes, func() {
						arrived[id]++
						if alone := tr.at + nanoseconds(float64(tr.bytes)/bandwidth) + 3; l.Now() < alone {
							t.Fatalf("link %d: transfer %d arrived at %v, alone it takes until %v", k, id, l.Now(), alone)
						}
						ends[k] = l.Now()
					})
				})
			}
			for before := l.Now(); l.Step(); before = l.Now() {
				if l.Now() < before {
					t.Fatal("the clock went back")
				}
			}
			if slices.ContainsFunc(arrived, func(n int) bool { return n != 1 }) {
				t.Fatalf("link %d: arrivals per transfer %v", k, arrived)
			}
		}
		// The queued link begins each busy period on a whole nanosecond, the shared one goes on between them.
		if diff := ends[0] - ends[1]; diff < -time.Duration(len(transfers)) || diff > time.Duration(len(transfers)) {
			t.Fatalf("queued ends at %v, shared at %v", ends[0], ends[1])
		}
	})
}

// TestFIFOOfEqualTransfers: on a queued link transfers arrive in the order in which they came, on a shared one too if
// they are equal.
func TestFIFOOfEqualTransfers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Loop
		links := []Link{NewQueuedLink(&l, 5, 2e9), NewSharedLink(&l, 5, 2e9)}
		var arrived [2][]int
		for id := range 30 {
			l.At(time.Duration(rapid.IntRange(0, 50).Draw(t, "gap")+10*id), func() {
				for k, link := range links {
					link.Transfer(64, func() { arrived[k] = append(arrived[k], int(l.Now())) })
				}
			})
		}
		for l.Step() {
		}
		for k := range links {
			if len(arrived[k]) != 30 || !slices.IsSorted(arrived[k]) {
				t.Fatalf("link %d: arrivals %v", k, arrived[k])
			}
		}
	})
}

// TestDelayedHits is the aggregate delay of an object (Atre, Sherry, Wang and Berger, Caching with Delayed Hits,
// SIGCOMM 2020, section 3): with a fetch of Z, a miss at time 0 costs Z and the request at time t < Z, a delayed hit,
// Z-t; requests at 0, 1, ..., Z-1 cost Z(Z+1)/2 in all.
func TestDelayedHits(t *testing.T) {
	const z = 4
	var l Loop
	var fetches Fetches[string]
	var started, total int
	var done []string
	for at := range z + 2 {
		l.At(time.Duration(at), func() {
			fetches.Begin("A", func(arrived func()) {
				started++
				l.After(z, arrived)
			}, func() {
				total += int(l.Now()) - at
				done = append(done, fmt.Sprintf("%d@%d", at, l.Now()))
			})
		})
	}
	run(t, &l)
	// The request at 4 still comes before what it waits for, and 5 begins a fetch of its own.
	if want := []string{"0@4", "1@4", "2@4", "3@4", "4@4", "5@9"}; !slices.Equal(done, want) {
		t.Errorf("done %v, want %v", done, want)
	}
	if want := z*(z+1)/2 + z; total != want {
		t.Errorf("total delay %d, want %d", total, want)
	}
	if started != 2 {
		t.Errorf("%d fetches, want 2", started)
	}
	if fetches.Wait("A", func() {}) {
		t.Error("A is still being fetched")
	}
}

func BenchmarkSharedLink(b *testing.B) {
	var l Loop
	link := NewSharedLink(&l, 100, 1e9)
	var again func()
	again = func() { link.Transfer(512, again) }
	for range 64 {
		again()
	}
	b.ReportAllocs()
	for b.Loop() {
		l.Step()
	}
}
