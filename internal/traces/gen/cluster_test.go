package gen

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// fileRead is a read of a generated trace.
type fileRead struct {
	time int64
	files.Head
}

func readsOf(t testing.TB, spec string) (reads []fileRead) {
	t.Helper()
	blocks := int64(0)
	for _, rec := range readAll(t, spec) {
		if blocks--; rec.Begins != (blocks < 0) {
			t.Fatalf("%s: a read begins before the last has all its blocks, or not at all", spec)
		}
		if rec.Begins {
			head := *files.HeadOf(&rec)
			blocks = head.Blocks - 1
			reads = append(reads, fileRead{rec.Time, head})
		}
	}
	return reads
}

// clusterOf returns the generator behind a spec.
func clusterOf(t testing.TB, spec string) *clusterTrace {
	t.Helper()
	return open(t, spec).records.(*clusterTrace)
}

// paths returns the files of a data set in the order of their numbers.
func pathsOf(d *clusterData) (paths []string) {
	for file := range d.fileCount() {
		paths = append(paths, string(d.appendPath(nil, file)))
	}
	return paths
}

func TestClusterDataAtScale1(t *testing.T) {
	bytes := 0.0
	for i := range clusterSets {
		d := must.Get(newClusterData(i, nil, 1))(t)
		if off := math.Abs(float64(d.bytes)/float64(d.set.bytes) - 1); off > 1e-3 || d.items != d.set.items {
			t.Errorf("%s: %d items of %d bytes, want %d of %d", d.set.key, d.items, d.bytes, d.set.items, d.set.bytes)
		}
		bytes += float64(d.bytes)
	}
	if share := 150e9 / bytes; math.Abs(share-0.35) > 0.001 {
		t.Errorf("150 GB are %.4f of %.0f bytes, want the 0.35 of the paper", share, bytes)
	}
}

// TestClusterListing: the paths of a data set are in order and all different, and its files add up to its bytes.
func TestClusterListing(t *testing.T) {
	for _, scale := range []float64{0.0001, 0.003, 0.02} {
		for i := range clusterSets {
			d := must.Get(newClusterData(i, nil, scale))(t)
			d.fill(2, false, 3)
			paths := pathsOf(d)
			if !slices.IsSorted(paths) || len(slices.Compact(paths)) != len(paths) {
				t.Errorf("%s at %v: the paths are not in order", d.set.key, scale)
			}
			bytes, items := int64(0), int64(0)
			for file := range d.fileCount() {
				bytes += d.sizeOf(file)
				if d.sizeOf(file) < 1 {
					t.Errorf("%s at %v: file %d is empty", d.set.key, scale, file)
				}
			}
			next := map[int]int64{} // per file: end of the last item
			for item := range d.items {
				file, offset, length, size := d.place(item)
				if offset != next[file] || offset+length > size || size != d.sizeOf(file) {
					t.Fatalf("%s at %v: item %d at %d of file %d, want it at %d", d.set.key, scale, item, offset, file, next[file])
				}
				next[file] += length
				items += length
			}
			if bytes != d.bytes || items != d.bytes {
				t.Errorf("%s at %v: files of %d and items of %d bytes, want %d", d.set.key, scale, bytes, items, d.bytes)
			}
		}
	}
	for i := range clusterSets { // the largest numbers have their place in the names, too
		d := must.Get(newClusterData(i, nil, 10))(t)
		last := ""
		for k := range 1000 {
			path := string(d.appendPath(nil, (d.fileCount()-1)*k/999))
			if path < last {
				t.Errorf("%s at 10: %s comes before %s", d.set.key, path, last)
			}
			last = path
		}
	}
}

func TestClusterSizesSpread(t *testing.T) {
	for _, spread := range []float64{0, 0.5, 1.5} {
		d := clusterOf(t, fmt.Sprintf("cluster(jobs=9,scale=0.02,spread=%v)", spread)).data[0]
		sum, squares := 0.0, 0.0
		for _, size := range d.sizes {
			sum += math.Log(float64(size))
			squares += math.Log(float64(size)) * math.Log(float64(size))
		}
		mean := sum / float64(len(d.sizes))
		if got := math.Sqrt(max(0, squares/float64(len(d.sizes))-mean*mean)); math.Abs(got-spread) > 0.02 {
			t.Errorf("spread %v: deviation of the logarithm %.3f", spread, got)
		}
	}
}

