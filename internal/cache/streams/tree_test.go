package streams

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// flat returns a directory of n files of one block, and the address of each in the order of the listing.
func flat(n int) (l *Layout, address func(i int) uint64) {
	all := make([]File, n)
	for i := range all {
		all[i] = File{fmt.Sprintf("/data/%06d", i), 1 << 20}
	}
	l = NewLayout(all, 4<<20, 20)
	return l, func(i int) uint64 { return l.Address(l.Entry(l.Entry(l.Entry(Root, 0), 0), int64(i)), 0) }
}

func TestReadsInTheOrderOfTheListingAreSequentialAfter101Files(t *testing.T) {
	l, address := flat(200)
	tree := New(l, Defaults())
	for i := range 200 {
		s := tree.Access(address(i), int64(i))
		if open := i >= 100; (s != nil) != open || open && s.Pattern != Sequential {
			t.Fatalf("after %d files: %+v", i+1, s)
		}
		if open := i >= 100; open && l.Path(s.Place) != "/data" {
			t.Fatalf("the stream is %s", l.Path(s.Place))
		}
	}
}

func TestPatterns(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n = 10_000
	l, address := flat(n)
	order, next := rng.Perm(n), zipf(rng, n, 1.2)
	scatter := rng.Perm(n)
	for _, test := range []struct {
		name    string
		index   func(i int) int
		guard   bool
		pattern Pattern
	}{
		{"in order", func(i int) int { return i }, true, Sequential},
		{"three readers", func(i int) int { return i%3*3000 + i/3 }, true, Sequential},
		{"a permutation", func(i int) int { return order[i] }, true, Random},
		{"backwards", func(i int) int { return n - 1 - i }, true, Skewed},
		{"Zipf in the order of the listing", func(int) int { return int(next()) }, true, Skewed},
		{"Zipf, scattered", func(int) int { return scatter[next()] }, true, Skewed},
		{"Zipf, scattered, as in the paper", func(int) int { return scatter[next()] }, false, Random},
	} {
		o := Defaults()
		o.RepeatGuard = test.guard
		tree := New(l, o)
		var s *Stream
		for i := range 2000 {
			s = tree.Access(address(test.index(i)), int64(i))
		}
		if s == nil || s.Pattern != test.pattern {
			t.Errorf("%s: %+v, want %s", test.name, s, test.pattern)
		}
	}
}

// A block counts for its file, and the file once for the directory: reading files block by block keeps the directory
// random.
func TestRepeatsOfAChildAreOneTransition(t *testing.T) {
	var all []File
	for i := range 500 {
		all = append(all, File{fmt.Sprintf("d/%03d", i), 80})
	}
	l := NewLayout(all, 10, 8)
	tree := New(l, Defaults())
	var s *Stream
	for _, file := range rand.New(rand.NewPCG(7, 8)).Perm(500)[:300] {
		for block := range uint64(8) {
			s = tree.Access(uint64(file)<<8|block, 0)
			if moved := len(tree.Moves()) > 0; s != nil && moved != (block == 0) {
				t.Fatalf("block %d of a file: moves %v", block, tree.Moves())
			}
		}
	}
	if s.Pattern != Random || s.Transitions != 100 || s.Items != 500 {
		t.Errorf("%+v, want random", s)
	}
}

func TestPatternsChangeAfterTwoEqualVerdicts(t *testing.T) {
	l, address := flat(5000)
	order := rand.New(rand.NewPCG(9, 10)).Perm(5000)
	for verdicts, want := range map[int]int{1: 1099, 2: 1199, 3: 1299} {
		o := Defaults()
		o.Verdicts = verdicts
		tree := New(l, o)
		changed := -1
		at := 0
		tree.Changed = func(s *Stream, before Pattern) {
			if before != Sequential || s.Pattern != Random || changed >= 0 {
				t.Errorf("from %s to %s", before, s.Pattern)
			}
			changed = at
		}
		for ; at < 2000; at++ {
			i := at
			if at >= 1000 { // tests follow every 100 transitions after the 101st
				i = order[at]
			}
			tree.Access(address(i), 0)
		}
		// The test at access 1000 still has nearly only steps.
		if changed != want+1 {
			t.Errorf("%d verdicts: changed at access %d, want %d", verdicts, changed, want+1)
		}
	}
	tree := New(l, Defaults())
	var s *Stream
	for i := range 101 {
		s = tree.Access(address(i), 0)
	}
	for i := range 50 {
		s = tree.Access(address(order[i]), 0)
	}
	for range 5 { // one change of the quota after the other adds no evidence
		s.Reclassify()
	}
	if s.Pattern != Sequential || s.Verdicts != 1 {
		t.Errorf("%s after %d verdicts from the same window", s.Pattern, s.Verdicts)
	}
	tree.Access(address(order[50]), 0)
	s.Reclassify()
	if s.Pattern == Sequential {
		t.Error("the second verdict changes nothing")
	}
}

