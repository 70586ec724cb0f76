package gen

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/base/random"
)

// clusterSet is a data set of Table 1 or 3 of the IGTCache paper (arXiv 2506.12370), at scale 1. Its items are files,
// or records of files. docs/generators.md has the sources of the numbers.
type clusterSet struct {
	key   string
	form  string // in which it is stored
	items int
	bytes int64 // of all items
	dirs  int   // directories that the items are divided among; 0: all are in one
	// each is the number of items of a directory, where scale changes the number of directories; 0: it changes their size.
	each    int
	files   int  // files that the items are records of, times scale; 0: an item is a file
	one     bool // a single item at any scale; its bytes are scaled
	named   bool // a names file names its files
	classes bool // a names file names its directories
	// path appends the path of a file. Paths sort like the numbers.
	path func(path []byte, dir, file int) []byte
}

var clusterSets = []clusterSet{
	{key: "audiomnist", form: "60 speaker directories", items: 30_000, bytes: 30_000 * 96_000, dirs: 60,
		path: path("/audiomnist/data/", 2, "/", 6, ".wav")},
	{key: "fashion-product", form: "one directory", items: 44_441, bytes: 15_000_000_000,
		path: pathIn("/fashion-product/images/", 6, ".jpg")},
	{key: "air-quality", form: "one directory", items: 453, bytes: 2_600_000_000,
		path: pathIn("/air-quality/", 5, ".csv")},
	{key: "icoads", form: "2000 date directories of 36 tables", items: 2000 * icoadsTables, bytes: 4_500_000_000,
		dirs: 2000, each: icoadsTables, path: icoadsPath},
	{key: "bookcorpus", form: "16 files of records", items: 74_004, bytes: 7_900_000_000, files: 16,
		path: pathIn("/bookcorpus/train/data-", 5, ".arrow")},
	{key: "opt-125m", form: "one file", items: 1, bytes: 250_540_281, files: 1, one: true,
		path: onlyPath("/opt-125m/pytorch_model.bin")},
	{key: "imagenet-train", form: "1000 class directories", items: 1_281_167, bytes: 147_897_477_120, dirs: 1000,
		named: true, path: path("/imagenet/train/n", 8, "/", 8, ".JPEG")},
	{key: "imagenet-val", form: "1000 class directories", items: 50_000, bytes: 6_744_924_160, dirs: 1000,
		classes: true, path: path("/imagenet/val/n", 8, "/ILSVRC2012_val_", 8, ".JPEG")},
	{key: "places-train", form: "365 class directories", items: 1_803_460, bytes: 105_000_000_000, dirs: 365,
		path: path("/places365/train/", 3, "/", 8, ".jpg")},
	{key: "places-val", form: "365 class directories", items: 36_500, bytes: 2_100_000_000, dirs: 365,
		path: path("/places365/val/", 3, "/Places365_val_", 8, ".jpg")},
	{key: "lakebench", form: "one directory", items: 20_000, bytes: 5_000_000_000,
		path: pathIn("/lakebench/tables/", 7, ".csv")},
	{key: "wiki-large", form: "one index file of clusters", items: 65_536, bytes: 35_167_920 * 768 * 4, files: 1,
		path: onlyPath("/wiki/large/merged_index.ivfdata")},
	{key: "wiki-small", form: "one file per cluster", items: 4096, bytes: 485_859 * 768 * 4,
		path: pathIn("/wiki/small/clusters/", 6, ".ivfdata")},
	{key: "llava-text", form: "one file of records", items: 118_287, bytes: 229_000_000, files: 1,
		path: onlyPath("/llava/llava_instruct_150k.json")},
	{key: "coco-train", form: "one directory", items: 118_287, bytes: 19_336_861_798,
		path: pathIn("/coco/train2017/", 12, ".jpg")},
}

// icoadsTables are the tables of a date of ICOADS, one per ten degrees of longitude.
const icoadsTables = 36

// icoadsPath names the directories by month, from January 1848 on.
func icoadsPath(path []byte, dir, file int) []byte {
	path = appendPadded(append(path, "/icoads/"...), 1848+dir/12, 4)
	path = appendPadded(path, 1+dir%12, 2)
	return append(appendPadded(append(path, '/'), 10*(file%icoadsTables), 3), "E.csv"...)
}

// path makes paths from the numbers of the directory and the file, counted from 1, with that many digits.
func path(root string, dirDigits int, middle string, fileDigits int, ending string) func([]byte, int, int) []byte {
	return func(path []byte, dir, file int) []byte {
		path = appendPadded(append(path, root...), dir+1, dirDigits)
		return append(appendPadded(append(path, middle...), file+1, fileDigits), ending...)
	}
}

// onlyPath makes the path of a data set's only file.
func onlyPath(name string) func([]byte, int, int) []byte {
	return func(path []byte, _, _ int) []byte { return append(path, name...) }
}

// pathIn makes paths in one directory from the number of the file, counted from 0, with that many digits.
func pathIn(root string, digits int, ending string) func([]byte, int, int) []byte {
	return func(path []byte, _, file int) []byte {
		return append(appendPadded(append(path, root...), file, digits), ending...)
	}
}

// appendPadded appends n with zeros before it. It is several times as fast as fmt.
func appendPadded(text []byte, n, digits int) []byte {
	var reversed [20]byte
	length := 0
	for ; n > 0 || length < digits; n /= 10 {
		reversed[length] = '0' + byte(n%10)
		length++
	}
	for i := length - 1; i >= 0; i-- {
		text = append(text, reversed[i])
	}
	return text
}