// TestClusterTrainingShuffles: each epoch reads each image once, in an order of its own, and both jobs on a data set
// have different ones.
func TestClusterTrainingShuffles(t *testing.T) {
	for _, job := range []string{"9", "10", "12", "13"} {
		spec := "cluster(scale=0.0005,read-kib=1048576,seed=8,jobs=" + job + ")"
		d := clusterOf(t, spec).data[0]
		reads := readsOf(t, spec)
		if len(reads) != 3*d.items {
			t.Fatalf("job %s: %d reads, want 3 epochs of %d", job, len(reads), d.items)
		}
		want := pathsOf(d)
		var epochs [][]string
		for e := range 3 {
			var epoch []string
			for _, r := range reads[e*d.items:][:d.items] {
				epoch = append(epoch, string(r.Path))
			}
			if slices.IsSorted(epoch) || e > 0 && slices.Equal(epoch, epochs[e-1]) {
				t.Errorf("job %s: epoch %d is not shuffled", job, e)
			}
			epochs = append(epochs, slices.Clone(epoch))
			slices.Sort(epoch)
			if !slices.Equal(epoch, want) {
				t.Errorf("job %s: epoch %d does not read each file once", job, e)
			}
		}
	}
	one, other := readsOf(t, "cluster(scale=0.0005,jobs=9)"), readsOf(t, "cluster(scale=0.0005,jobs=10)")
	same := 0
	for i := range one {
		if bytes.Equal(one[i].Path, other[i].Path) {
			same++
		}
	}
	if same > len(one)/10 {
		t.Errorf("jobs 9 and 10 read the same image at %d of %d places", same, len(one))
	}
}

// TestClusterListingOrder: sequential jobs read files, and the bytes of files, in the order of the listing, as often as
// they pass.
func TestClusterListingOrder(t *testing.T) {
	for job, passes := range map[string]int{"1": 2, "2": 1, "3": 1, "5": 1, "6": 1, "8": 1, "11": 1} {
		spec := "cluster(scale=0.002,epochs=2,jobs=" + job + ")"
		d := clusterOf(t, spec).data[0]
		reads := readsOf(t, spec)
		at := 0
		for range passes {
			for file := range d.fileCount() {
				path := string(d.appendPath(nil, file))
				for offset := int64(0); offset < d.sizeOf(file); at++ {
					r := reads[at]
					if string(r.Path) != path || r.Offset != offset || r.Length > 1<<20 || r.FileSize != d.sizeOf(file) {
						t.Fatalf("job %s: read %d is of %s at %d, want %s at %d", job, at, r.Path, r.Offset, path, offset)
					}
					offset += r.Length
				}
			}
		}
		if at != len(reads) {
			t.Errorf("job %s: %d reads, want %d", job, len(reads), at)
		}
	}
}

func TestClusterReadsTheSameNameOfEachDate(t *testing.T) {
	reads := readsOf(t, "cluster(scale=0.05,jobs=4)")
	if len(reads) != 100 {
		t.Fatalf("%d reads, want one for each of 100 dates", len(reads))
	}
	for i, r := range reads {
		if want := fmt.Sprintf("/icoads/%04d%02d/180E.csv", 1848+i/12, 1+i%12); string(r.Path) != want {
			t.Fatalf("read %d is of %s, want %s", i, r.Path, want)
		}
	}
}

// TestClusterReadsRecordsAtRandom: fine-tuning reads each record once per epoch, far fewer bytes than a block at a
// time.
func TestClusterReadsRecordsAtRandom(t *testing.T) {
	d := clusterOf(t, "cluster(scale=0.2,jobs=7)").data[0]
	if d.files != 3 || d.sizeOf(0) < 101*4<<20 {
		t.Errorf("%d files of %d bytes, want 3 of more than 100 blocks", d.files, d.sizeOf(0))
	}
	seen := map[string]bool{}
	for _, r := range readsOf(t, "cluster(scale=0.2,jobs=7,epochs=1)") {
		if r.Length != d.record || r.Offset%d.record != 0 {
			t.Fatalf("a read of %d bytes at %d, want a record of %d", r.Length, r.Offset, d.record)
		}
		seen[fmt.Sprint(string(r.Path), r.Offset)] = true
	}
	if len(seen) != d.items {
		t.Errorf("%d records are read, want %d", len(seen), d.items)
	}
}