// The example of the specification: gaps with the mean 10 s and the deviation 6.88 s give a time to live of 60 + 26 s.
func TestTemporalGaps(t *testing.T) {
	l, address := flat(1000)
	o := Defaults()
	tree := New(l, o)
	now, s := int64(1<<60), (*Stream)(nil)
	d := 6.88 * math.Sqrt(98.0/99) // so that the deviation of 99 gaps, half above and half below, is 6.88
	for i := range 400 {
		gap := 10 + d
		if i%2 == 0 {
			gap = 10 - d
		}
		now += int64(gap * float64(time.Second))
		s = tree.Access(address(i), now)
	}
	mean, deviation, n := s.TemporalGaps()
	near(t, "the mean", mean/1e9, 10, 0.08)
	near(t, "the deviation", deviation/1e9, 6.88, 0.01)
	near(t, "the time to live", 60+(mean+2.326*deviation)/1e9, 86, 0.1)
	near(t, "the mean gap of accesses", s.MeanGap()/1e9, 10, 0.08)
	if n != 99 || s.Last != now || s.Accesses != 300 {
		t.Errorf("%d gaps, %d accesses", n, s.Accesses)
	}
}

func TestDeepestStreamOwns(t *testing.T) {
	var all []File
	for i := range 40 {
		for j := range 40 {
			all = append(all, File{fmt.Sprintf("d/%02d/%02d", i, j), 1})
		}
	}
	o := Defaults()
	o.Window = 10
	l := NewLayout(all, 10, 1)
	tree := New(l, o)
	var opened []string
	tree.Opened = func(s *Stream) { opened = append(opened, l.Path(s.Place)) }
	for i := range uint64(400) { // ten directories
		tree.Access(i<<1, 0)
	}
	for _, s := range []*Stream{tree.Owner(0), tree.Owner(399 << 1)} {
		if s == nil || s.Parent() != nil {
			t.Fatalf("owner %+v", s)
		}
	}
	tree.Access(400<<1, 0)
	if len(opened) != 11 || opened[10] != "d" || tree.Owner(399<<1).Parent() != tree.Owner(1500<<1) {
		t.Errorf("streams %v", opened)
	}
}

// imagenet is a data set like that of the paper: 1000 directories of 1300 files each.
var imagenet = sync.OnceValue(func() *Layout {
	var all []File
	for i := range 1000 {
		for j := range 1300 {
			all = append(all, File{fmt.Sprintf("imagenet/train/n%08d/%d.JPEG", i, j), 110_000})
		}
	}
	return NewLayout(all, 4<<20, 16)
})

// BenchmarkAccess records accesses to random files in a tree without pruning, so that it has as many nodes as it may,
// and in one with it. The paper needs 47.6 us per access and 73.2 MB at 10,000 nodes (section 5.5).
func BenchmarkAccess(b *testing.B) {
	for _, nodes := range []int{100, 1000, 10_000} {
		for _, prune := range []bool{true, false} {
			b.Run(fmt.Sprintf("nodes=%d/prune=%t", nodes, prune), func(b *testing.B) {
				o := Defaults()
				o.Nodes, o.Prune = nodes, prune
				tree, rng := New(imagenet(), o), rand.New(rand.NewPCG(1, 1))
				addresses := make([]uint64, 1<<16)
				for i := range addresses {
					addresses[i] = rng.Uint64N(1_300_000) << 16
				}
				for i, a := range addresses {
					tree.Access(a, int64(i))
				}
				b.ResetTimer()
				for i := range b.N {
					tree.Access(addresses[i&(1<<16-1)], int64(i))
				}
				b.ReportMetric(float64(tree.Bytes()-4*int64(cap(tree.at))), "tree-B")
				b.ReportMetric(float64(tree.Nodes()), "nodes")
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Maccess/s")
			})
		}
	}
}

func TestMemoryOfTheTree(t *testing.T) {
	l, address := flat(200_000)
	o := Defaults()
	o.Prune = false
	tree := New(l, o)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 300_000 {
		tree.Access(address(rng.IntN(200_000)), int64(i))
	}
	if tree.Nodes() < 9_900 || tree.Nodes() > 10_000 || tree.Bytes() > 73_000_000 {
		t.Errorf("%d nodes in %d bytes", tree.Nodes(), tree.Bytes())
	}
}
