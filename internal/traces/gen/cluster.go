package gen

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var clusterParams = []params.Param{
	{Name: "jobs", Default: "all", Doc: "numbers of the jobs in the order in which they are submitted, such as " +
		"9+13+14+16; all: 1 to 18"},
	{Name: "scale", Default: 0.1, Min: 0.0001, Max: 10, Doc: "factor of the number of items of each data set, and of " +
		"queries; 1: 429 GB"},
	{Name: "epochs", Default: 3, Min: 1, Max: 1_000_000, Doc: "passes of a training job over its data set"},
	{Name: "arrivals", Default: 60.0, Min: 0, Max: 1e9, Doc: "mean seconds between the submission of two jobs, a " +
		"Poisson process; 0: all at once"},
	{Name: "compute", Default: 1.0, Min: 0, Max: 1e6, Doc: "factor of the time that a job computes per item"},
	{Name: "popularity", Default: "index", Choices: []string{"index", "scattered"}, Doc: "index: queries request the " +
		"first items of the listing most; scattered: any items"},
	alphaParam,
	{Name: "drift", Default: 0.0, Min: 0, Max: 1000, Doc: "by how many of its items, as a share of them, the " +
		"popularity of a data set moves on while a job queries it"},
	{Name: "queries", Default: 100_000, Min: 1, Max: maxObjects, Doc: "queries of each of the jobs 14 to 17, times scale"},
	{Name: "spread", Default: 0.5, Min: 0, Max: 2, Doc: "standard deviation of the logarithm of the size of a file in a " +
		"data set of many files; 0: all of one size"},
	{Name: "block-kib", Default: 4096, Min: 1, Max: 1 << 30, Doc: "KiB in a block, the unit that is cached"},
	{Name: "read-kib", Default: 1024, Min: 1, Max: 1 << 20, Doc: "KiB that a job reads at once, at most"},
	{Name: "names", Default: "", File: true, Doc: "file with the names of the training images of ImageNet, " +
		"one per line: class/file, or class_number.JPEG; by default names are made up"},
	seedParam,
}

// maxClusterRequests bounds the trace: reads and blocks are counted before any is made.
const maxClusterRequests = 1 << 32

// clusterTrace merges the reads of the jobs of a cluster by time.
type clusterTrace struct {
	data  []*clusterData // each data set of the jobs once, in the order of clusterSets
	runs  []*clusterRun  // as submitted
	going []*clusterRun  // with further reads

	reader  stream.Reader
	ofReads stream.Fields
	blocks  int
}

// clusterOptions are the parameters that runs share.
type clusterOptions struct {
	seed           uint64
	scale, compute float64
	epochs         int
	alpha, drift   float64
	queries        int
	block, read    int64 // bytes
}

func newClusterTrace(v params.Values) (RecordSource, error) {
	t, err := planCluster(v)
	if err != nil {
		return nil, err
	}
	for _, r := range t.runs {
		r.rewind()
		if r.advance() {
			t.going = append(t.going, r)
		}
	}
	listing, err := t.listing()
	t.reader, t.ofReads = files.Generated(files.Kind{Block: int64(v.Int("block-kib")) << 10, Listing: listing}, t.next)
	return t, err
}

