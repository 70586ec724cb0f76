package prefetch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/files"
)

// read is a read of a file by a job: bytes [from, to) in blocks of 10.
type read struct {
	job      int32
	file     int32
	from, to int64
}

const testBlock = 10

// traceOf makes a trace of reads. Files are 1000 bytes, and their addresses 1000 apart.
func traceOf(all []read) *traces.Trace {
	c := &files.Columns{Block: testBlock}
	t := &traces.Trace{Name: "reads", Kind: c}
	numbers := map[[2]int64]uint32{}
	for _, r := range all {
		t.Groups = append(t.Groups, len(t.Objects))
		c.Jobs = append(c.Jobs, r.job)
		c.Offsets = append(c.Offsets, r.from)
		c.Lengths = append(c.Lengths, r.to-r.from)
		for int(r.job) >= len(c.JobNames) {
			c.JobNames = append(c.JobNames, fmt.Sprint(len(c.JobNames)))
		}
		for int(r.file) >= len(c.Paths) {
			c.Paths = append(c.Paths, fmt.Sprint(len(c.Paths)))
			c.Sizes = append(c.Sizes, 45)
		}
		for block := r.from / testBlock; block <= (r.to-1)/testBlock; block++ {
			at := [2]int64{int64(r.file), block}
			o, ok := numbers[at]
			if !ok {
				o = uint32(len(numbers))
				numbers[at] = o
				c.Files, c.Numbers = append(c.Files, r.file), append(c.Numbers, block)
			}
			t.Objects = append(t.Objects, o)
		}
	}
	t.NumObjects = len(numbers)
	return t
}

// proposalsOf replays a trace, its requests in the given order of positions, and returns the proposals after each
// request as "file/block", or as objects.
func proposalsOf(t rapid.TB, text string, tr *traces.Trace, order []int) (all []string) {
	t.Helper()
	spec := must.Get(Registry.Parse(text))(t)
	p := New(spec, Config{Trace: tr})
	c := files.Of(tr.Kind)
	for pos, at := range order {
		o := tr.Objects[at]
		key := uint64(c.Files[o])*1000 + uint64(c.Numbers[o])
		var texts []string
		for _, proposed := range p.Request(Access{Object: o, Key: key, Pos: pos, At: at, Size: 1}, nil) {
			file, block := proposed.Key/1000, proposed.Key%1000
			if !spec.Entry.Addresses {
				file, block = uint64(c.Files[proposed.Object]), uint64(c.Numbers[proposed.Object])
			}
			texts = append(texts, fmt.Sprintf("%d/%d", file, block))
		}
		all = append(all, strings.Join(texts, " "))
	}
	return all
}

// inOrder returns the positions of a trace.
func inOrder(t *traces.Trace) []int {
	order := make([]int, len(t.Objects))
	for i := range order {
		order[i] = i
	}
	return order
}

// whole are reads of whole files of 5 blocks, one after another.
func whole(job int32, all ...int32) (made []read) {
	for _, file := range all {
		made = append(made, read{job, file, 0, 45})
	}
	return made
}

func TestOracleProposesTheNextReadsOfTheJob(t *testing.T) {
	// Job 0 reads files 0, 1, 2, job 1 files 5, 6, one block each.
	tr := traceOf([]read{{0, 0, 0, 10}, {1, 5, 10, 20}, {0, 1, 0, 20}, {1, 6, 0, 10}, {0, 2, 0, 5}})
	for _, test := range []struct {
		text  string
		order []int // of service
		want  []string
	}{
		{"oracle(n=1)", []int{0, 1, 2, 3, 4, 5}, []string{"1/0 1/1", "6/0", "", "2/0", "", ""}},
		{"oracle(n=2)", []int{0, 1, 2, 3, 4, 5}, []string{"1/0 1/1 2/0", "6/0", "", "2/0", "", ""}},
		// Whatever the order in which the jobs are served, each sees its own future.
		{"oracle", []int{1, 4, 0, 2, 3, 5}, []string{"6/0", "", "1/0 1/1 2/0", "", "2/0", ""}},
	} {
		if got := proposalsOf(t, test.text, tr, test.order); !slices.Equal(got, test.want) {
			t.Errorf("%s in the order %v: %q, want %q", test.text, test.order, got, test.want)
		}
	}
}