// TestClusterQueriesFollowZipf: popularity by rank has the exponent, whether ranks follow the listing or not.
func TestClusterQueriesFollowZipf(t *testing.T) {
	for _, job := range brief.Sample(4, "14", "15", "16", "17") {
		for _, placement := range []string{"index", "scattered"} {
			for _, alpha := range brief.Sample(2, 0.6, 1, 1.4) {
				spec := fmt.Sprintf("cluster(jobs=%s,popularity=%s,alpha=%v,scale=0.03,queries=3000000,read-kib=1048576,seed=5)",
					job, placement, alpha)
				d := clusterOf(t, spec).data[0]
				itemOf := map[string]int{}
				for item := range d.items {
					file, offset, _, _ := d.place(item)
					itemOf[fmt.Sprint(string(d.appendPath(nil, file)), offset)] = item
				}
				byItem := make([]float64, d.items)
				for _, r := range readsOf(t, spec) {
					byItem[itemOf[fmt.Sprint(string(r.Path), r.Offset)]]++
				}
				byRank := slices.Clone(byItem)
				if placement == "scattered" {
					for rank, item := range d.byRank {
						byRank[rank] = byItem[item]
					}
				}
				counts, expected := pool(byRank, zipfExpectation(d.items, alpha, 90_000))
				if p := chiSquareP(counts, expected); p < 0.001 {
					t.Errorf("%s: chi-square p = %v", spec, p)
				}
				if counts, expected := pool(byItem, zipfExpectation(d.items, alpha, 90_000)); placement == "scattered" &&
					chiSquareP(counts, expected) > 1e-6 {
					t.Errorf("%s: popularity follows the listing", spec)
				}
			}
		}
	}
}

// TestClusterReadsTextInOrderAndImagesAtRandom: each image comes with its piece of the text.
func TestClusterReadsTextInOrderAndImagesAtRandom(t *testing.T) {
	reads := readsOf(t, "cluster(jobs=18,scale=0.003,epochs=2)")
	offset, images := int64(0), map[string]int{}
	var last fileRead
	for i, r := range reads {
		if i%2 == 1 && r.FileSize < 1<<20 {
			images[string(r.Path)]++
			if r.time != last.time {
				t.Fatalf("image %d is read at %d, its text at %d", i, r.time, last.time)
			}
		} else if strings.HasSuffix(string(r.Path), ".json") {
			if r.Offset != offset {
				t.Fatalf("text is read at %d, want %d", r.Offset, offset)
			}
			if offset += r.Length; offset == r.FileSize {
				offset = 0
			}
		}
		last = r
	}
	if len(images) < 300 || offset != 0 {
		t.Errorf("%d images, and the text ends at %d", len(images), offset)
	}
	for path, n := range images {
		if n != 2 {
			t.Errorf("%s is read %d times in 2 epochs", path, n)
		}
	}
}

// TestClusterJobsAreIndependent: without the other jobs, and in another order, a job reads the same at the same pace.
func TestClusterJobsAreIndependent(t *testing.T) {
	of := func(spec, job string) (reads []string) {
		first := int64(-1)
		for _, r := range readsOf(t, spec) {
			if string(r.Job) != job {
				continue
			}
			if first < 0 {
				first = r.time
			}
			reads = append(reads, fmt.Sprintf("%d %s %d %d", r.time-first, r.Path, r.Offset, r.Length))
		}
		return reads
	}
	const rest = "scale=0.001,seed=6,popularity=scattered)"
	for i := 0; i < len(clusterJobs); i += brief.Of(1, 5) {
		j := &clusterJobs[i]
		all, alone := of("cluster("+rest, j.label()), of(fmt.Sprintf("cluster(jobs=%d,%s", j.number, rest), j.label())
		if len(all) == 0 || !slices.Equal(all, alone) {
			t.Errorf("%s reads something else beside the others", j.label())
		}
	}
}

// TestClusterTimes: a job begins when it is submitted, and its time is what it has computed.
func TestClusterTimes(t *testing.T) {
	gaps := 0.0
	const seeds = 400
	for seed := range uint64(seeds) {
		starts := must.Get(arrivals(18, 60, seed))(t)
		if starts[0] != 0 || !slices.IsSorted(starts) {
			t.Fatalf("seed %d: jobs start at %v", seed, starts)
		}
		gaps += float64(starts[17]) / 17e9 / seeds
	}
	if math.Abs(gaps-60) > 2.5 {
		t.Errorf("the mean gap is %.1f s, want 60", gaps)
	}
	reads := readsOf(t, "cluster(jobs=13+9,arrivals=0,compute=2,scale=0.0005,spread=0)")
	count := map[string]int64{}
	last := int64(0)
	for _, r := range reads {
		job := string(r.Job)
		each := map[string]int64{"09-imagenet-resnet50": 5_200_000, "13-places-alexnet": 800_000}[job]
		if r.time != count[job]*each {
			t.Fatalf("read %d of %s at %d ns, want %d", count[job], job, r.time, count[job]*each)
		}
		if count[job]++; r.time < last {
			t.Fatalf("a read at %d comes after one at %d", r.time, last)
		}
		last = r.time
	}
	if len(count) != 2 {
		t.Errorf("the jobs are %v", count)
	}
}