// planCluster prepares the jobs, and counts their requests.
func planCluster(v params.Values) (*clusterTrace, error) {
	o := clusterOptions{
		seed: uint64(v.Int("seed")), scale: v.Float("scale"), compute: v.Float("compute"), epochs: v.Int("epochs"),
		alpha: v.Float("alpha"), drift: v.Float("drift"), queries: scaled(v.Int("queries"), v.Float("scale")),
		block: int64(v.Int("block-kib")) << 10, read: int64(v.Int("read-kib")) << 10,
	}
	jobs, err := parseJobs(v.Text("jobs"))
	if err != nil {
		return nil, err
	}
	var names []string
	if path := v.Text("names"); path != "" {
		if names, err = readNames(path); err != nil {
			return nil, err
		}
	}
	t := &clusterTrace{}
	byName, err := t.takeSets(jobs, names, o)
	if err != nil {
		return nil, err
	}
	if err := checkCluster(jobs, byName, o); err != nil {
		return nil, err
	}
	for _, d := range t.data {
		d.fill(v.Float("spread"), v.Text("popularity") == "scattered", o.seed)
	}
	starts, err := arrivals(len(jobs), v.Float("arrivals"), o.seed)
	if err != nil {
		return nil, err
	}
	for i, job := range jobs {
		r := newClusterRun(job, byName, starts[i], o)
		r.count(o.block)
		t.runs = append(t.runs, r)
		t.blocks += int(r.blocks)
	}
	return t, nil
}

// takeSets prepares the data sets of the jobs, in the order of the table.
func (t *clusterTrace) takeSets(jobs []*clusterJob, names []string, o clusterOptions) (map[string]*clusterData, error) {
	byName := map[string]*clusterData{}
	for i := range clusterSets {
		set := &clusterSets[i]
		if !readsSet(jobs, set) {
			continue
		}
		d, err := newClusterData(i, names, o.scale)
		if err != nil {
			return nil, err
		}
		t.data = append(t.data, d)
		byName[set.key] = d
	}
	return byName, nil
}

// checkCluster refuses traces that are too long, before memory is filled.
func checkCluster(jobs []*clusterJob, byName map[string]*clusterData, o clusterOptions) error {
	requests := 0.0
	for _, job := range jobs {
		d := byName[job.data]
		items, bytes := float64(job.perPass(d, o)), float64(d.bytes)
		if job.order == byPopularity {
			bytes = items * float64(d.bytes) / float64(d.items)
		}
		passes := float64(job.passes(o))
		requests += float64(passes * (float64(2*items) + bytes/float64(min(o.block, o.read))))
		if ns := passes * items * float64(job.compute) * o.compute; ns > math.MaxInt64/8 {
			return fmt.Errorf("job %d would compute for %.0f years: want at most 36; lower compute or epochs", job.number,
				ns/1e9/(365.25*24*3600))
		}
	}
	if requests > maxClusterRequests {
		return fmt.Errorf("about %.2g requests for blocks: want at most 2^32; reduce jobs, epochs, queries or scale, or "+
			"raise block-kib and read-kib", requests)
	}
	return nil
}

// arrivals returns when each of n jobs is submitted, in nanoseconds: the first at 0, the others after exponential gaps.
func arrivals(n int, mean float64, seed uint64) ([]int64, error) {
	bits := random.Stream(seed, arrivalBits)
	starts := make([]int64, n)
	at := 0.0
	for i := 1; i < n; i++ {
		// An exponential gap by inversion; the logarithm is negative.
		at -= float64(mean * 1e9 * random.Log(1-random.Unit(bits)))
		if at > math.MaxInt64/2 { // the jobs take less than another quarter
			return nil, fmt.Errorf("arrivals=%v: job %d of %d would be submitted after %.0f years: want at most 146; lower "+
				"arrivals", mean, i+1, n, at/1e9/(365.25*24*3600))
		}
		starts[i] = int64(at)
	}
	return starts, nil
}

// parseJobs reads the numbers of jobs, "9+13+14+16".
func parseJobs(text string) ([]*clusterJob, error) {
	var jobs []*clusterJob
	if text == "all" {
		for i := range clusterJobs {
			jobs = append(jobs, &clusterJobs[i])
		}
		return jobs, nil
	}
	for number := range strings.SplitSeq(text, "+") {
		n, err := strconv.Atoi(strings.TrimSpace(number))
		if err != nil || n < 1 || n > len(clusterJobs) {
			return nil, fmt.Errorf("jobs=%s: %q: want numbers from 1 to %d with + between them, or all", text, number,
				len(clusterJobs))
		}
		job := &clusterJobs[n-1]
		if slices.Contains(jobs, job) {
			return nil, fmt.Errorf("jobs=%s: lists %d twice; want each job once", text, n)
		}
		jobs = append(jobs, job)
	}
	return jobs, nil
}

