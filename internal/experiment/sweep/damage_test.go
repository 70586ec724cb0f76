package sweep

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment"
)

func flipBit(random *rand.Rand, text []byte) []byte {
	at := random.IntN(8 * len(text))
	text[at/8] ^= 1 << (at % 8)
	return text
}

// damages are other things that happen to files.
var damages = []func(random *rand.Rand, text []byte) []byte{
	func(random *rand.Rand, text []byte) []byte { return text[:random.IntN(len(text))] },
	func(random *rand.Rand, text []byte) []byte { // a block of zeros
		at := random.IntN(len(text))
		clear(text[at:min(len(text), at+1+random.IntN(512))])
		return text
	},
	func(random *rand.Rand, text []byte) []byte { // a duplicated field
		fields := bytes.Split(text, []byte(","))
		at := random.IntN(len(fields))
		return bytes.Join(slices.Insert(fields, at, fields[at]), []byte(","))
	},
	func(random *rand.Rand, text []byte) []byte { // two fields, or lines, swapped
		fields := bytes.SplitAfter(text, []byte{",\n"[random.IntN(2)]})
		i, j := random.IntN(len(fields)), random.IntN(len(fields))
		fields[i], fields[j] = fields[j], fields[i]
		return bytes.Join(fields, nil)
	},
	func(random *rand.Rand, text []byte) []byte { // another digit
		for {
			at := random.IntN(len(text))
			if text[at] >= '0' && text[at] <= '8' {
				text[at]++
				return text
			}
		}
	},
	func(random *rand.Rand, text []byte) []byte { return append(text, text[:random.IntN(len(text))]...) },
}

// damaged returns 150 contents with one flipped bit and 60 with other damage.
func damaged(text []byte) (all [][]byte) {
	random := rand.New(rand.NewPCG(1, 2))
	for range brief.Of(150, 8) {
		all = append(all, flipBit(random, bytes.Clone(text)))
	}
	for i := range brief.Of(60, len(damages)) {
		all = append(all, damages[i%len(damages)](random, bytes.Clone(text)))
	}
	return all
}

// Whatever happens to a cell's file, its records are never published: the cell counts as missing.
func TestDamageInCellsIsFound(t *testing.T) {
	cells := grid([]string{zipfA}, []string{"lru", "random"}, []string{"5", "10"})
	dir := sweep(t, cells, t.TempDir(), experiment.Options{})
	for i, c := range experiment.WithoutRepetitions(cells) {
		path := filepath.Join(dir, cellsDir, c.Hash+".json")
		text := must.Get(os.ReadFile(path))(t)
		for _, content := range damaged(text) {
			must.Do(t, os.WriteFile(path, content, 0o644))
			finished := must.Get(ReadFinished(cells, dir))(t)
			if finished.Has(c) && !bytes.Equal(content, text) {
				t.Errorf("cell %d passes as %s", i, content)
			}
		}
		must.Do(t, os.WriteFile(path, text, 0o644))
	}
}

// A changed plan, or a changed experiment next to it, cannot be opened.
func TestDamageInPlansIsFound(t *testing.T) {
	f := must.Get(experiment.Load("example"))(t)
	s := must.Get(Plan(t.Context(), f, t.TempDir(), "test"))(t)
	must.Do(t, s.Write())
	for _, name := range []string{planName, sweepFileName} {
		path := filepath.Join(s.Dir, name)
		text := must.Get(os.ReadFile(path))(t)
		for _, content := range damaged(text) {
			must.Do(t, os.WriteFile(path, content, 0o644))
			if _, err := Open(s.Dir); err == nil && !bytes.Equal(content, text) {
				t.Errorf("%s passes as %s", name, content)
			}
		}
		must.Do(t, os.WriteFile(path, text, 0o644))
	}
	if _, err := Open(s.Dir); err != nil {
		t.Error(err)
	}
}
