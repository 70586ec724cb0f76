package explain_test

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/explain"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// why is what a row says.
type why struct {
	Position    int    `json:"position"`
	HitsBefore  int    `json:"hits_before"`
	Cause       string `json:"cause"`
	RequestsAgo int    `json:"requests_ago"`
}

// naiveWhy says why the requests for a key missed under LRU with removals, from a list of what is resident.
func naiveWhy(t *traces.Trace, capacity int, key uint32) (all []why) {
	var list []uint32 // the most recent object first
	cause, at, hits := "first request", 0, 0
	for pos, o := range t.Objects {
		for _, r := range t.Removals {
			if i := slices.Index(list, r.Object); int(r.Before) == pos && i >= 0 {
				list = slices.Delete(list, i, i+1)
				if r.Object == key {
					cause, at = r.Why.String(), pos
				}
			}
		}
		i := slices.Index(list, o)
		if o == key {
			if i >= 0 {
				hits++
			} else {
				row := why{Position: pos, HitsBefore: hits, Cause: cause}
				if cause != "first request" {
					row.RequestsAgo = pos - at
				}
				all = append(all, row)
				hits = 0
			}
		}
		if i >= 0 {
			list = slices.Delete(list, i, i+1)
		} else if len(list) == capacity {
			if list[capacity-1] == key {
				cause, at = "evicted", pos
			}
			list = list[:capacity-1]
		}
		list = slices.Insert(list, 0, o)
	}
	return all
}

// TestWhyIsNaive: the reasons for the misses of every key are those that a list of the resident objects gives.
func TestWhyIsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abcdefg")), 1, 60, -1).Draw(t, "keys")
		tr := simtest.FromKeys(text)
		for o := range tr.NumObjects {
			tr.Keys = append(tr.Keys, stream.Key{Num: uint64(o)})
		}
		for pos := range tr.Objects {
			if rapid.IntRange(0, 5).Draw(t, "removes") == 0 {
				tr.Removals = append(tr.Removals, traces.Removal{Before: uint32(pos),
					Object: uint32(rapid.IntRange(0, tr.NumObjects-1).Draw(t, "object")),
					Why:    traces.Cause(rapid.IntRange(0, 2).Draw(t, "cause"))})
			}
		}
		room := rapid.IntRange(1, 6).Draw(t, "capacity")
		key := uint32(rapid.IntRange(0, tr.NumObjects-1).Draw(t, "key"))
		var out bytes.Buffer
		must.Do(t, explain.PrintWhy(t.Context(), &out, tr, simtest.Cell(t, "lru", capacity.Of(int64(room), false)),
			sim.ReplayerOptions{}, explain.Options{Format: "json"}, tr.Keys[key].String()))
		var got []why
		for rows := json.NewDecoder(&out); rows.More(); {
			var row why
			must.Do(t, rows.Decode(&row))
			got = append(got, row)
		}
		if want := naiveWhy(tr, room, key); !slices.Equal(got, want) {
			t.Fatalf("%s, capacity %d, key %d, removals %v:\n%+v, want\n%+v", text, room, key, tr.Removals, got, want)
		}
	})
}

// TestWhyNotAdmitted: what an admission keeps out is named, and several keys are followed in one replay.
func TestWhyNotAdmitted(t *testing.T) {
	tr := simtest.FromKeys("abacaba")
	for o := range tr.NumObjects {
		tr.Keys = append(tr.Keys, stream.Key{Num: uint64(o)})
	}
	show := func(format string, keys ...string) string {
		var out bytes.Buffer
		cell := simtest.Cell(t, "lru", capacity.Of(1, false), "admission=second")
		must.Do(t, explain.PrintWhy(t.Context(), &out, tr, cell,
			sim.ReplayerOptions{}, explain.Options{Format: format}, keys...))
		return out.String()
	}
	want := `position,seconds,hits_before,cause,requests_ago,why,key
0,0,0,first request,0,first request,0
1,0,0,first request,0,first request,1
2,0,0,not loaded,2,"not loaded 2 requests before, the admission second kept it out",0
5,0,0,not loaded,4,"not loaded 4 requests before, the admission second kept it out",1
6,0,1,evicted,1,"evicted 1 request before, to load 1; it was in the cache for 3 requests, ` +
		"idle for the last 1 request\",0\n"
	if got := show("csv", "0", "1", "0"); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	for _, line := range []string{"0: 4 requests, 1 hit; misses: ",
		"1: 2 requests, 0 hits; misses: ", " position  key  "} {
		if got := show("table", "0", "1"); !strings.Contains(got, line) {
			t.Errorf("no %q in\n%s", line, got)
		}
	}
	if note := explain.SampleNote(tr); note != "" {
		t.Errorf("a whole trace has the note %s", note)
	}
	tr.SampleRate = 0.5
	if note := explain.SampleNote(tr); !strings.Contains(note, "(--sample 0.5)") || !strings.Contains(note, "2 times") {
		t.Errorf("a sample has the note %s", note)
	}
	err := explain.PrintWhy(t.Context(), io.Discard, tr, simtest.Cell(t, "lru", capacity.Of(1, false)),
		sim.ReplayerOptions{}, explain.Options{}, "7")
	must.Fail(t, err, "the sample of ", "a key that the sample lacks")
}
