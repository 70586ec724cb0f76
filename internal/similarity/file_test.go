package similarity

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func joined(t testing.TB, seed uint64, n int, from float32) (Vectors, *Neighbours) {
	t.Helper()
	v := randomVectors(rand.New(rand.NewPCG(seed, 1)), n, 6, 0.5)
	lists := must.Get(Join(t.Context(), v, from, Options{Jobs: 1}))(t)
	return v, lists
}

func written(t rapid.TB, n *Neighbours, id Identity) []byte {
	t.Helper()
	var out bytes.Buffer
	must.Do(t, n.Write(&out, id))
	return out.Bytes()
}

func TestWrittenNeighboursReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		v := randomVectors(random, rapid.IntRange(0, 80).Draw(t, "n"), rapid.IntRange(1, 9).Draw(t, "dim"), 0.5)
		from := rapid.SampledFrom([]float32{-1, -0.25, 0, 0.6, 0.99, 2}).Draw(t, "from")
		want := must.Get(Join(t.Context(), v, from, Options{Jobs: 1}))(t)
		file := written(t, want, v.Identify())
		if !bytes.Equal(file, written(t, want, v.Identify())) {
			t.Fatal("written twice, the bytes differ")
		}
		asked := rapid.SampledFrom([]float32{from, from + 0.1}).Draw(t, "asked")
		got := must.Get(Read(t.Context(), bytes.NewReader(file), v.Identify(), asked))(t)
		check(t, v, from, got)
	})
}

func TestReadRefuses(t *testing.T) {
	v, lists := joined(t, 1, 100, 0.6)
	other, _ := joined(t, 2, 100, 0.6)
	fewer, _ := joined(t, 1, 99, 0.6)
	good := written(t, lists, v.Identify())
	header := func(change func(h *fileHeader)) []byte {
		h := headerOf(lists, v.Identify())
		change(&h)
		var out bytes.Buffer
		must.Do(t, binary.Write(&out, binary.LittleEndian, h))
		return append(out.Bytes(), good[out.Len():]...)
	}
	for _, test := range []struct {
		name string
		file []byte
		v    Vectors
		from float32
		want string
	}{
		{"empty", nil, v, 0.6, "it is cut off"},
		{"half a header", good[:30], v, 0.6, "it is cut off"},
		{"header alone", good[:64], v, 0.6, "it is cut off"},
		{"half", good[:len(good)/2], v, 0.6, "it is cut off"},
		{"one byte less", good[:len(good)-1], v, 0.6, "it is cut off"},
		{"something else", []byte(strings.Repeat("time,id,session\n", 20)), v, 0.6, "it is not a file of neighbours"},
		{"twice", append(bytes.Clone(good), good...), v, 0.6, "it has further bytes after its end"},
		{"other vectors", good, other, 0.6, "it is for other vectors"},
		{"fewer vectors", good, fewer, 0.6, "it is for 100 vectors of 6 numbers, want 99 of 6"},
		{"lower threshold", good, v, 0.5, "it lists pairs with a similarity of at least 0.6, want all of at least 0.5"},
		{"another version", header(func(h *fileHeader) { h.Version = 7 }), v, 0.6, "it has version 7 of the format, want 1"},
		{"threshold NaN", header(func(h *fileHeader) { h.From = math.Float32bits(float32(math.NaN())) }), v, 0.6,
			"it lists pairs with a similarity of at least NaN"},
		{"absurd count", header(func(h *fileHeader) { h.Count = math.MaxUint32 }), v, 0.6, "it is for 4294967295 vectors"},
		{"absurd pairs", header(func(h *fileHeader) { h.Pairs = math.MaxUint64 }), v, 0.6, "its header has " +
			"18446744073709551615 pairs, more than 100 vectors can have"},
		{"a pair less", header(func(h *fileHeader) { h.Pairs-- }), v, 0.6, "it is damaged"},
		{"a pair more", header(func(h *fileHeader) { h.Pairs++ }), v, 0.6, "it is damaged"},
		{"threshold a bit lower", header(func(h *fileHeader) { h.From -= 3 }), v, 0.6, "its checksum is wrong: it is " +
			"damaged"},
	} {
		_, err := Read(t.Context(), bytes.NewReader(test.file), test.v.Identify(), test.from)
		must.Fail(t, err, test.want, test.name)
	}
}

