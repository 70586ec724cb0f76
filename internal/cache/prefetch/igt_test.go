package prefetch

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/streams"
)

// igtOf returns a prefetcher for files alone, and the address of a block of one. It has any
// capacity unless one is given.
func igtOf(t *testing.T, text string, all []streams.File, c Config) (s *Streams,
	address func(path string, block int) uint64) {
	t.Helper()
	spec := alone(t, text)
	c.Layout, c.Capacity = streams.NewLayout(all, 10, 16), cmp.Or(c.Capacity, 1<<40)
	ranks := make([]string, len(all))
	for i, f := range all {
		ranks[i] = f.Path
	}
	slices.Sort(ranks)
	return New(spec, c).(*Streams), func(path string, block int) uint64 {
		rank, ok := slices.BinarySearch(ranks, path)
		if !ok {
			t.Fatalf("no file %s", path)
		}
		return uint64(rank)<<16 | uint64(block)
	}
}

// alone parses a prefetcher that has no other one beneath or beside it.
func alone(t *testing.T, text string) Spec {
	t.Helper()
	spec := must.Get(Registry.Parse(text))(t)
	spec.Params = maps.Clone(spec.Params)
	spec.Params["under"], spec.Params["beside"] = "none", "none"
	return spec
}

// read returns the proposals after a read, as path#block.
func (s *Streams) read(address uint64) []string { return s.names(s.Request(Access{Key: address}, nil)) }

func (s *Streams) names(proposals []Proposal) (names []string) {
	for _, p := range proposals {
		file, block := s.layout.Find(p.Key)
		names = append(names, fmt.Sprintf("%s#%d", s.layout.Path(file), block))
	}
	return names
}

func TestFilesInOrder(t *testing.T) {
	var all []streams.File
	for i := range 200 {
		all = append(all, streams.File{Path: fmt.Sprintf("d/%03d", i), Bytes: 10})
	}
	s, at := igtOf(t, "igt", all, Config{Capacity: 100})
	for i := range 200 {
		var want []string
		for j := i + 1; i >= 100 && j < min(i+5, 200); j++ {
			want = append(want, fmt.Sprintf("d/%03d#0", j))
		}
		if got := s.read(at(fmt.Sprintf("d/%03d", i), 0)); !slices.Equal(got, want) {
			t.Fatalf("after file %d: %v, want %v", i, got, want)
		}
	}
}

// icoads has a directory per month with a file per region, of two blocks.
func icoads() (all []streams.File) {
	for month := range 12 {
		for region := range 10 {
			all = append(all, streams.File{Path: fmt.Sprintf("icoads/2022%02d/r%d.csv", month+1, region), Bytes: 20})
		}
	}
	return all
}

// The example of the paper (figure 7): one region is read of each month, and only that of the next months is proposed.
func TestOnlyWhatIsReadOfTheSiblings(t *testing.T) {
	all := slices.DeleteFunc(icoads(), func(f streams.File) bool { return f.Path == "icoads/202211/r7.csv" })
	for text, want := range map[string]string{
		"igt(window=5,depth=2)": "icoads/202208/r7.csv#0 icoads/202208/r7.csv#1 icoads/202209/r7.csv#0 " +
			"icoads/202209/r7.csv#1",
		// A part of the siblings is not enough; the month without the file is left out.
		"igt(window=5,depth=4)": "icoads/202208/r7.csv#0 icoads/202208/r7.csv#1 icoads/202209/r7.csv#0 " +
			"icoads/202209/r7.csv#1 icoads/202210/r7.csv#0 icoads/202210/r7.csv#1",
		"igt(window=5,depth=0)":                    "",
		"igt(window=5,depth=1,hierarchical=false)": "20 blocks",
		"igt(window=7)":                            "",
	} {
		s, at := igtOf(t, text, all, Config{})
		var got []string
		for month := 1; month <= 7; month++ {
			got = s.read(at(fmt.Sprintf("icoads/2022%02d/r7.csv", month), 0))
			s.read(at(fmt.Sprintf("icoads/2022%02d/r7.csv", month), 1))
			if month == 3 { // once
				s.read(at("icoads/202203/r2.csv", 0))
			}
		}
		if want == "20 blocks" {
			if len(got) != 20 || got[0] != "icoads/202208/r0.csv#0" || got[19] != "icoads/202208/r9.csv#1" {
				t.Errorf("%s proposes %v, want all of the next month", text, got)
			}
		} else if joined := strings.Join(got, " "); joined != want {
			t.Errorf("%s proposes %s, want %s", text, joined, want)
		}
	}
}

