package embed

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/similarity"
)

func embedded(t testing.TB, text string, texts []string) Embeddings {
	t.Helper()
	spec := must.Get(Parse(text))(t)
	return must.Get(Texts(t.Context(), spec, texts, nil))(t)
}

// cosine returns how similar two embedded texts are.
func (e Embeddings) cosine(i, j int) float64 {
	return float64(similarity.Vectors{Dim: e.Dim, Data: e.Vectors}.Similarity(i, j))
}

// row returns the vector of a text.
func (e Embeddings) row(i int) []float32 { return e.Vectors[i*e.Dim:][:e.Dim] }

// wide is so many dimensions that the few features of these tests do not meet in one.
const wide = "dim=65536"

// TestLexicalWeights compares similarities with the formula, worked out by hand.
func TestLexicalWeights(t *testing.T) {
	texts := []string{"red red fox", "red hen", "blue hen", "Red, Hen!"}
	e := embedded(t, "lexical(words=1,chars=0,"+wide+")", texts)
	rarity := func(holding float64) float64 { return math.Log((1+4)/(1+holding)) + 1 }
	red, fox, hen, blue := rarity(3), rarity(1), rarity(3), rarity(1)
	twice := 1 + math.Log(2)
	for _, c := range []struct {
		i, j int
		want float64
	}{
		{0, 1, twice * red * red / math.Hypot(twice*red, fox) / math.Hypot(red, hen)},
		{1, 2, hen * hen / math.Hypot(red, hen) / math.Hypot(blue, hen)},
		{0, 2, 0},
		{1, 3, 1},
	} {
		if got := e.cosine(c.i, c.j); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%q and %q: similarity %v, want %v", texts[c.i], texts[c.j], got, c.want)
		}
	}
}

// TestLexicalParts: the parts of "cat" are ^ca, cat, at$, ^cat, cat$ and ^cat$, where ^ and $ are its borders; "cats"
// shares ^ca, cat and ^cat.
func TestLexicalParts(t *testing.T) {
	e := embedded(t, "lexical(words=0,chars=5,"+wide+")", []string{"cat", "cats"})
	shared, own := 1.0, math.Log(1.5)+1
	cat := math.Sqrt(3*shared + 3*own*own)
	cats := math.Sqrt(3*shared + 5*own*own) // ats ts$ cats ats$ ^cats; cats$ is the sixth
	cats = math.Sqrt(cats*cats + own*own)
	if got, want := e.cosine(0, 1), 3*shared/cat/cats; math.Abs(got-want) > 1e-6 {
		t.Errorf("similarity %v, want %v", got, want)
	}
}

func TestLexicalFolds(t *testing.T) {
	texts := []string{"Straße in KÖLN", "STRASSE IN köln", "strasse in ko\u0308ln", "ﬁne", "FINE"}
	e := embedded(t, "lexical", texts)
	for _, pair := range [][2]int{{0, 1}, {1, 2}, {3, 4}} {
		if !slices.Equal(e.row(pair[0]), e.row(pair[1])) {
			t.Errorf("%q and %q: different vectors", texts[pair[0]], texts[pair[1]])
		}
	}
}

// TestWordOrder: runs of words tell orders apart, single words do not.
func TestWordOrder(t *testing.T) {
	texts := []string{"from Paris to Rome", "from Rome to Paris"}
	if e := embedded(t, "lexical(words=1)", texts); !slices.Equal(e.row(0), e.row(1)) {
		t.Error("words=1: different vectors")
	}
	if got := embedded(t, "lexical(words=2)", texts).cosine(0, 1); got > 0.95 {
		t.Errorf("words=2: similarity %v, want less than 0.95", got)
	}
}

// TestFeatureless: texts without features are similar to themselves alone.
func TestFeatureless(t *testing.T) {
	texts := []string{"", "?", "??", "...", "hello", "?", "👍"}
	e := embedded(t, "lexical", texts)
	if e.Featureless != 5 {
		t.Errorf("%d texts without features, want 5", e.Featureless)
	}
	for i := range texts {
		for j := range i {
			got := e.cosine(i, j)
			if texts[i] == texts[j] && math.Abs(got-1) > 1e-6 || texts[i] != texts[j] && math.Abs(got) > 0.25 {
				t.Errorf("%q and %q: similarity %v", texts[i], texts[j], got)
			}
		}
	}
}

func TestLexicalOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.StringMatching(`[ab ?\xff]{0,12}`)), 1, 20).Draw(t, "texts")
		spec := must.Get(Parse(fmt.Sprintf("lexical(dim=%d,seed=%d,words=%d)", rapid.IntRange(8, 64).Draw(t, "dim"),
			rapid.IntRange(0, 9).Draw(t, "seed"),
			rapid.IntRange(0, 3).Draw(t, "words"))))(t)
		e := must.Get(Texts(context.Background(), spec, texts, nil))(t)
		for i := range texts {
			if length := e.cosine(i, i); math.Abs(length-1) > 1e-6 {
				t.Fatalf("%q: length %v", texts[i], length)
			}
		}
	})
}

// sentences returns texts of words with a skewed distribution.
func sentences(n int) []string {
	texts := make([]string, n)
	state := uint64(1)
	for i := range texts {
		words := make([]string, 10)
		for k := range words {
			state = random.Mix(state + 1)
			words[k] = fmt.Sprintf("w%dx", state%(1+state>>32%5000))
		}
		texts[i] = strings.Join(words, " ")
	}
	return texts
}

func digest(vectors []float32) string {
	sum := sha256.New()
	_ = binary.Write(sum, binary.LittleEndian, vectors)
	return hex.EncodeToString(sum.Sum(nil))
}

// TestLexicalIsTheSameEverywhere compares the bytes with another machine's and another number of cores.
func TestLexicalIsTheSameEverywhere(t *testing.T) {
	const want = "a823f82f8dab42b37d440308231aff4268e8dc392d03811bc1551e0739f68c49"
	texts := sentences(2000)
	for _, cores := range []int{1, 3, 8} {
		old := runtime.GOMAXPROCS(cores)
		got := digest(embedded(t, "lexical", texts).Vectors)
		runtime.GOMAXPROCS(old)
		if got != want {
			t.Errorf("%d cores: digest %s, want %s", cores, got, want)
		}
	}
}

func TestSeedsPlaceFeaturesElsewhere(t *testing.T) {
	texts := sentences(300)
	first, second := embedded(t, "lexical(seed=1)", texts), embedded(t, "lexical(seed=2)", texts)
	if slices.Equal(first.Vectors, second.Vectors) {
		t.Error("the seed changes nothing")
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"lexicl":                   `did you mean "lexical"`,
		"lexical(dim=4)":           "from 8 to 65536",
		"lexical(chars=2)":         "at least 3",
		"lexical(words=0,chars=0)": "leaves no features",
		"lexical(dims=4)":          `did you mean "dim"`,
	} {
		must.NotGet(Parse(text))(t, want, text)
	}
}

func TestLexicalStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	spec := must.Get(Parse("lexical"))(t)
	if _, err := Texts(ctx, spec, []string{"a"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

func BenchmarkLexical(b *testing.B) {
	texts := sentences(100_000)
	spec := must.Get(Parse("lexical"))(b)
	for b.Loop() {
		must.Get(Texts(b.Context(), spec, texts, nil))(b)
	}
}