// A changed bit is an error, except for the few bits in the frame of zstd that have no meaning.
func TestReadNoticesEveryBitThatCounts(t *testing.T) {
	v, want := joined(t, 3, 40, 0.6)
	good := written(t, want, v.Identify())
	unnoticed := 0
	for i := range 8 * len(good) {
		file := bytes.Clone(good)
		file[i/8] ^= 1 << (i % 8)
		got, err := Read(t.Context(), bytes.NewReader(file), v.Identify(), 0.6)
		if err != nil {
			continue
		}
		unnoticed++
		if !reflect.DeepEqual(got, want) {
			t.Errorf("with bit %d changed other neighbours are read", i)
		}
	}
	if unnoticed > 8 {
		t.Errorf("%d of %d changed bits were not noticed", unnoticed, 8*len(good))
	}
}

// contentOf returns what the frame of a file holds before its checksum.
func contentOf(t testing.TB, file []byte) []byte {
	t.Helper()
	frame := must.Get(zstd.NewReader(bytes.NewReader(file[binary.Size(fileHeader{}):])))(t)
	defer frame.Close()
	content := must.Get(io.ReadAll(frame))(t)
	return content[:len(content)-sha256.Size]
}

// Lists whose checksum is right are read without a panic, and what is accepted is whole.
func FuzzRead(f *testing.F) {
	v, lists := joined(f, 4, 30, 0.6)
	_, all := joined(f, 4, 30, -1)
	for _, n := range []*Neighbours{lists, all} {
		f.Add(uint32(n.Pairs()), n.From, contentOf(f, written(f, n, v.Identify())))
	}
	id := v.Identify()
	f.Fuzz(func(t *testing.T, pairs uint32, from float32, content []byte) {
		header := fileHeader{fileMagic, fileVersion, uint32(id.Dim), uint32(id.Count), math.Float32bits(from), uint64(pairs),
			id.Sum}
		if header.check(id, 0.6) != nil {
			return
		}
		sum := sha256.Sum256(content)
		got, err := newFileReader(nil, header, io.MultiReader(bytes.NewReader(content),
			bytes.NewReader(sum[:]))).neighbours(t.Context())
		if err != nil {
			return
		}
		if got.Pairs() != int(pairs) || got.Len() != v.Len() {
			t.Fatalf("%d pairs of %d vectors were read, want %d of %d", got.Pairs(), got.Len(), pairs, v.Len())
		}
		for i := range got.Len() {
			ids, similarities := got.Of(uint32(i))
			for k, id := range ids {
				if int(id) >= got.Len() || int(id) == i || similarities[k] < from || similarities[k] > 1 || k > 0 &&
					similarities[k] > similarities[k-1] {
					t.Fatalf("the neighbours of %d are %v %v", i, ids, similarities)
				}
			}
		}
	})
}

func TestFolderServesFromALowerThreshold(t *testing.T) {
	v, at6 := joined(t, 5, 100, 0.6)
	_, at8 := joined(t, 5, 100, 0.8)
	other, _ := joined(t, 6, 100, 0.6)
	folder := Folder(filepath.Join(t.TempDir(), "new", "folder"))
	id := v.Identify()
	if got, err := folder.Load(t.Context(), id, 0.6); got != nil || err != nil {
		t.Fatalf("a folder that is not there has %v, %v", got, err)
	}
	for _, n := range []*Neighbours{at6, at8} {
		must.Do(t, folder.Save(n, id))
	}
	for _, test := range []struct {
		id   Identity
		from float32
		want *Neighbours
	}{{id, 0.85, at8}, {id, 0.8, at8}, {id, 0.79, at6}, {id, 0.6, at6}, {id, 0.5, nil}, {other.Identify(), 0.9, nil}} {
		got, err := folder.Load(t.Context(), test.id, test.from)
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("from %v: other neighbours than those kept (%v)", test.from, err)
		}
	}
}

func TestFolderNamesTheDamagedFile(t *testing.T) {
	v, lists := joined(t, 7, 50, -0.5)
	folder := Folder(t.TempDir())
	id := v.Identify()
	must.Do(t, folder.Save(lists, id))
	path := filepath.Join(string(folder), id.name(-0.5))
	must.Do(t, os.Truncate(path, 80))
	if _, err := folder.Load(t.Context(), id, 0.5); err == nil || !strings.Contains(err.Error(), path) ||
		!strings.Contains(err.Error(), "cut off") {
		t.Errorf("error %v", err)
	}
}