// TestClusterCounts: the requests and reads that are counted in advance are those that come.
func TestClusterCounts(t *testing.T) {
	for _, spec := range []string{"cluster(scale=0.0004)",
		"cluster(scale=0.002,block-kib=7,read-kib=20,jobs=3+6+16+18+5)"} {
		c := clusterOf(t, spec)
		records, reads := len(readAll(t, spec)), len(readsOf(t, spec))
		counted := int64(0)
		for _, r := range c.runs {
			counted += r.reads
		}
		if records != c.Requests() || reads != int(counted) {
			t.Errorf("%s: %d requests and %d reads, counted %d and %d", spec, records, reads, c.Requests(), counted)
		}
	}
}

func TestClusterNames(t *testing.T) {
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "names")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	var names strings.Builder // 150 images of 3 classes, not in order
	for i := range 150 {
		fmt.Fprintf(&names, "n%02d_%d.JPEG\n\n", 7+i%3, 1000-i)
	}
	c := clusterOf(t, "cluster(jobs=9+8,scale=0.0001,names="+write(names.String())+")")
	val, train := pathsOf(c.data[1]), pathsOf(c.data[0])
	if len(train) != 128 || train[0] != "/imagenet/train/n07/n07_1000.JPEG" || !slices.IsSorted(train) {
		t.Errorf("%d images, the first %s, want 128 of the 150", len(train), train[0])
	}
	if val[0] != "/imagenet/val/n07/ILSVRC2012_val_00000001.JPEG" || !strings.Contains(val[4], "/n09/") {
		t.Errorf("the validation set is %s, want the classes of the names", val)
	}
	for text, want := range map[string]string{
		"":                                 "is empty",
		"n01_5.JPEG\nn01/n01_5.JPEG\n":     "twice",
		"noclass.JPEG\n":                   "no class",
		"a/b/c\n":                          "want class/file",
		"/c\n":                             "want class/file",
		strings.Repeat("x", 5000) + "_1\n": "after 0 names",
		"n01_1.JPEG\n":                     "choose a scale of at most",
	} {
		s := must.Get(Parse("cluster(jobs=9,scale=0.0001,names="+write(text)+")", ""))(t)
		must.NotGet(New(t.Context(), s, nil))(t, want, text)
	}
}

// TestClusterRealNames: with the names of a tenth of ImageNet, a trace at 0.1 reads exactly those.
func TestClusterRealNames(t *testing.T) {
	traces := os.Getenv("CACHESIM_TRACES")
	path := filepath.Join(traces, "files", "imagenet-10percent-names.txt.zst")
	if _, err := os.Stat(path); err != nil {
		t.Skip("CACHESIM_TRACES has no names of ImageNet")
	}
	c := clusterOf(t, "cluster(jobs=8+9,scale=0.1,names="+path+")")
	train, val := c.data[0], c.data[1]
	if train.items != 128_116 || len(val.classes) != 1000 {
		t.Errorf("%d images and %d classes, want 128116 and 1000", train.items, len(val.classes))
	}
	paths := pathsOf(train)
	if !slices.IsSorted(paths) || !slices.Contains(paths, "/imagenet/train/n01641577/n01641577_20505.JPEG") {
		t.Error("the images are not those of the file, in order")
	}
	if !slices.IsSorted(pathsOf(val)) {
		t.Error("the images of the validation set are not in order")
	}
}

func TestClusterErrors(t *testing.T) {
	checkRefused(t, map[string]string{
		"cluster(jobs=0)":         "numbers from 1 to 18",
		"cluster(jobs=)":          "numbers from 1 to 18",
		"cluster(jobs=9+19)":      `"19"`,
		"cluster(jobs=9+13+9)":    "lists 9 twice",
		"cluster(scale=0)":        "want a number from 0.0001 to 10",
		"cluster(scale=11)":       "want a number",
		"cluster(epochs=1000000)": "want at most 2^32",
		"cluster(jobs=16,queries=268435456,read-kib=1,scale=10)":  "want at most 2^32",
		"cluster(jobs=9,scale=0.01,epochs=10000,compute=1000000)": "years",
		"cluster(names=/nowhere/at/all)":                          "/nowhere/at/all",
		"cluster(popularity=other)":                               "want one of",
		"cluster(requests=5)":                                     "unknown parameter",
		"cluster(arrivals=1e9)":                                   "years: want at most 146; lower arrivals",
	})
}

