package recommender

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

type request struct {
	second  int64
	user    uint32
	hot     int64
	lookups []Lookup
}

func columnsOf(t must.TB, requests ...request) *Columns {
	t.Helper()
	b := Kind{}.NewColumns(stream.Fields{Time: true})
	for _, r := range requests {
		rec := stream.Record{Time: r.second * 1e9, Extra: &Head{Tokens: 100, ShardRows: 10, Hot: r.hot, List: r.lookups}}
		must.Do(t, b.Add(&rec, r.user))
	}
	return Of(b.Finish())
}

func TestColumnsOfRequests(t *testing.T) {
	c := columnsOf(t,
		request{0, 0, 1, []Lookup{{7, 10}, {3, 20}}},
		request{1, 1, 0, []Lookup{{9, 1}}},
		request{1, 0, 1, []Lookup{{3, 5}, {8, 30}}})
	if c.Shards != 10 || c.ShardRows != 10 {
		t.Errorf("%d shards of %d rows, want 10 of 10", c.Shards, c.ShardRows)
	}
	if got, want := c.Lookups(2, nil), []Lookup{{3, 5}, {8, 30}}; !slices.Equal(got, want) {
		t.Errorf("request 2 reads %v, want %v", got, want)
	}
	if !c.Hot(0) || c.Hot(1) {
		t.Error("users are hot otherwise than the trace states")
	}
	if got, want := c.Profile(0), []uint32{8, 3, 7}; !slices.Equal(got, want) {
		t.Errorf("user 0 has the profile %v, want %v: by rows, 30, 25 and 10", got, want)
	}
	part := Of(c.Slice(stream.Span{From: 1, To: 3}, stream.Span{}))
	if got := part.Lookups(1, nil); !slices.Equal(got, c.Lookups(2, nil)) {
		t.Errorf("request 1 of the slice reads %v", got)
	}
	if got := part.Profile(0); !slices.Equal(got, c.Profile(0)) {
		t.Errorf("user 0 of the slice has the profile %v, want that of the whole", got)
	}
	only := Of(c.Only(stream.Chosen{Requests: []int{1}, Objects: []uint32{1}}))
	if got := only.Lookups(0, nil); only.Users[0] != 0 || only.Hot(0) || !slices.Equal(got, []Lookup{{9, 1}}) {
		t.Errorf("the chosen request is of user %d and reads %v", only.Users[0], got)
	}
	if got := only.Profile(0); !slices.Equal(got, []uint32{9}) {
		t.Errorf("the chosen user has the profile %v", got)
	}
}

// TestHotUsersAreCounted has 40 users, two of whom may be hot: those who had more requests than the others before.
func TestHotUsersAreCounted(t *testing.T) {
	var requests []request
	add := func(users ...uint32) {
		for _, user := range users {
			requests = append(requests, request{0, user, Unknown, []Lookup{{1, 1}}})
		}
	}
	for user := range uint32(40) {
		add(user)
	}
	add(30, 17, 30, 17, 35, 17, 35, 17, 35) // at the third one, 35 has as many as 30: two would be too many
	var hot []int
	c := columnsOf(t, requests...)
	for i := range requests {
		if c.Hot(i) {
			hot = append(hot, i)
		}
	}
	if want := []int{42, 43, 45, 47}; !slices.Equal(hot, want) {
		t.Errorf("requests %v are of hot users, want %v", hot, want)
	}
}

// isHot counts anew at each request what activity keeps up to date.
func isHot(users []uint32, request int) bool {
	requests := map[uint32]int{}
	for _, user := range users[:request] {
		requests[user]++
	}
	own, asMany := requests[users[request]], 0
	for _, n := range requests {
		if n >= own {
			asMany++
		}
	}
	return own > 0 && asMany <= int(0.05*float64(len(requests))+0.5)
}

