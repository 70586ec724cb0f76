package embed

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/queries"
)

// shortestPart is the length of the shortest runs of characters that are features.
const shortestPart = 3

var lexical = Entry{
	Name: "lexical",
	Summary: "the words and parts of words that a text consists of, weighted by how rare they are in the trace (TF-IDF) " +
		"and hashed into dim numbers; texts are similar if their wording is, whatever they mean",
	Params: []params.Param{
		{Name: "dim", Default: 384, Min: 8, Max: 65536, Doc: "numbers in a vector"},
		{Name: "seed", Default: 1, Doc: "seed of the hash that places features in the vector"},
		{Name: "words", Default: 1, Max: 5, Doc: "longest run of words that is a feature; 0: no words; from 2 on " +
			"the order of words matters"},
		{Name: "chars", Default: 5, Max: 8,
			Doc: fmt.Sprintf("longest run of characters of a word, its start and end included, that is a feature; the "+
				"shortest is %d; 0: none", shortestPart)},
	},
	check: checkLexical,
	embed: embedLexical,
}

func checkLexical(v params.Values) error {
	switch chars := v.Int("chars"); {
	case v.Int("words") == 0 && chars == 0:
		return errors.New("words=0,chars=0 leaves no features: want at least one of them above 0")
	case chars > 0 && chars < shortestPart:
		return fmt.Errorf("chars=%d: want 0, or at least %d", chars, shortestPart)
	}
	return nil
}

// embedLexical embeds distinct texts by feature hashing (Weinberger et al., Feature Hashing for Large Scale Multitask
// Learning, ICML 2009) of TF-IDF weights (Salton and Buckley 1988: sublinear frequencies; the document frequencies are
// smoothed by one text that contains every feature). Memory: 4 bytes per text and dimension, and about 40 per distinct
// feature.
func embedLexical(ctx context.Context, texts []string, v params.Values, progress func(done int)) (Embeddings, error) {
	if progress == nil {
		progress = func(int) {}
	}
	words, chars := v.Int("words"), v.Int("chars")
	var counts documentCounts
	err := inParallel(ctx, len(texts), func() func(int) {
		x := newExtractor(words, chars)
		return func(i int) { counts.add(x.features(texts[i])) }
	}, func(done int) { progress(done / 2) })
	if err != nil {
		return Embeddings{}, err
	}
	dim := v.Int("dim")
	e := Embeddings{Dim: dim, Vectors: make([]float32, len(texts)*dim)}
	rarity := inverseFrequencies(len(texts))
	var featureless atomic.Int64
	err = inParallel(ctx, len(texts), func() func(int) {
		x, p := newExtractor(words, chars), &projection{random.Mix(uint64(v.Int("seed"))), make([]float64, dim)}
		return func(i int) {
			vector := e.Vectors[i*dim:][:dim]
			if !p.project(vector, x.features(texts[i]), &counts, rarity) {
				featureless.Add(1)
				p.projectWhole(vector, texts[i])
			}
		}
	}, func(done int) { progress((len(texts) + done) / 2) })
	e.Featureless = int(featureless.Load())
	return e, err
}

// inverseFrequencies returns ln((1+n)/(1+d)) + 1 for each number d of texts, of n, that contain a feature.
func inverseFrequencies(n int) []float64 {
	rarity := make([]float64, n+1)
	for d := range rarity {
		rarity[d] = random.Log(float64(1+n)/float64(1+d)) + 1
	}
	return rarity
}

// documentCounts counts the texts that contain a feature. It is split by hash so that goroutines seldom wait for each
// other.
type documentCounts [256]struct {
	sync.Mutex
	texts map[uint64]int32
}

func (c *documentCounts) add(features []feature) {
	for _, f := range features {
		shard := &c[f.hash>>56]
		shard.Lock()
		if shard.texts == nil {
			shard.texts = map[uint64]int32{}
		}
		shard.texts[f.hash]++
		shard.Unlock()
	}
}

// of returns the number of texts that contain a feature. No goroutine may add meanwhile.
func (c *documentCounts) of(hash uint64) int32 { return c[hash>>56].texts[hash] }

// feature is a word, a run of words or a part of a word in a text.
type feature struct {
	hash  uint64
	times int // in the text
}

