package audit

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// faults is a setup: which of some faults a replay knows of.
type faults struct{ query, ttl, capacity bool }

// server makes a replay of some requests to a server with faults. Each fault makes misses of requests that would hit.
func server(has faults, noise float64) func(context.Context, faults) (Outcome, error) {
	return func(_ context.Context, knows faults) (o Outcome, err error) {
		r := rand.New(rand.NewPCG(1, 2))
		hit := func(f faults, i int) int64 {
			switch {
			case i%10 < 3, f.query && i%10 == 4, f.ttl && i%100 == 5, f.capacity && i%10 == 8:
				return 0
			}
			return 1
		}
		for i := range 10000 {
			measured := hit(has, i)
			if r.Float64() < noise {
				measured = int64(r.IntN(2))
			}
			o.Add(1, measured, hit(knows, i))
		}
		return o, nil
	}
}

var causes = []Cause[faults]{
	Plain("query", "query=keep", "query strings in the key", func(f faults) faults { f.query = true; return f }),
	Plain("ttl", "ttl", "a time to live of 60 s", func(f faults) faults { f.ttl = true; return f }),
	{Name: "capacity", Kind: "capacity", Try: func(_ context.Context, at Trial[faults]) (faults, string, error) {
		at.Setup.capacity = true // which hits as often as the first one, at other requests
		return at.Setup, "a capacity of 512 MiB", nil
	}},
	{Name: "broken", Kind: "broken", Try: func(context.Context, Trial[faults]) (f faults, says string, err error) {
		return f, "what cannot be replayed", errors.New("no room")
	}},
	{Name: "idle", Kind: "idle", Try: func(_ context.Context, at Trial[faults]) (faults, string, error) {
		return at.Setup, "", nil
	}},
}

func find(t *testing.T, has faults, noise float64) Finding {
	t.Helper()
	f, err := Find(t.Context(), faults{}, causes, server(has, noise), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func sentences(f Finding) string {
	return strings.Join(f.Sentences(Words{Units: "requests", Settings: "lru at 1 GiB"}), "\n")
}

func TestFindNamesTheFaultThatTheRequestsShow(t *testing.T) {
	f := find(t, faults{query: true}, 0)
	want := `The server hit 60.0% of 10,000 requests; its settings (lru at 1 GiB) would give 70.0%, 10.0 points more.
10.0 of the 10.0 points are explained by query strings in the key; 0.0 are not explained.
Server and replay agree on 100.0% of the requests, with the settings as stated on 90.0%.`
	if got := sentences(f); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if f.Replays != 4 { // none for what does not apply, and none once the fault is found
		t.Errorf("%d replays, want 4", f.Replays)
	}
	if f.Alone[3].Failed != "no room" {
		t.Errorf("the cause that fails says %q", f.Alone[3].Failed)
	}
}

func TestFindCombinesCauses(t *testing.T) {
	f := find(t, faults{query: true, ttl: true}, 0)
	const want = "10.0 of the 11.0 points are explained by query strings in the key, 1.0 by a time to live of 60 s; 0.0 " +
		"are not explained."
	if got := sentences(f); !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant %s", got, want)
	}
}

func TestFindSaysThatNothingExplains(t *testing.T) {
	f := find(t, faults{}, 0.4) // 20% of the requests differ: 14% of them hits that should be, 6% misses
	const want = "They agree on 79.9% of the requests. Nothing that was tried explains the rest (3 causes in 4 replays: " +
		"query=keep, ttl, capacity)."
	if got := sentences(f); len(f.Steps) > 0 || !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant %s", got, want)
	}
}

func TestFindSaysThatThereIsNothingToExplain(t *testing.T) {
	const want = `The server hit 70.0% of 10,000 requests; its settings (lru at 1 GiB) would give 70.0%.
They agree on 100.0% of the requests: there is nothing to explain.`
	if got := sentences(find(t, faults{}, 0)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestFindKeepsTotalsApart gives Find one total, of which two causes explain as much.
func TestFindKeepsTotalsApart(t *testing.T) {
	replay := server(faults{query: true}, 0)
	f, err := Find(t.Context(), faults{}, causes, func(ctx context.Context, s faults) (o Outcome, err error) {
		each, err := replay(ctx, s)
		o.Add(each.Units, each.Measured, each.Replayed)
		return o, err
	}, Options{Jobs: 1})
	if err != nil {
		t.Fatal(err)
	}
	got := sentences(f)
	for _, want := range []string{"has told totals only", "query strings in the key (60.0%); a capacity of 512 MiB " +
		"(60.0%); a time to live of 60 s (69.0%)"} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %q", got, want)
		}
	}
}

func TestFindIsTheSameWithAnyNumberOfJobs(t *testing.T) {
	var got []string
	for _, jobs := range []int{1, 8} {
		f, err := Find(t.Context(), faults{}, causes, server(faults{true, true, true}, 0.1), Options{Jobs: jobs})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, sentences(f))
	}
	if got[0] != got[1] {
		t.Errorf("one job:\n%s\neight:\n%s", got[0], got[1])
	}
}

func TestFindPassesOnThatTheStatedSettingsFail(t *testing.T) {
	broken := errors.New("broken")
	_, err := Find(t.Context(), faults{}, causes, func(context.Context, faults) (Outcome, error) {
		return Outcome{}, broken
	}, Options{})
	if err != broken {
		t.Errorf("got %v", err)
	}
}

func TestMoneyFollowsTheGap(t *testing.T) {
	f := find(t, faults{query: true}, 0)
	got := f.Sentences(Words{Units: "tokens", Settings: "s", Money: func(points float64) string {
		if points < 0 {
			return "costs 7.00 EUR per month"
		}
		return "saves"
	}})[0]
	const want = "The server hit 60.0% of 10,000 tokens; its settings (s) would give 70.0%, 10.0 points more, which " +
		"costs 7.00 EUR per month."
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