// Without reads each request is one, and the trace is one job.
func TestOracleOfPlainRequests(t *testing.T) {
	spec := must.Get(Registry.Parse("oracle(n=2)"))(t)
	tr := &traces.Trace{Objects: []uint32{0, 1, 0, 2}, NumObjects: 3}
	p := New(spec, Config{Trace: tr})
	for at, want := range [][]Object{{1}, {0, 2}, {2}, nil} {
		var got []Object
		for _, proposed := range p.Request(Access{Object: tr.Objects[at], At: at, Pos: at}, nil) {
			got = append(got, proposed.Object)
		}
		if !slices.Equal(got, want) {
			t.Errorf("after request %d: %v, want %v", at, got, want)
		}
	}
}

func TestReadahead(t *testing.T) {
	seq := func(job, file int32, from int64, lengths ...int64) (made []read) {
		for _, length := range lengths {
			made = append(made, read{job, file, from, from + length})
			from += length
		}
		return made
	}
	for name, test := range map[string]struct {
		text  string
		reads []read
		want  []string // after the last block of each read
	}{
		"the beginning of a file starts with a block": {"readahead", seq(0, 3, 0, 10), []string{"3/1"}},
		"the window doubles up to its limit": {"readahead(max=4)", seq(0, 3, 0, 10, 10, 10, 10),
			[]string{"3/1", "3/2 3/3", "3/3 3/4 3/5 3/6", "3/4 3/5 3/6 3/7"}},
		// After the first read in the middle nothing is known; the second continues it.
		"elsewhere it starts with the second read": {"readahead", seq(0, 3, 200, 10, 10, 10),
			[]string{"", "3/22", "3/23 3/24"}},
		"a window ends within a block": {"readahead", seq(0, 3, 0, 4, 4, 4), []string{"3/1", "3/1", "3/2 3/3"}},
		"random reads propose nothing": {"readahead", []read{{0, 3, 500, 510}, {0, 3, 200, 210}, {0, 3, 700, 710},
			{0, 3, 100, 110}}, []string{"", "", "", ""}},
		"two readers of a file are two sessions": {"readahead", []read{{0, 3, 500, 510}, {0, 3, 200, 210}, {0, 3, 510, 520},
			{0, 3, 210, 220}}, []string{"", "", "3/52", "3/22"}},
		"one session cannot tell them apart": {"readahead(sessions=1)", []read{{0, 3, 500, 510}, {0, 3, 200, 210},
			{0, 3, 510, 520}, {0, 3, 210, 220}}, []string{"", "", "", ""}},
		"two jobs open a file twice": {"readahead(sessions=1)", []read{{0, 3, 500, 510}, {1, 3, 200, 210},
			{0, 3, 510, 520}, {1, 3, 210, 220}}, []string{"", "", "3/52", "3/22"}},
		"a gap of a block belongs to the session": {"readahead", []read{{0, 3, 500, 510}, {0, 3, 520, 530}},
			[]string{"", "3/53"}},
		"a larger one does not": {"readahead", []read{{0, 3, 500, 510}, {0, 3, 521, 530}}, []string{"", ""}},
		"a step back of a block does": {"readahead", []read{{0, 3, 500, 510}, {0, 3, 510, 520}, {0, 3, 512, 515}},
			[]string{"", "3/52", "3/52 3/53"}},
		"files do not run into each other": {"readahead", []read{{0, 3, 0, 10}, {0, 4, 0, 10}, {0, 3, 10, 20}},
			[]string{"3/1", "4/1", "3/2 3/3"}},
		"a table of one row knows the last file": {"readahead(files=1)", []read{{0, 3, 500, 510}, {0, 4, 500, 510},
			{0, 3, 510, 520}}, []string{"", "", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := traceOf(test.reads)
			all := proposalsOf(t, test.text, tr, inOrder(tr))
			var got []string
			for i := range test.reads {
				end := len(all)
				if i+1 < len(tr.Groups) {
					end = tr.Groups[i+1]
				}
				got = append(got, all[end-1])
				for _, before := range all[tr.Groups[i] : end-1] {
					if before != "" {
						t.Errorf("%q is proposed before the read has been served", before)
					}
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// The window halves when less than a quarter of it has been read in sequence: a session that has wandered off.
func TestReadaheadHalves(t *testing.T) {
	x := newReadahead(reads{}, 64, 1, 1)
	sessions := x.open(0, 0)
	sessions[0] = session{last: 100, total: 3, window: 32}
	if got := x.advance(sessions, 98, 1, 1); got != 16 {
		t.Errorf("the window is %d after a read that adds nothing to 3 of 32 blocks, want 16", got)
	}
}

func TestReadaheadOfAddresses(t *testing.T) {
	check(t, newLRU("readahead(max=4)", 100), "100: 101:102 102:103,104 103:105,106,107 0:1 1:2,3")
}

func TestSFP(t *testing.T) {
	const all1, all2 = "1/0 1/1 1/2 1/3 1/4", "2/0 2/1 2/2 2/3 2/4"
	for name, test := range map[string]struct {
		text  string
		reads []read
		want  map[int]string // after the first block of a read; "" after those of file 1 that are not here
	}{
		"twice is enough": {"sfp", whole(0, 1, 2, 1, 2, 1), map[int]string{4: all2}},
		"once is with count=1": {"sfp(count=1)", whole(0, 1, 2, 1, 2),
			map[int]string{2: all2, 3: all1}},
		"as many blocks as it may": {"sfp(blocks=2)", whole(0, 1, 2, 1, 2, 1), map[int]string{4: "2/0 2/1"}},
		"half of the transitions":  {"sfp", whole(0, 1, 2, 1, 3, 1, 4, 1, 2, 1), map[int]string{8: all2}},
		"less than half":           {"sfp", whole(0, 1, 2, 1, 3, 1, 4, 1, 2, 1, 3, 1), map[int]string{8: all2}},
		"unless less is asked for": {"sfp(probability=0.3)",
			whole(0, 1, 2, 1, 3, 1, 4, 1, 2, 1, 3, 1), map[int]string{8: all2, 10: all2}},
		"the same file is no step": {"sfp", whole(0, 1, 1, 1, 1, 2, 2, 1, 2, 1), map[int]string{8: all2}},
		"another job comes in between": {"sfp", slices.Concat(whole(0, 1), whole(1, 9), whole(0, 2),
			whole(1, 8), whole(0, 1), whole(1, 9), whole(0, 2, 1)), map[int]string{7: "9/0 9/1 9/2 9/3 9/4"}},
		"but not with per=job": {"sfp(per=job)", slices.Concat(whole(0, 1), whole(1, 9), whole(0, 2),
			whole(1, 8), whole(0, 1), whole(1, 7), whole(0, 2, 1)), map[int]string{7: all2}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := traceOf(test.reads)
			all := proposalsOf(t, test.text, tr, inOrder(tr))
			for i, got := range all {
				read := slices.Index(tr.Groups, i)
				if want, ok := test.want[read]; got != want && (ok || read < 0 || test.reads[read].file == 1) {
					t.Errorf("after request %d: %q, want %q", i, got, want)
				}
			}
		})
	}
}

// Whatever the reads and the order of service, a read is found by each of its positions, and what a prefetcher of reads
// proposes depends on the reads so far alone, or on those of the job.
func TestReadsAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var all []read
		for range rapid.IntRange(1, 30).Draw(t, "reads") {
			from := rng.Int64N(40)
			all = append(all, read{rng.Int32N(3), rng.Int32N(5), from, from + 1 + rng.Int64N(45-from)})
		}
		tr := traceOf(all)
		r := readsOf(tr)
		for range 100 {
			at := rng.IntN(len(tr.Objects))
			found := r.at(at)
			if at < r.begin(found) || at >= r.end(found) || tr.Groups[found] != r.begin(found) {
				t.Fatalf("position %d belongs to read %d, which is [%d, %d)", at, found, r.begin(found), r.end(found))
			}
		}
		for _, text := range []string{"readahead", "sfp(count=1)", "sfp(count=1,per=job)"} {
			cut := rng.IntN(len(all))
			part := traceOf(all[:cut+1])
			whole := proposalsOf(t, text, tr, inOrder(tr))[:len(part.Objects)]
			if got := proposalsOf(t, text, part, inOrder(part)); !slices.Equal(got, whole) {
				t.Fatalf("%s looks ahead: %q, but %q if the trace ends there", text, whole, got)
			}
		}
	})
}
