package admit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

func newAdmission(tb must.TB, text string, c Config) Admission {
	tb.Helper()
	return must.Get(New(must.Get(Registry.Parse(text))(tb), c))(tb)
}

func TestSecondAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, within := rapid.IntRange(1, 4).Draw(t, "n"), rapid.IntRange(0, 9).Draw(t, "within")
		spec := must.Get(Registry.Parse("second"))(t)
		spec.Params["n"], spec.Params["within"] = n, within
		a := must.Get(New(spec, Config{Objects: 6}))(t)
		objects := rapid.SliceOfN(rapid.Uint32Range(0, 5), 1, 60).Draw(t, "objects")
		for i, o := range objects {
			a.Request(requests.Request{Object: o, Size: 1}, i)
			for asked := range requests.Object(6) {
				// requests from the last one backwards, until a gap is too long
				seen, last := 0, -1
				for k := i; k >= 0; k-- {
					if objects[k] == asked && (last < 0 || within == 0 || last-k <= within) {
						seen, last = seen+1, k
					} else if objects[k] == asked {
						break
					}
				}
				if got := a.Admit(requests.Request{Object: asked}); got != (seen >= n) {
					t.Fatalf("n=%d, within=%d, requests %v: admits %d: %v, requested %d times", n, within, objects[:i+1], asked, got,
						seen)
				}
			}
		}
	})
}

func TestSizeHasLimits(t *testing.T) {
	a := newAdmission(t, "size(least=10B,most=2kB)", Config{Objects: 1, Sized: true})
	for size, want := range map[int64]bool{9: false, 10: true, 2000: true, 2001: false} {
		if got := a.Admit(requests.Request{Size: size}); got != want {
			t.Errorf("admits %d bytes: %v", size, got)
		}
	}
}

func TestAdmissionErrors(t *testing.T) {
	for text, want := range map[string]string{
		"size(most=10)":              "want bytes with their unit",
		"size(most=10gb)":            "did you mean",
		"size(least=2MiB,most=1MiB)": "nothing is admitted",
		"second(n=0)":                "from 1 to 255",
		"seconds":                    `did you mean "second"?`,
		"learned(horizon=0)":         "from 0.001",
		"probability(p=2)":           "from 0 to 1",
		"size-probability(c=1)":      "want bytes with their unit",
		"adaptsize(first=0B)":        "above 0",
		"adaptsize(every=10)":        "from 1000",
		"bloom(error=0)":             "from 0.000001",
	} {
		must.NotGet(Registry.Parse(text))(t, want, text)
	}
	for _, name := range []string{"size", "size-probability", "adaptsize"} {
		must.NotGet(New(must.Get(Registry.Parse(name))(t), Config{Objects: 1, Capacity: 1}))(t, "add --bytes", name)
	}
}

// TestChances: as many objects are admitted as the probability says, by size or not, and other seeds draw others.
func TestChances(t *testing.T) {
	const draws = 100_000
	for text, want := range map[string]float64{
		"probability(p=0.3)": 0.3, "probability(p=0)": 0, "probability(p=1)": 1,
		"size-probability(c=1000B)": math.Exp(-1), "size-probability(c=1B)": 0, "size-probability(c=1TiB)": 1,
		"adaptsize(first=500B)": math.Exp(-2),
	} {
		var by [2][]bool
		for seed := range by {
			a := newAdmission(t, text, Config{Objects: 1, Capacity: 1 << 20, Sized: true, Seed: uint64(seed)})
			share := 0.0
			for range draws {
				is := a.Admit(requests.Request{Size: 1000})
				by[seed] = append(by[seed], is)
				if is {
					share += 1.0 / draws
				}
			}
			if math.Abs(share-want) > 0.006 {
				t.Errorf("%s admits %.4f of the objects, want %.4f", text, share, want)
			}
		}
		if slices.Equal(by[0], by[1]) != (want == 0 || want == 1) {
			t.Errorf("%s: two seeds draw the same: %v", text, slices.Equal(by[0], by[1]))
		}
	}
}