// The hash of a feature starts from its kind, so that a word differs from a part of a word with the same letters.
const (
	kindWords uint64 = iota + 1
	kindPart
	kindWhole
)

// extractor finds the features of texts.
type extractor struct {
	words, chars int
	fold         cases.Caser
	hashes       []uint64 // of the features, repeated ones too
	wordHashes   []uint64
	word         []rune
	found        []feature
}

func newExtractor(words, chars int) *extractor {
	return &extractor{words: words, chars: chars, fold: cases.Fold()}
}

// features returns the distinct features of a text in the order of their hashes. It does not depend on the order of
// words, so sums are the same to the last bit. They are valid until the next call.
func (x *extractor) features(text string) []feature {
	x.hashes, x.wordHashes, x.word = x.hashes[:0], x.wordHashes[:0], x.word[:0]
	for _, r := range x.fold.String(norm.NFKC.String(text)) {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) {
			x.word = append(x.word, r)
		} else {
			x.endWord()
		}
	}
	x.endWord()
	for n := 1; n <= x.words; n++ {
		for from := 0; from+n <= len(x.wordHashes); from++ {
			x.hashes = append(x.hashes, hash(kindWords, x.wordHashes[from:from+n]))
		}
	}
	slices.Sort(x.hashes)
	x.found = x.found[:0]
	for i, h := range x.hashes {
		if i > 0 && h == x.hashes[i-1] {
			x.found[len(x.found)-1].times++
		} else {
			x.found = append(x.found, feature{h, 1})
		}
	}
	return x.found
}

// endWord adds the features of the word that has been read, if any.
func (x *extractor) endWord() {
	if len(x.word) == 0 {
		return
	}
	x.wordHashes = append(x.wordHashes, hash(kindWords, x.word))
	if x.chars > 0 {
		x.word = append(append(x.word, 0), 0)
		copy(x.word[1:], x.word)
		x.word[0] = 0 // marks the word's start, as the last 0 marks its end
		for from := range x.word {
			x.addParts(x.word[from:])
		}
	}
	x.word = x.word[:0]
}

// addParts adds every part of a word that begins with the first of the characters.
func (x *extractor) addParts(characters []rune) {
	state := kindPart
	for i, r := range characters[:min(len(characters), x.chars)] {
		state = step(state, uint64(r))
		if i+1 >= shortestPart {
			x.hashes = append(x.hashes, random.Mix(state))
		}
	}
}

func hash[T rune | byte | uint64](kind uint64, items []T) uint64 {
	state := kind
	for _, item := range items {
		state = step(state, uint64(item))
	}
	return random.Mix(state)
}

// step adds an item to the state of a hash. The shift brings the upper bits down, which a product alone never does.
func step(state, item uint64) uint64 {
	state = (state ^ item) * random.Golden
	return state ^ state>>32
}

// projection places features in a vector: each at one number, with a sign, both determined by its hash and the seed.
type projection struct {
	seed uint64
	sums []float64
}

// project fills vector with the weighted features of a text. It reports false if there are none, or if they cancel out.
func (p *projection) project(vector []float32, features []feature, counts *documentCounts, rarity []float64) bool {
	clear(p.sums)
	for _, f := range features {
		// The conversion keeps the compiler from fusing the product with the sum, which would differ from machine to machine.
		weight := rarity[counts.of(f.hash)]
		if f.times > 1 {
			weight = float64((1 + random.Log(float64(f.times))) * weight)
		}
		placed := random.Mix(f.hash ^ p.seed)
		// The upper bits choose the place, the lowest one the sign, so that the two are independent.
		at, _ := bits.Mul64(placed, uint64(len(p.sums)))
		if placed&1 == 0 {
			weight = -weight
		}
		p.sums[at] += weight
	}
	for i, sum := range p.sums {
		vector[i] = float32(sum)
	}
	return queries.Normalize(vector) == nil
}

// projectWhole fills vector with signs from a hash of the whole text, so that the text is similar to itself and hardly
// to any other.
func (p *projection) projectWhole(vector []float32, text string) {
	state := hash(kindWhole, []byte(text)) ^ p.seed
	for i := range vector {
		vector[i] = 1
		if random.Mix(state+uint64(i)*random.Golden)&1 == 0 {
			vector[i] = -1
		}
	}
	_ = queries.Normalize(vector) // cannot fail: no number of it is zero
}