// Directories that are read as a whole are proposed as a whole, although the names of their files differ; what is too
// much for one request is left for the backlog.
func TestWholeDirectories(t *testing.T) {
	var all []streams.File
	for d := range 40 {
		for f := range 30 {
			all = append(all, streams.File{Path: fmt.Sprintf("%02d/%d.jpg", d, d*100+f), Bytes: 10})
		}
	}
	s, at := igtOf(t, "igt(window=6,depth=3,statistical=false)", all, Config{})
	for d := range 9 {
		for f := range 30 {
			path := fmt.Sprintf("%02d/%d.jpg", d, d*100+f)
			got := s.read(at(path, 0))
			if d < 8 || f > 0 {
				continue
			}
			// The directories are streams of their own, so the last file of the previous one is sequential, too.
			if len(got) != 60 || got[0] != "09/900.jpg#0" || got[59] != "10/1029.jpg#0" {
				t.Errorf("%d proposals: %v", len(got), got)
			}
		}
	}
	var rest []string
	for {
		got := s.names(s.More(7, nil))
		if len(got) == 0 {
			break
		}
		rest = append(rest, got...)
	}
	if n := len(rest); n < 30 || rest[n-30] != "11/1100.jpg#0" || rest[n-1] != "11/1129.jpg#0" {
		t.Errorf("the backlog has %d blocks: %v", n, rest)
	}
}

func TestRandomStreamsThatNearlyFit(t *testing.T) {
	var all []streams.File
	for i := range 300 {
		all = append(all, streams.File{Path: fmt.Sprintf("d/%03d", i), Bytes: 15})
	}
	all = append(all, streams.File{Path: "other", Bytes: 1 << 40})
	order := rand.New(rand.NewPCG(1, 2)).Perm(300)
	for _, test := range []struct {
		text string
		c    Config
		want int
	}{
		{"igt", Config{Capacity: 4500}, 600},
		{"igt", Config{Capacity: 3600}, 480}, // 0.8 of it: 240 files
		{"igt", Config{Capacity: 3599}, 0},
		{"igt(expected=0.5)", Config{Capacity: 2250}, 300},
		{"igt", Config{Capacity: 480, Unit: true}, 480},
		{"igt", Config{Capacity: 479, Unit: true}, 0},
		{"igt(statistical=false)", Config{Capacity: 4500}, 0},
		{"igt", Config{Capacity: 1 << 50}, 600},
	} {
		s, at := igtOf(t, test.text, all, test.c)
		var more []string
		for _, i := range order[:150] {
			if got := s.read(at(fmt.Sprintf("d/%03d", i), 0)); len(got) > 0 {
				t.Fatalf("%s proposes %v of a random stream", test.text, got)
			}
			more = append(more, s.names(s.More(50, nil))...)
		}
		if len(more) != test.want ||
			test.want > 0 && (more[0] != "d/000#0" || more[1] != "d/000#1" || !slices.IsSorted(more)) {
			t.Errorf("%s with %+v: %d blocks in the background, want %d", test.text, test.c, len(more), test.want)
		}
		for _, x := range s.datasets {
			t.Errorf("%s: %+v is still queued", test.text, x)
		}
	}
	// More room, and a new beginning.
	s, at := igtOf(t, "igt", all, Config{})
	quota := int64(3600)
	s.Quota = func(*streams.Stream) int64 { return quota }
	step := func(from, to int) (blocks int) {
		for _, i := range order[from:to] {
			s.read(at(fmt.Sprintf("d/%03d", i), 0))
			blocks += len(s.More(1000, nil))
		}
		return blocks
	}
	if n := step(0, 120); n != 480 {
		t.Errorf("%d blocks, want 480", n)
	}
	quota = 4000
	if n := step(120, 140); n != 53 {
		t.Errorf("%d blocks in 400 further bytes, want 53", n)
	}
	quota = 9000
	if n := step(140, 150); n != 67 {
		t.Errorf("%d blocks, want the other 67", n)
	}
	if n := step(150, 160); n != 0 {
		t.Errorf("%d blocks after all", n)
	}
	s.Restart(s.tree.Owner(at("d/000", 0)))
	if n := step(160, 170); n != 600 {
		t.Errorf("%d blocks after the restart, want 600", n)
	}
}