// TestBloomAgainstNaive: with hardly any error, filters are sets.
func TestBloomAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries, splits := rapid.IntRange(1, 12).Draw(t, "entries"), rapid.IntRange(1, 4).Draw(t, "splits")
		b := newBloom(entries, splits, 1e-6)
		sets := []map[uint32]bool{{}} // the oldest first
		for i, o := range rapid.SliceOfN(rapid.Uint32Range(0, 15), 1, 80).Draw(t, "objects") {
			known := slices.ContainsFunc(sets, func(s map[uint32]bool) bool { return s[o] })
			if got := b.Admit(requests.Request{Object: o}); got != known {
				t.Fatalf("request %d, of %d: admitted %v, want %v", i, o, got, known)
			}
			newest := sets[len(sets)-1]
			if !newest[o] && len(newest) == (entries+splits-1)/splits {
				newest = map[uint32]bool{}
				sets = append(sets, newest)
				sets = sets[max(0, len(sets)-splits):]
			}
			newest[o] = true
		}
	})
}

// TestBloomErrs: a full filter mistakes as many new objects for its own as its error says.
func TestBloomErrs(t *testing.T) {
	const entries = 20_000
	for _, wrong := range []float64{0.1, 0.01, 0.001} {
		b := newBloom(entries, 1, wrong)
		for o := requests.Object(0); b.taken < entries; o++ {
			b.Admit(requests.Request{Object: o})
		}
		mistaken := 0
		for o := range requests.Object(1_000_000) {
			if b.has(0, 1_000_000+o) {
				mistaken++
			}
		}
		if got := float64(mistaken) / 1e6; math.Abs(got/wrong-1) > 0.15 {
			t.Errorf("an error of %g: %.5f of the new objects are mistaken for others", wrong, got)
		}
	}
}

// TestLearnedLearns: objects of two kinds come down, one of which is requested again soon. After a while only these are
// admitted, whether they differ in their size or in how often they were requested.
func TestLearnedLearns(t *testing.T) {
	for _, by := range []string{"size", "requests"} {
		const objects = 60_000
		a := newAdmission(t, "learned", Config{Objects: objects, Capacity: 100 * 1000, Sized: true})
		rng := rand.New(rand.NewPCG(1, 2))
		at := 0
		request := func(o requests.Object, size int64) {
			a.Request(requests.Request{Object: o, Size: size}, at)
			at++
		}
		admitted, offered := map[bool]int{}, map[bool]int{}
		var soon []requests.Request // objects that are requested again
		for o := range requests.Object(objects) {
			good := rng.IntN(3) == 0
			r := requests.Request{Object: o, Size: 1000}
			if by == "size" && good {
				r.Size = 10
			}
			request(o, r.Size)
			if by == "requests" && good {
				request(o, r.Size)
				request(o, r.Size)
			}
			if is := a.Admit(r); o > objects/2 {
				offered[good]++
				if is {
					admitted[good]++
				}
			}
			if good {
				soon = append(soon, r)
			}
			if len(soon) > 20 {
				request(soon[0].Object, soon[0].Size)
				soon = soon[1:]
			}
		}
		good, bad := float64(admitted[true])/float64(offered[true]), float64(admitted[false])/float64(offered[false])
		if good < 0.95 || bad > 0.2 {
			t.Errorf("by %s: admits %.2f of the objects that are requested again, %.2f of the others", by, good, bad)
		}
	}
}

// TestLearnedIsBounded: samples are kept for the horizon only, and weights stay finite.
func TestLearnedIsBounded(t *testing.T) {
	a := newAdmission(t, "learned(rate=1)", Config{Objects: 5000, Capacity: 50}).(*learned)
	rng := rand.New(rand.NewPCG(3, 4))
	for at := range 200_000 {
		o := requests.Object(rng.IntN(5000))
		a.Request(requests.Request{Object: o, Size: 1}, at)
		a.Admit(requests.Request{Object: requests.Object(rng.IntN(5000)), Size: 1})
	}
	if cap(a.samples) > 400 {
		t.Errorf("%d samples are kept for a horizon of 50 requests", cap(a.samples))
	}
	for _, w := range a.weights {
		if math.IsNaN(w) || math.Abs(w) > 1e6 {
			t.Errorf("weights %v", a.weights)
		}
	}
}

func TestLogarithm(t *testing.T) {
	for n := range uint64(1 << 12) {
		if got, want := log2(n), math.Log2(float64(n+1)); math.Abs(got-want) > 0.09 || n&(n+1) == 0 && got != want {
			t.Fatalf("log2(%d) is %v, want %v", n, got, want)
		}
	}
	if got := log2(math.MaxUint32); got != 32 {
		t.Errorf("log2 of 2^32-1 is %v", got)
	}
}
