package gen

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/files"
)

// clusterJob is a job of Table 3 of the IGTCache paper.
type clusterJob struct {
	number  int
	name    string
	data    string // key of its data set
	beside  string // key of a data set that it also reads, one item with each, in the order of the listing
	pattern string // as Table 3 has it
	order   itemOrder
	trains  bool          // it makes several passes
	compute time.Duration // per item
}

// itemOrder is the order in which a job reads the items of a data set.
type itemOrder uint8

const (
	inListingOrder itemOrder = iota
	shuffled                 // a new permutation in each pass
	byPopularity             // draws by Zipf's law
	sameOfEach               // the same file of each directory
)

var clusterJobs = []clusterJob{
	{1, "audiomnist-vgg16", "audiomnist", "", "sequential", inListingOrder, true, 4200 * time.Microsecond},
	{2, "fashion-vgg16-test", "fashion-product", "", "sequential", inListingOrder, false, 1400 * time.Microsecond},
	{3, "air-quality", "air-quality", "", "sequential", inListingOrder, false, 60 * time.Millisecond},
	{4, "icoads", "icoads", "", "sequential", sameOfEach, false, time.Millisecond},
	{5, "bookcorpus-preprocess", "bookcorpus", "", "sequential", inListingOrder, false, 10 * time.Millisecond},
	{6, "opt-checkpoint", "opt-125m", "", "sequential", inListingOrder, false, 250 * time.Millisecond},
	{7, "opt-finetune", "bookcorpus", "", "random", shuffled, true, 40 * time.Millisecond},
	{8, "imagenet-resnet50-test", "imagenet-val", "", "sequential", inListingOrder, false, 900 * time.Microsecond},
	{9, "imagenet-resnet50", "imagenet-train", "", "random", shuffled, true, 2600 * time.Microsecond},
	{10, "imagenet-alexnet", "imagenet-train", "", "random", shuffled, true, 400 * time.Microsecond},
	{11, "places-alexnet-test", "places-val", "", "sequential", inListingOrder, false, 200 * time.Microsecond},
	{12, "places-resnet50", "places-train", "", "random", shuffled, true, 2600 * time.Microsecond},
	{13, "places-alexnet", "places-train", "", "random", shuffled, true, 400 * time.Microsecond},
	{14, "lakebench-join", "lakebench", "", "skewed", byPopularity, false, 20 * time.Millisecond},
	{15, "lakebench-union", "lakebench", "", "skewed", byPopularity, false, 20 * time.Millisecond},
	{16, "wiki-rag-large", "wiki-large", "", "skewed", byPopularity, false, 50 * time.Millisecond},
	{17, "wiki-rag-small", "wiki-small", "", "skewed", byPopularity, false, 20 * time.Millisecond},
	{18, "llava-finetune", "coco-train", "llava-text", "sequential and random", shuffled, true, 10 * time.Millisecond},
}

// label names the job in a trace, so that names sort by number.
func (j *clusterJob) label() string { return fmt.Sprintf("%02d-%s", j.number, j.name) }

// passes returns how often the job goes through its items.
func (j *clusterJob) passes(o clusterOptions) int {
	if j.trains {
		return o.epochs
	}
	return 1
}

// perPass returns how many items the job reads in a pass.
func (j *clusterJob) perPass(d *clusterData, o clusterOptions) int {
	switch j.order {
	case byPopularity:
		return o.queries
	case sameOfEach:
		return d.dirs
	}
	return d.items
}

type clusterRun struct {
	job          *clusterJob
	data, beside *clusterData
	name         []byte
	start        int64 // nanoseconds
	compute      int64 // nanoseconds per item
	passes       int
	perPass      int
	limit        int64 // most bytes of a read
	seed         uint64

	reads, blocks int64 // in all

	bits  *rand.PCG
	order []uint32 // of this pass, if it is shuffled
	ranks random.Zipf
	drift float64 // items in all

	time       int64 // of the read
	head       files.Head
	end        int64 // of the item in its file
	paths      [2][]byte
	pass, step int  // of the item that comes next
	textRead   bool // the item beside was read
}

func newClusterRun(job *clusterJob, data map[string]*clusterData, start int64, o clusterOptions) *clusterRun {
	d := data[job.data]
	r := &clusterRun{
		job: job, data: d, beside: data[job.beside], name: []byte(job.label()), start: start,
		compute: int64(float64(job.compute) * o.compute), passes: job.passes(o), perPass: job.perPass(d, o), limit: o.read,
		seed: o.seed,
	}
	switch job.order {
	case shuffled:
		r.order = ascending[uint32](d.items)
	case byPopularity:
		r.ranks, r.drift = random.NewZipf(d.items, o.alpha), o.drift*float64(d.items)
	}
	return r
}

// rewind goes back to before the first read.
func (r *clusterRun) rewind() {
	r.bits = random.Stream(r.seed, of(requestBits, r.job.number))
	r.time, r.end, r.pass, r.step, r.textRead = r.start-r.compute, 0, 0, 0, false
	r.head = files.Head{Job: r.name}
}

// count sets reads and blocks. By popularity, it draws the items as the replay will; in any other order, a pass reads
// every item once, whatever the permutation.
func (r *clusterRun) count(block int64) {
	r.rewind()
	add := func(d *clusterData, item, times int) {
		_, offset, length, _ := d.place(item)
		for end := offset + length; offset < end; offset += r.limit {
			last := min(offset+r.limit, end) - 1
			r.reads += int64(times)
			r.blocks += int64(times) * (last/block - offset/block + 1)
		}
	}
	for i := range r.perPass {
		item := i
		if r.job.order != shuffled {
			item = r.item(i)
		}
		add(r.data, item, r.passes)
		if r.beside != nil {
			add(r.beside, i, r.passes)
		}
	}
}

func (r *clusterRun) item(step int) int {
	switch r.job.order {
	case shuffled:
		return int(r.order[step])
	case byPopularity:
		rank := r.ranks.Draw(r.bits)
		if r.drift > 0 {
			rank = (rank + int(r.drift*float64(step)/float64(r.perPass))) % r.data.items
		}
		if r.data.byRank != nil {
			return int(r.data.byRank[rank])
		}
		return rank
	case sameOfEach:
		each := r.data.set.each
		return step*each + each/2
	}
	return step
}

// advance goes to the next read, and returns false after the last. An item longer than the limit takes several reads;
// the job computes after the last of them.
func (r *clusterRun) advance() bool {
	if at := r.head.Offset + r.head.Length; at < r.end {
		r.head.Offset, r.head.Length = at, min(r.limit, r.end-at)
		r.paths[0] = append(r.paths[0][:0], r.paths[1]...)
		r.head.Path = r.paths[0]
		return true
	}
	if r.step == r.perPass {
		r.pass, r.step = r.pass+1, 0
	}
	if r.pass == r.passes {
		return false
	}
	if r.beside != nil && !r.textRead {
		r.textRead = true
		r.time += r.compute
		r.open(r.beside, r.step)
		return true
	}
	if r.step == 0 && r.job.order == shuffled {
		random.Shuffle(r.bits, r.order)
	}
	if !r.textRead {
		r.time += r.compute
	}
	r.textRead = false
	r.open(r.data, r.item(r.step))
	r.step++
	return true
}

// open goes to the first read of an item.
func (r *clusterRun) open(d *clusterData, item int) {
	file, offset, length, size := d.place(item)
	r.end = offset + length
	r.paths[0] = d.appendPath(r.paths[0][:0], file)
	r.head.Path, r.head.Offset, r.head.Length, r.head.FileSize = r.paths[0], offset, min(length, r.limit), size
}
