package embed

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/similarity"
)

// readDialogues reads a JSON file with published texts, which are not part of the repository: CACHESIM_TRACES names the
// folder that holds them.
func readDialogues(t *testing.T, name string, to any) {
	t.Helper()
	folder := os.Getenv("CACHESIM_TRACES")
	if folder == "" {
		t.Skip("CACHESIM_TRACES does not name a folder with the published traces")
	}
	f, err := os.Open(filepath.Join(folder, "dialogue", name))
	must.Do(t, err)
	defer f.Close()
	var r io.Reader
	if strings.HasSuffix(name, ".gz") {
		r, err = gzip.NewReader(f)
	} else {
		r, err = zstd.NewReader(f)
	}
	must.Do(t, err)
	must.Do(t, json.NewDecoder(r).Decode(to))
}

// pairs are two texts each, by number.
type pairs [][2]int

// similarities embeds the texts and returns how similar the pairs are, in order.
func (p pairs) similarities(t *testing.T, spec string, texts []string) []float32 {
	t.Helper()
	e := embedded(t, spec, texts)
	vectors := similarity.Vectors{Dim: e.Dim, Data: e.Vectors}
	out := make([]float32, len(p))
	for i, pair := range p {
		out[i] = vectors.Similarity(pair[0], pair[1])
	}
	slices.Sort(out)
	return out
}

// qqp returns distinct questions, pairs of them that ask the same, and random pairs.
func qqp(t *testing.T) (texts []string, same, different pairs) {
	var file []struct{ Origin, Similar string }
	readDialogues(t, "qqp-duplicate-pairs.json.gz", &file)
	numbers := map[string]int{}
	number := func(text string) int {
		if _, ok := numbers[text]; !ok {
			numbers[text] = len(texts)
			texts = append(texts, text)
		}
		return numbers[text]
	}
	for _, pair := range file {
		if a, b := number(pair.Origin), number(pair.Similar); a != b {
			same = append(same, [2]int{a, b})
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 300_000 {
		if a, b := r.IntN(len(texts)), r.IntN(len(texts)); a != b {
			different = append(different, [2]int{a, b})
		}
	}
	return texts, same, different
}

// clinc returns requests to an assistant, pairs of one intent, and pairs of different intents.
func clinc(t *testing.T) (texts []string, same, different pairs) {
	var file map[string][][2]string
	readDialogues(t, "clinc150.json.zst", &file)
	var intents []string
	ofIntent := map[string][]int{}
	for _, part := range []string{"train", "val", "test"} {
		for _, query := range file[part] {
			ofIntent[query[1]] = append(ofIntent[query[1]], len(texts))
			texts, intents = append(texts, query[0]), append(intents, query[1])
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 300_000 {
		a, b := r.IntN(len(texts)), r.IntN(len(texts))
		alike := ofIntent[intents[a]]
		if c := alike[r.IntN(len(alike))]; c != a {
			same = append(same, [2]int{a, c})
		}
		if intents[a] != intents[b] {
			different = append(different, [2]int{a, b})
		}
	}
	return texts, same, different
}

// auc returns how often a pair of the one kind is more similar than one of the other: 1 where the two are kept apart,
// 0.5 where they are not told apart. Both are sorted.
func auc(same, different []float32) float64 {
	below, wins := 0, 0.0
	for _, s := range same {
		for below < len(different) && different[below] < s {
			below++
		}
		wins += float64(below)
	}
	return wins / float64(len(same)) / float64(len(different))
}

// shareFrom returns which share of sorted numbers is at least tau.
func shareFrom(sorted []float32, tau float32) float64 {
	at, _ := slices.BinarySearch(sorted, tau)
	return 1 - float64(at)/float64(len(sorted))
}

// TestLexicalSeparation measures what docs/embeddings.md tells: run it with -v for the tables, that of other parameters
// included.
func TestLexicalSeparation(t *testing.T) {
	if testing.Short() {
		t.Skip("millions of pairs: minutes under the race detector")
	}
	for _, data := range []struct {
		name string
		read func(*testing.T) ([]string, pairs, pairs)
		auc  float64
	}{{"QQP", qqp, 0.999}, {"CLINC150", clinc, 0.85}} {
		t.Run(data.name, func(t *testing.T) {
			texts, same, different := data.read(t)
			sameAt, differentAt := same.similarities(t, Default, texts), different.similarities(t, Default, texts)
			got := auc(sameAt, differentAt)
			t.Logf("AUC %.4f, medians %.2f and %.2f", got, sameAt[len(sameAt)/2], differentAt[len(differentAt)/2])
			for _, tau := range []float32{0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95} {
				t.Logf("at least %.2f: %.2f%% and %.4f%%", tau, 100*shareFrom(sameAt, tau), 100*shareFrom(differentAt, tau))
			}
			if got < data.auc {
				t.Errorf("AUC %.4f, want at least %v", got, data.auc)
			}
			if !testing.Verbose() {
				return
			}
			for _, parameters := range []string{"words=2", "words=0", "chars=0", "words=2,chars=0", "dim=128", "dim=768",
				"dim=1536"} {
				spec := "lexical(" + parameters + ")"
				sameAt, differentAt := same.similarities(t, spec, texts), different.similarities(t, spec, texts)
				t.Logf("%s: AUC %.4f, %.1f%% from 0.85", spec, auc(sameAt, differentAt), 100*shareFrom(sameAt, 0.85))
			}
		})
	}
}