// TestHotUsersAreThoseOfThePast: whether a request is of a hot user depends on no later one.
func TestHotUsersAreThoseOfThePast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		users := rapid.IntRange(1, 60).Draw(t, "users")
		var all []uint32
		seen := map[uint32]uint32{} // users are numbered in the order of their first requests, as in a trace
		var requests []request
		for range rapid.IntRange(1, 300).Draw(t, "requests") {
			u := uint32(min(rapid.IntRange(0, users).Draw(t, "user"), rapid.IntRange(0, users).Draw(t, "user")))
			if _, ok := seen[u]; !ok {
				seen[u] = uint32(len(seen))
			}
			all = append(all, seen[u])
			requests = append(requests, request{0, seen[u], Unknown, []Lookup{{1, 1}}})
		}
		c := columnsOf(t, requests...)
		cut := rapid.IntRange(1, len(all)).Draw(t, "cut")
		part := columnsOf(t, requests[:cut]...)
		for i := range all {
			if got, want := c.Hot(i), isHot(all, i); got != want {
				t.Fatalf("request %d of users %v is hot: %v, want %v", i, all, got, want)
			}
			if i < cut && part.Hot(i) != c.Hot(i) {
				t.Fatalf("request %d of users %v is hot: %v, and %v without those from %d on", i, all, c.Hot(i), part.Hot(i), cut)
			}
		}
	})
}

func TestProfilesAreMeasuredOverAllOfATrace(t *testing.T) {
	var requests []request
	for i := range uint32(8) {
		requests = append(requests, request{int64(i), 0, Unknown, []Lookup{{i, 1}}})
	}
	if got, want := columnsOf(t, requests...).Profile(0), []uint32{0, 2, 4, 6}; !slices.Equal(got, want) {
		t.Errorf("profile %v, want %v: of four requests, evenly spread", got, want)
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	good := Head{Tokens: 5, ShardRows: 10, Hot: Unknown, List: []Lookup{{1, 1}}}
	for name, test := range map[string]struct {
		change func(*Head)
		want   string
	}{
		"tokens":     {func(h *Head) { h.Tokens = 0 }, "a user without a history"},
		"shards":     {func(h *Head) { h.List = []Lookup{{1 << 27, 1}} }, "shard 134217728: want"},
		"rows":       {func(h *Head) { h.List = []Lookup{{1, 1 << 29}, {2, 1}} }, "want at most 2^29"},
		"no rows":    {func(h *Head) { h.List = []Lookup{{4, 0}} }, "no rows of shard 4"},
		"no shards":  {func(h *Head) { h.List = nil }, "reads no shard"},
		"hot":        {func(h *Head) { h.Hot = 2 }, "hot is 2"},
		"shard rows": {func(h *Head) { h.ShardRows = 0 }, "0 rows in a shard"},
		"other rows": {func(h *Head) { h.ShardRows = 11 }, "11 rows in a shard after requests with 10"},
		"other hot":  {func(h *Head) { h.Hot = 1 }, "after requests of the same user with -1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := Kind{}.NewColumns(stream.Fields{Time: true})
			first, second := good, good
			test.change(&second)
			must.Do(t, b.Add(&stream.Record{Extra: &first}, 0))
			must.Fail(t, b.Add(&stream.Record{Extra: &second}, 0), test.want)
		})
	}
}

func TestClockThatGoesBackIsRefused(t *testing.T) {
	for _, clock := range []bool{true, false} {
		b := Kind{}.NewColumns(stream.Fields{Time: clock})
		head := Head{Tokens: 5, ShardRows: 10, Hot: Unknown, List: []Lookup{{1, 1}}}
		must.Do(t, b.Add(&stream.Record{Time: 2e9, Extra: &head}, 0))
		err := b.Add(&stream.Record{Time: 15e8, Extra: &head}, 0)
		if clock != (err != nil && strings.Contains(err.Error(), "time 1.5 s is before the previous request's, 2 s")) {
			t.Errorf("with a clock %v: %v", clock, err)
		}
	}
}