type clusterData struct {
	number      int // in clusterSets
	set         *clusterSet
	items       int
	bytes       int64
	dirs, files int
	record      int64    // bytes of an item that is a record
	sizes       []uint32 // per item that is a file
	byRank      []uint32 // the item of each rank by popularity; nil: in the order of the listing
	names       []string // of the files below the root of the data set; nil: made up
	classes     []string // of the directories; nil: made up
}

// scaled returns scale times n, rounded down, at least 1. The sum allows for rounding, as in 0.29 x 100.
func scaled(n int, scale float64) int { return max(1, int(float64(float64(n)*scale)+1e-6)) }

func newClusterData(number int, names []string, scale float64) (*clusterData, error) {
	set := &clusterSets[number]
	d := &clusterData{number: number, set: set, items: scaled(set.items, scale), dirs: max(set.dirs, 1)}
	if set.each > 0 {
		d.dirs = scaled(set.dirs, scale)
		d.items = d.dirs * set.each
	}
	if d.items > maxObjects {
		return nil, fmt.Errorf("scale=%v: %d items of %s: want at most %d", scale, d.items, set.key, maxObjects)
	}
	if set.named && names != nil {
		if err := d.take(names, scale); err != nil {
			return nil, err
		}
	}
	if set.classes && names != nil {
		d.classes = classesOf(names)
		d.dirs = len(d.classes)
	}
	d.dirs = min(d.dirs, d.items)
	d.bytes = int64(math.Round(float64(set.bytes) / float64(set.items) * float64(d.items)))
	switch {
	case set.one:
		d.items, d.files = 1, 1
		d.bytes = max(1, int64(float64(set.bytes)*scale))
		d.record = d.bytes
	case set.files > 0:
		d.files = min(scaled(set.files, scale), d.items)
		d.record = set.bytes / int64(set.items)
		d.bytes = d.record * int64(d.items)
	}
	return d, nil
}

// take chooses the items from the names of a file, evenly over all of them.
func (d *clusterData) take(names []string, scale float64) error {
	if len(names) < d.items {
		return fmt.Errorf("scale=%v has %d images of %s, and the names file names %d; choose a scale of at most %.4g, or no "+
			"names", scale, d.items, d.set.key, len(names), float64(len(names))/float64(d.set.items))
	}
	d.names = make([]string, d.items)
	for i := range d.names {
		d.names[i] = names[i*len(names)/d.items]
	}
	return nil
}

// maxDeviation limits how many standard deviations the logarithm of a size is off its mean.
const maxDeviation = 4

// fill draws the sizes of the files and, where it is scattered, the popularity of the items. Rounding the running sum
// instead of each size makes the sizes add up to the bytes of the data set.
func (d *clusterData) fill(spread float64, scattered bool, seed uint64) {
	if scattered {
		d.byRank = ascending[uint32](d.items)
		random.Shuffle(random.Stream(seed, of(scatterBits, d.number)), d.byRank)
	}
	if d.files > 0 {
		return
	}
	bits := random.Stream(seed, of(sizeBits, d.number))
	ends, end := make([]float64, d.items), 0.0
	for i := range ends {
		z := min(max(random.Normal(bits), -maxDeviation), maxDeviation)
		end += random.Exp(float64(spread * z))
		ends[i] = end
	}
	d.sizes = make([]uint32, d.items)
	last := int64(0)
	for i := range d.sizes {
		at := int64(math.Round(float64(ends[i]/end) * float64(d.bytes)))
		d.sizes[i] = uint32(at - last)
		last = at
	}
}

// of makes the random bits of each purpose independent of the others.
func of(purpose, number int) uint64 { return uint64(purpose) | uint64(number+1)<<16 }

func ascending[N int | uint32](n int) []N {
	all := make([]N, n)
	for i := range all {
		all[i] = N(i)
	}
	return all
}

func (d *clusterData) fileCount() int {
	if d.files > 0 {
		return d.files
	}
	return d.items
}

func (d *clusterData) sizeOf(file int) int64 {
	if d.files == 0 {
		return int64(d.sizes[file])
	}
	return int64(firstOf(file+1, d.items, d.files)-firstOf(file, d.items, d.files)) * d.record
}

// place returns where an item is: its file, the bytes of the file that are the item, and the size of the file.
func (d *clusterData) place(item int) (file int, offset, length, size int64) {
	if d.files == 0 {
		size = int64(d.sizes[item])
		return item, 0, size, size
	}
	file = share(item, d.items, d.files)
	return file, int64(item-firstOf(file, d.items, d.files)) * d.record, d.record, d.sizeOf(file)
}

// share returns the part that has an item, where the numbers of items of the parts differ by at most one. firstOf
// returns the first item of a part.
func share(item, items, parts int) int { return ((item+1)*parts - 1) / items }

func firstOf(part, items, parts int) int { return part * items / parts }

func (d *clusterData) appendPath(path []byte, file int) []byte {
	switch {
	case d.names != nil:
		return append(append(path, "/imagenet/train/"...), d.names[file]...)
	case d.files > 0:
		return d.set.path(path, 0, file)
	}
	dir := share(file, d.items, d.dirs)
	if d.classes != nil {
		path = append(append(append(path, "/imagenet/val/"...), d.classes[dir]...), "/ILSVRC2012_val_"...)
		return append(appendPadded(path, file+1, 8), ".JPEG"...)
	}
	return d.set.path(path, dir, file)
}