func (t *clusterTrace) listing() (*files.Listing, error) {
	listing := files.NewListing("generated")
	var path []byte
	for _, d := range t.data {
		for file := range d.fileCount() {
			path = d.appendPath(path[:0], file)
			if err := listing.Add(path, d.sizeOf(file)); err != nil {
				return nil, fmt.Errorf("%s: %w", d.set.key, err)
			}
		}
	}
	return listing, nil
}

// clusterBytes estimates the memory of the generator: the listing, and an order, sizes and popularity of the items.
func clusterBytes(v params.Values) int64 {
	jobs, err := parseJobs(v.Text("jobs"))
	if err != nil {
		return 0 // New says why
	}
	items := 0.0
	for i := range clusterSets {
		if readsSet(jobs, &clusterSets[i]) {
			items += float64(float64(clusterSets[i].items) * v.Float("scale"))
		}
	}
	return int64(items * clusterItemBytes)
}

// clusterItemBytes is the memory per item, as measured at scale 1: most of it for the listing while it grows.
const clusterItemBytes = 200

func readsSet(jobs []*clusterJob, set *clusterSet) bool {
	return slices.ContainsFunc(jobs, func(j *clusterJob) bool { return j.data == set.key || j.beside == set.key })
}

// next returns the earliest read; ties go to the job that was submitted first.
func (t *clusterTrace) next(read *files.Head) (time int64, err error) {
	if len(t.going) == 0 {
		return 0, io.EOF
	}
	first := 0
	for i, r := range t.going {
		if r.time < t.going[first].time {
			first = i
		}
	}
	r := t.going[first]
	*read, time = r.head, r.time
	r.paths[0], r.paths[1] = r.paths[1], r.paths[0] // the next path must not overwrite this one
	if !r.advance() {
		t.going = slices.Delete(t.going, first, first+1)
	}
	return time, nil
}

func (t *clusterTrace) Fields() stream.Fields         { return t.ofReads }
func (t *clusterTrace) Requests() int                 { return t.blocks }
func (t *clusterTrace) Read(rec *stream.Record) error { return t.reader.Read(rec) }

// Measured implements Measured: it lists the jobs.
func (t *clusterTrace) Measured() string {
	var text strings.Builder
	row := func(values ...any) { fmt.Fprintf(&text, "%-25s  %-21s %8v %10v %9v %9v %9v\n", values...) }
	row("job", "pattern", "items", "bytes", "reads", "blocks", "from s")
	reads := int64(0)
	for _, r := range t.runs {
		items, bytes := r.data.items, r.data.bytes
		if r.beside != nil {
			bytes += r.beside.bytes
		}
		row(r.job.label(), r.job.pattern, items, bytesText(bytes), r.reads, r.blocks,
			strconv.FormatFloat(float64(r.start)/1e9, 'f', 1, 64))
		reads += r.reads
	}
	bytes, count := int64(0), 0
	for _, d := range t.data {
		bytes += d.bytes
		count += d.fileCount()
	}
	fmt.Fprintf(&text, "%d jobs, %d reads of %d blocks; the data sets have %d files of %s", len(t.runs), reads, t.blocks,
		count, bytesText(bytes))
	return text.String()
}

// bytesText writes a number of bytes in units of powers of ten.
func bytesText(bytes int64) string {
	unit, text := 1e9, "GB"
	switch {
	case bytes < 1e6:
		unit, text = 1e3, "kB"
	case bytes < 1e9:
		unit, text = 1e6, "MB"
	}
	return fmt.Sprintf("%.4g %s", float64(bytes)/unit, text)
}
