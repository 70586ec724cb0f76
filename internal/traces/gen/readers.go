package gen

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var readersParams = []params.Param{
	{Name: "requests", Default: 100_000, Min: 1, Max: maxReads, Doc: "reads of all streams together, at most"},
	{Name: "streams", Default: "forward(files=40,blocks=50);shuffled(files=400);skewed(files=1000)",
		Doc: "ORDER(...) of each stream, separated by semicolons; ORDER is forward, backward, strided, shuffled or skewed"},
	{Name: "rate", Default: 50.0, Min: 1, Max: 1e9, Doc: "reads per second of all streams together"},
	seedParam,
}

// readOrders are the orders in which streams read, with the parameters that the others do not have.
var readOrders = map[string][]params.Param{
	"forward":  nil,
	"backward": nil,
	"strided":  {{Name: "stride", Default: 8, Min: 2, Max: maxObjects}},
	"shuffled": nil,
	"skewed":   {{Name: "alpha", Default: 0.8, Min: 0, Max: 10}, {Name: "scattered", Default: true}},
}

var streamParams = []params.Param{
	{Name: "files", Default: 100, Min: 1, Max: maxObjects},
	{Name: "blocks", Default: 10, Min: 1, Max: maxObjects},
	{Name: "item", Default: 0, Min: 0, Max: maxObjects},
	{Name: "epochs", Default: 0, Min: 0, Max: maxObjects},
	{Name: "together", Default: 1, Min: 1, Max: 1000},
	{Name: "copies", Default: 1, Min: 1, Max: 1000},
	{Name: "gap", Default: 0, Min: 0, Max: maxObjects},
	{Name: "start", Default: 0, Min: 0, Max: maxObjects},
	{Name: "weight", Default: 1.0, Min: 0.001, Max: 1000},
}

const maxReads = 1 << 32

// readBlock is how many bytes a read of readers has: a block of JuiceFS.
const readBlock = 4 << 20

// readerData is the data set of a stream: files of equal sizes, which are read in items.
type readerData struct {
	number        int
	files, blocks int
	item          int // blocks that are read in a row, the last ones of a file may be fewer
	perFile       int // items
	order         string
	alpha         float64
	scattered     bool
	stride        int
	epochs        int // 0: without end
	ranks         random.Zipf
	byRank        []uint32 // nil: the first items are requested most
}

// blockReader is a copy of a stream.
type blockReader struct {
	*readerData
	name    []byte
	from    int // requests of the trace before it begins
	weight  float64
	bits    *rand.PCG
	shuffle []uint32 // of this epoch
	epoch   int
	taken   int // items of this epoch
	last    int // the item that was taken last
	open    []openItem
	turn    int // which of them is read next
}

// openItem is an item that is being read.
type openItem struct{ first, length, read int }

type readersTrace struct {
	requests, done int
	nsEach         float64
	bits           *rand.PCG
	waiting, live  []*blockReader
	reader         stream.Reader
	ofReads        stream.Fields
}

func newReadersTrace(v params.Values) (RecordSource, error) {
	seed := uint64(v.Int("seed"))
	t := &readersTrace{nsEach: 1e9 / v.Float("rate"), bits: random.Stream(seed, requestBits)}
	listing := files.NewListing("generated")
	finite, objects := 0.0, 0
	for i, text := range strings.Split(v.Text("streams"), ";") {
		d, sv, err := newReaderData(i, text)
		if err != nil {
			return nil, fmt.Errorf("streams: %w", err)
		}
		if objects += d.files * d.blocks; objects > maxObjects {
			return nil, fmt.Errorf("streams: more than %d blocks together; use fewer files or blocks", maxObjects)
		}
		d.fill(seed)
		for file := range d.files {
			if err := listing.Add(d.path(nil, file), int64(d.blocks)*readBlock); err != nil {
				return nil, err
			}
		}
		copies := sv.Int("copies")
		for c := range copies {
			t.waiting = append(t.waiting, d.reader(c, sv, seed))
		}
		if finite += float64(float64(copies*d.epochs) * float64(d.files*d.blocks)); d.epochs == 0 {
			finite = maxReads
		}
	}
	t.requests = int(min(float64(v.Int("requests")), finite))
	slices.SortStableFunc(t.waiting, func(a, b *blockReader) int { return a.from - b.from })
	t.reader, t.ofReads = files.Generated(files.Kind{Block: readBlock, Listing: listing}, t.next)
	return t, nil
}

// newReaderData reads ORDER(...).
func newReaderData(number int, text string) (*readerData, params.Values, error) {
	name, args, err := params.SplitCall(text)
	if err != nil {
		return nil, nil, err
	}
	own, known := readOrders[name]
	if !known {
		orders := []string{"forward", "backward", "strided", "shuffled", "skewed"}
		return nil, nil, suggest.Unknown("order", name, orders)
	}
	v, err := params.ParseArgs(slices.Concat(streamParams, own), args)
	if err != nil {
		return nil, nil, fmt.Errorf("%q: %w", strings.TrimSpace(text), err)
	}
	d := &readerData{number: number, order: name, files: v.Int("files"), blocks: v.Int("blocks"), item: v.Int("item"),
		epochs: v.Int("epochs")}
	if d.item == 0 || d.item > d.blocks {
		d.item = d.blocks
	}
	d.perFile = (d.blocks + d.item - 1) / d.item
	if d.files*d.blocks > maxObjects {
		return nil, nil, fmt.Errorf("%q: %d blocks: want at most %d", strings.TrimSpace(text), d.files*d.blocks, maxObjects)
	}
	switch name {
	case "strided":
		d.stride = v.Int("stride")
	case "skewed":
		d.alpha, d.scattered = v.Float("alpha"), v.Bool("scattered")
	}
	return d, v, nil
}