// Blocks of one large file, and keys without files.
func TestBlocksInOrder(t *testing.T) {
	all := []streams.File{{Path: "checkpoint", Bytes: 1200}}
	s, at := igtOf(t, "igt", all, Config{})
	keys := New(alone(t, "igt"), Config{Capacity: 1000})
	for block := range 120 {
		want := min(4, 119-block)
		if block < 100 {
			want = 0
		}
		got := s.read(at("checkpoint", block))
		if len(got) != want || want > 0 && got[0] != fmt.Sprintf("checkpoint#%d", block+1) {
			t.Fatalf("after block %d: %v", block, got)
		}
		proposals := keys.Request(Access{Key: 1<<63 + uint64(block)}, nil)
		if block >= 100 && (len(proposals) != 4 || proposals[3].Key != 1<<63+uint64(block)+4 || proposals[0].Size != 0) {
			t.Fatalf("after key %d: %v", block, proposals)
		}
	}
}

func mustParse(t *testing.T, text string) Spec {
	t.Helper()
	return must.Get(Registry.Parse(text))(t)
}

func TestParametersReachTheTree(t *testing.T) {
	s, _ := igtOf(t, "igt(window=7,alpha=0.05,ks=scipy,guard=false,order=numbers,steps=0.5,readers=2,interleaved=false,"+
		"retest=false,verdicts=3,nodes=99,compress=false,prune=false)", []streams.File{{Path: "10"}, {Path: "9"}}, Config{})
	want := streams.Options{Window: 7, Alpha: 0.05, Form: streams.Scipy, Share: 0.5, Readers: 2, Verdicts: 3, Nodes: 99}
	if got := s.tree.Options(); got != want || s.layout.Name(s.layout.Entry(streams.Root, 0)) != "9" {
		t.Errorf("%+v, want %+v", got, want)
	}
	if s, _ := igtOf(t, "igt", nil, Config{}); s.tree.Options() != streams.Defaults() {
		t.Errorf("the defaults are %+v", s.tree.Options())
	}
}

// Half of each directory, under names that no other one has: there is nothing to propose.
func TestPartsOfDirectoriesAreNotWhole(t *testing.T) {
	var all []streams.File
	for d := range 40 {
		for f := range 8 {
			all = append(all, streams.File{Path: fmt.Sprintf("%02d/%d.jpg", d, d*100+f), Bytes: 10})
		}
	}
	s, at := igtOf(t, "igt(window=6,depth=3)", all, Config{})
	for d := range 20 {
		for f := range 4 {
			path := fmt.Sprintf("%02d/%d.jpg", d, d*100+f)
			if got := s.read(at(path, 0)); len(got)+len(s.More(9, nil)) > 0 {
				t.Fatalf("after %s: %v", path, got)
			}
		}
	}
	if s.tree.Streams(streams.Sequential) != 1 {
		t.Error("the directory of directories is not sequential")
	}
}

// In a cache with room for little more than what is being read, nothing is read ahead: it would push that out.
func TestNothingAheadWithoutRoom(t *testing.T) {
	all := []streams.File{{Path: "data", Bytes: 1000}}
	for capacity, want := range map[int64]int{15: 0, 29: 0, 31: 1, 1000: 4} {
		layout := streams.NewLayout(all, 10, 16)
		s := New(mustParse(t, "igt"), Config{Layout: layout, Capacity: capacity}).(*Streams)
		most := 0
		for block := range 90 {
			got := s.Request(Access{Key: uint64(block), Pos: block, At: block, Size: 10}, nil)
			most = max(most, len(got))
		}
		if most < want || want < 4 && most > want {
			t.Errorf("capacity %d: up to %d proposals, want %d", capacity, most, want)
		}
	}
}
