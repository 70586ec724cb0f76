package recommender

import (
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/must"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

type request struct {
	second  int64
	user    uint32
	hot     int64
	lookups []Lookup
}

func columnsOf(t *testing.T, requests ...request) *Columns {
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

// TestHotUsersAreCounted has 40 users, of which the two with the most requests are hot.
func TestHotUsersAreCounted(t *testing.T) {
	var requests []request
	for user := range uint32(40) {
		requests = append(requests, request{0, user, Unknown, []Lookup{{1, 1}}})
	}
	requests = append(requests, request{1, 30, Unknown, []Lookup{{1, 1}}}, request{1, 17, Unknown, []Lookup{{1, 1}}},
		request{1, 35, Unknown, []Lookup{{1, 1}}})
	c := columnsOf(t, requests...)
	for user := range uint32(40) {
		if want := user == 17 || user == 30; c.Hot(user) != want {
			t.Errorf("user %d is hot: %v", user, !want)
		}
	}
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