// fill prepares the popularity of the items.
func (d *readerData) fill(seed uint64) {
	if d.order == "skewed" {
		d.ranks = random.NewZipf(d.items(), d.alpha)
	}
	if d.scattered {
		d.byRank = ascending[uint32](d.items())
		random.Shuffle(random.Stream(seed, of(scatterBits, d.number)), d.byRank)
	}
}

func (d *readerData) items() int { return d.files * d.perFile }

func (d *readerData) path(path []byte, file int) []byte {
	return fmt.Appendf(path, "/stream-%d/%06d", d.number+1, file+1)
}

// reader returns a copy of the stream, which reads what the others read.
func (d *readerData) reader(number int, v params.Values, seed uint64) *blockReader {
	r := &blockReader{readerData: d, from: v.Int("start") + number*v.Int("gap"), weight: v.Float("weight"),
		name: fmt.Appendf(nil, "%d-%s-%d", d.number+1, d.order, number+1),
		bits: random.Stream(seed, of(orderBits, d.number<<10|number))}
	if d.order == "shuffled" {
		r.shuffle = ascending[uint32](d.items())
	}
	for range min(v.Int("together"), d.items()) {
		if item, ok := r.take(); ok {
			r.open = append(r.open, item)
		}
	}
	return r
}

// take returns the next item to read; ok is false behind the last.
func (r *blockReader) take() (_ openItem, ok bool) {
	if r.taken == r.items() {
		r.epoch, r.taken = r.epoch+1, 0
	}
	if r.epochs > 0 && r.epoch == r.epochs {
		return openItem{}, false
	}
	item := r.taken
	switch r.order {
	case "backward":
		item = r.items() - 1 - r.taken
	case "strided":
		if item > 0 {
			if item = r.last + r.stride; item >= r.items() {
				item = r.last%r.stride + 1 // the items behind those that were read
			}
		}
	case "shuffled":
		if r.taken == 0 {
			random.Shuffle(r.bits, r.shuffle)
		}
		item = int(r.shuffle[r.taken])
	case "skewed":
		item = r.ranks.Draw(r.bits)
		if r.byRank != nil {
			item = int(r.byRank[item])
		}
	}
	r.taken++
	r.last = item
	within := item % r.perFile * r.item
	return openItem{first: item/r.perFile*r.blocks + within, length: min(r.item, r.blocks-within)}, true
}

// next returns the next block, counted over all files. more is false if it is the last of all.
func (r *blockReader) next() (block int, more bool) {
	item := &r.open[r.turn]
	block = item.first + item.read
	if r.order == "backward" {
		block = item.first + item.length - 1 - item.read
	}
	if item.read++; item.read < item.length {
		r.turn = (r.turn + 1) % len(r.open)
		return block, true
	}
	if fresh, ok := r.take(); ok {
		*item = fresh
		r.turn = (r.turn + 1) % len(r.open)
	} else if r.open = slices.Delete(r.open, r.turn, r.turn+1); r.turn == len(r.open) {
		r.turn = 0
	}
	return block, len(r.open) > 0
}

// next fills in the next read: that of one of the copies that have begun, drawn by their weights.
func (t *readersTrace) next(read *files.Head) (time int64, err error) {
	if t.done == t.requests {
		return 0, io.EOF
	}
	for len(t.waiting) > 0 && (t.waiting[0].from <= t.done || len(t.live) == 0) {
		t.live, t.waiting = append(t.live, t.waiting[0]), t.waiting[1:]
	}
	sum := 0.0
	for _, r := range t.live {
		sum += r.weight
	}
	at, left := 0, sum*random.Unit(t.bits)
	for at < len(t.live)-1 && left >= t.live[at].weight {
		left -= t.live[at].weight
		at++
	}
	r := t.live[at]
	block, more := r.next()
	if !more {
		t.live = slices.Delete(t.live, at, at+1)
	}
	*read = files.Head{Job: r.name, Path: r.path(nil, block/r.blocks), Offset: int64(block%r.blocks) * readBlock,
		Length: readBlock, FileSize: int64(r.blocks) * readBlock}
	time = int64(float64(t.done) * t.nsEach)
	t.done++
	return time, nil
}

func (t *readersTrace) Fields() stream.Fields         { return t.ofReads }
func (t *readersTrace) Requests() int                 { return t.requests }
func (t *readersTrace) Read(rec *stream.Record) error { return t.reader.Read(rec) }

// readersBytes estimates the memory of the generator: listing, popularity, and an order for each copy.
func readersBytes(v params.Values) (bytes int64) {
	for i, text := range strings.Split(v.Text("streams"), ";") {
		d, sv, err := newReaderData(i, text)
		if err != nil {
			return 0 // New says why
		}
		bytes += int64(d.files)*100 + int64(d.items())*int64(20+4*sv.Int("copies"))
	}
	return bytes
}
