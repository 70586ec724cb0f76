package streams

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

func TestListings(t *testing.T) {
	paths := []string{"/d/10", "/d/9", "/d/010", "/d/9/x", "/a.b/f", "/a/f", "/a b", "g", "/d/", "\xff\xfe"}
	var all []File
	for _, path := range paths {
		all = append(all, File{path, 25})
	}
	l := NewLayout(all, 10, 16)
	for _, test := range []struct {
		layout *Layout
		want   string
	}{
		// The root has the directory "", g and \xff\xfe; a slash alone ends a directory whose file has no name.
		{l, `["" "g" "\xff\xfe"] ["a" "a b" "a.b" "d"] ["" "010" "10" "9" "9/"]`},
		{l.Natural(), `["" "g" "\xff\xfe"] ["a" "a b" "a.b" "d"] ["" "9" "9/" "010" "10"]`},
	} {
		l := test.layout
		list := func(p Place) []string {
			var names []string
			for i := range l.Entries(p) {
				e := l.Entry(p, i)
				name := l.Name(e)
				if !l.IsFile(e) && name == "9" {
					name += "/"
				}
				names = append(names, name)
			}
			return names
		}
		slash := l.Entry(Root, 0)
		d := l.Entry(slash, 3)
		if got := strings.Join([]string{quoted(list(Root)), quoted(list(slash)), quoted(list(d))}, " "); got != test.want {
			t.Errorf("listings %s, want %s", got, test.want)
		}
		if l.Size(Root) != 250 || l.Blocks(Root) != 30 || l.Blocks(d) != 15 || l.Bytes(l.Address(l.Entry(d, 0), 2)) != 5 {
			t.Errorf("%d bytes in %d blocks", l.Size(Root), l.Blocks(Root))
		}
		if natural := l.Natural(); natural != l.Natural() {
			t.Error("the natural order is made twice")
		}
	}
	slices.Sort(paths)
	for rank, path := range paths {
		file, block := l.Find(uint64(rank)<<16 | 2)
		if l.Path(file) != path || block != 2 || l.Address(file, 2) != uint64(rank)<<16|2 {
			t.Errorf("file %d is %q, want %q", rank, l.Path(file), path)
		}
	}
	if l.Path(Root) != "." || l.Path(l.Entry(Root, 0)) != "/" || !l.Within(5, Root) || l.Within(Root, 5) {
		t.Error("wrong root")
	}
}

// Where no path is absolute, the root is a slash.
func TestRootOfRelativePaths(t *testing.T) {
	if path := NewLayout([]File{{"a", 1}, {"b/c", 1}}, 10, 16).Path(Root); path != "/" {
		t.Errorf("the root is %q", path)
	}
}

func quoted(names []string) string {
	for i := range names {
		names[i] = `"` + strings.ReplaceAll(names[i], "\xff\xfe", `\xff\xfe`) + `"`
	}
	return "[" + strings.Join(names, " ") + "]"
}

func TestKeysAreBlocksOfOneFile(t *testing.T) {
	l := NewKeys(512)
	for _, key := range []uint64{0, 7, 1<<64 - 1} {
		file, block := l.Find(key)
		if block != key || l.Address(file, block) != key || l.Bytes(key) != 512 || l.Charge(key) != 0 {
			t.Errorf("key %d is block %d", key, block)
		}
	}
	if l.Entries(1) != -1 || l.Size(Root) != -1 {
		t.Error("the size of the file of keys is known")
	}
	w := l.Walk(Root)
	if _, ok := w.Next(); ok {
		t.Error("the blocks of a file of unknown size are listed")
	}
}

// A walk meets every block below a place once, in the order of the listings.
func TestWalk(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := drawLayout(r)
		top := Place(rapid.IntRange(0, l.Len()-1).Draw(r, "top"))
		var want []uint64
		var list func(p Place)
		list = func(p Place) {
			for i := range l.Entries(p) {
				if l.IsFile(p) {
					want = append(want, l.Address(p, uint64(i)))
				} else {
					list(l.Entry(p, i))
				}
			}
		}
		list(top)
		var got []uint64
		for w := l.Walk(top); ; {
			address, ok := w.Next()
			if !ok {
				break
			}
			got = append(got, address)
		}
		if !slices.Equal(got, want) || int64(len(want)) != l.Blocks(top) {
			r.Fatalf("walk %v, want %v", got, want)
		}
	})
}

func TestEmptyLayout(t *testing.T) {
	l := NewLayout(nil, 10, 16)
	w := l.Walk(Root)
	if _, ok := w.Next(); ok || l.Len() != 1 || l.Size(Root) != 0 {
		t.Error("a layout without files has blocks")
	}
}
