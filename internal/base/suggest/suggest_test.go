package suggest

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

var names = []string{"lru", "lfu", "s3fifo", "w-tinylfu", "opt-bypass", "policy", "train"}

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{
		"lur":       "lru",
		"LRU":       "lru",
		"s3-fifo":   "s3fifo",
		"wtinylfu":  "w-tinylfu",
		"opt-bypas": "opt-bypass",
		"lfuu":      "lfu",
		"nonsense":  "",
		"hyperbole": "",
		"policies":  "policy",
		"version":   "",
		"arc":       "",
	} {
		got, ok := Nearest(name, names)
		if got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", name, got, ok, want)
		}
	}
}

func TestNearestOfEqualsIsTheFirst(t *testing.T) {
	if got, _ := Nearest("lxu", names); got != "lru" {
		t.Errorf("got %q, want the first of the two at distance 1", got)
	}
}

func TestNearestFindsEverySlip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "name")
		at := rapid.IntRange(0, len(name)-1).Draw(t, "at")
		slip := name[:at] + "#" + name[at+1:]
		if got, ok := Nearest(slip, names); !ok || got != name && !(len(name) == 3 && len(got) == 3) {
			t.Fatalf("%s: got %q, want %s", slip, got, name)
		}
	})
}

func TestUnknown(t *testing.T) {
	for _, c := range []struct {
		name  string
		exist []string
		want  string
	}{
		{"s3fif", names, `unknown policy "s3fif"; did you mean "s3fifo"? (exists: lru, lfu, s3fifo, w-tinylfu, opt-bypass, ` +
			`policy, train)`},
		{"nonsense", names, `unknown policy "nonsense" (exists: lru, lfu, s3fifo, w-tinylfu, opt-bypass, policy, train)`},
		{"k", nil, `unknown policy "k": none is accepted here`},
	} {
		if got := Unknown("policy", c.name, c.exist).Error(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if !strings.HasPrefix(Unknown("trace format", "x", names).Error(), "unknown trace format") {
		t.Error("the kind is not named")
	}
}

// An axis of an experiment may have thousands of places, and a name the length of a file.
func TestLongListsAreCut(t *testing.T) {
	var exist []string
	for i := range 34_000 {
		exist = append(exist, strconv.Itoa(i))
	}
	text := Unknown("place", "x", exist).Error()
	if want := `unknown place "x"; did you mean "0"? (exists: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 33990 more)`; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	few := []string{"opt", "arc", "lru", "lfu", "mru", "fifo", "clock", "sieve", "car", "random", "slru", "infinite"}
	for name, want := range map[string]string{
		"lru-": `unknown policy "lru-"; did you mean "lru"? (exists: lru, lfu, mru, slru, `,
		"slr":  `(exists: slru, lru, `,
	} {
		text := Unknown("policy", name, few).Error()
		if !strings.Contains(text, want) || !strings.HasSuffix(text, " and 2 more)") {
			t.Errorf("%s, want %s", text, want)
		}
	}
	if near, ok := Nearest(strings.Repeat("x", 1<<20), exist); ok {
		t.Errorf("%q", near)
	}
}