// FuzzClusterNames: whatever a names file holds, it is refused or gives a trace whose paths are all different.
func FuzzClusterNames(f *testing.F) {
	f.Add([]byte("n01_1.JPEG\nn02_2.JPEG\n"))
	f.Add([]byte("a/b\na-b/c\na_b\n"))
	f.Add([]byte("\x1f\x8b\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "names")
		must.Do(t, os.WriteFile(path, text, 0o600))
		names, err := readNames(path)
		if err != nil {
			return
		}
		if len(names) == 0 || len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
			t.Errorf("%d names, some of them twice", len(names))
		}
		for _, class := range classesOf(names) {
			if class == "" || strings.Contains(class, "/") {
				t.Errorf("class %q", class)
			}
		}
	})
}

func FuzzClusterParams(f *testing.F) {
	f.Add("jobs=9+13,scale=0.001")
	f.Add("scale=0.0001,epochs=2,block-kib=1,read-kib=3,spread=2,popularity=scattered,alpha=3")
	f.Add("jobs=16,queries=1,arrivals=1e9,compute=0")
	f.Fuzz(func(t *testing.T, args string) {
		if strings.Contains(args, "names") {
			return // any file of the machine
		}
		s, err := Parse("cluster("+args+")", "")
		if err != nil || s.Params.Float("scale") > 0.001 || s.Params.Int("queries") > 1<<20 {
			return
		}
		g, err := New(t.Context(), s, nil)
		if err != nil {
			return
		}
		var rec stream.Record
		last := int64(0)
		for range 2000 {
			if g.Read(&rec) != nil {
				break
			}
			head := files.HeadOf(&rec)
			if rec.Time < last || rec.Size < 1 || rec.Begins && (head.Length < 1 || head.Offset+head.Length > head.FileSize) {
				t.Fatalf("%s: a block of %d bytes at %d after %d, read %+v", s, rec.Size, rec.Time, last, head)
			}
			last = rec.Time
		}
	})
}

// TestClusterTableOfTheDocumentation: docs/generators.md has the jobs at scale 1 as they are.
func TestClusterTableOfTheDocumentation(t *testing.T) {
	page := must.Get(os.ReadFile("../../../docs/generators.md"))(t)
	spec := must.Get(Parse("cluster(scale=1)", ""))(t)
	c := must.Get(planCluster(spec.Params))(t)
	var missing strings.Builder
	row := func(format string, values ...any) {
		if line := fmt.Sprintf(format, values...); !strings.Contains(string(page), "\n"+line) {
			missing.WriteString("\n" + line)
		}
	}
	for _, r := range c.runs {
		sets := "`" + r.job.data + "`"
		if r.beside != nil {
			sets += ", `" + r.job.beside + "`"
		}
		row("| `%s` | %s | %s | %v | %d | %d |", r.job.label(), sets, r.job.pattern, r.job.compute, r.perPass, r.reads)
	}
	bytes := int64(0)
	for _, d := range c.data {
		row("| `%s` | `%s` | %s | %d | %s |", d.set.key, d.appendPath(nil, 0), d.set.form, d.items, bytesText(d.bytes))
		bytes += d.bytes
	}
	row("| all | | | | %s |", bytesText(bytes))
	if missing.Len() > 0 {
		t.Errorf("docs/generators.md lacks:%s", missing.String())
	}
}

// BenchmarkCluster makes the 2 million reads of the defaults, and says how many a second.
func BenchmarkCluster(b *testing.B) {
	spec := must.Get(Parse("cluster", ""))(b)
	reads := 0
	for b.Loop() {
		g := must.Get(New(b.Context(), spec, nil))(b)
		var rec stream.Record
		for g.Read(&rec) == nil {
			if rec.Begins {
				reads++
			}
		}
	}
	b.ReportMetric(float64(reads)/b.Elapsed().Seconds()/1e6, "Mreads/s")
}

// TestClusterPopularityDrifts: at the end of a job the most popular item is as far from the first one as drift says.
func TestClusterPopularityDrifts(t *testing.T) {
	for drift, want := range map[string]float64{"0": 0, "0.25": 0.25, "0.5": 0.5} {
		spec := must.Get(Parse("cluster(jobs=17,drift="+drift+")", ""))(t)
		run := must.Get(planCluster(spec.Params))(t).runs[0]
		run.rewind()
		last := map[int]int{}
		for step := range run.perPass {
			if item := run.item(step); step >= run.perPass*9/10 {
				last[item]++
			}
		}
		best, most := 0, 0
		for item, n := range last {
			if n > most {
				best, most = item, n
			}
		}
		if got := float64(best) / float64(run.data.items); math.Abs(got-want) > 0.06 {
			t.Errorf("drift=%s: the most popular item at the end is at %.2f of all, want about %.2f", drift, got, want)
		}
	}
}
