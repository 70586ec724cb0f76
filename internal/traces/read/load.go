package read

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// What to load is said beside the columns, so that packages that only describe a trace need no reader.
type (
	Options   = traces.LoadOptions
	Selection = traces.Selection
)

// Load reads trace files into columns and numbers their objects. Several files are one trace: one after another, or
// merged by time, for which each must have times. The same key is the same object in all of them. Times stay as the
// files state them: if a clock goes back, or the next file begins earlier, they go back too. Requests keep their
// order.
//
// The error says which file cannot be read and why; a trace without requests is also an error. When ctx ends, Load
// returns its error.
func Load(ctx context.Context, paths []string, opts Options) (*traces.Trace, error) {
	l, err := newLoader(ctx, paths, opts)
	if err != nil {
		return nil, err
	}
	l.further, l.dropped = l.keepTTL, l.unchain
	if opts.Beside == nil && !l.tenancy.eachRequest() {
		l.batches = l.addFile
	}
	if opts.PerFile {
		l.part = func() {
			l.settle()
			l.trace.StartPart()
		}
	}
	return l.finish(l.run())
}

// LoadReader is Load for records from elsewhere, such as a generator. name is the name of the trace, fields are those
// of the records, and total is their number for Progress (0 if unknown).
func LoadReader(ctx context.Context, name string, r stream.Reader, fields stream.Fields, total int64,
	opts Options) (*traces.Trace, error) {
	l, err := newLoader(ctx, []string{name}, opts)
	if err != nil {
		return nil, err
	}
	length := total
	if opts.Limit > 0 && !source.IsGrouped(fields.Kind) {
		length = min(length, int64(opts.Limit))
	}
	if l.sampler == nil && length > stream.MaxCount {
		return nil, fmt.Errorf("%s: %w", name, stream.ErrTooManyRequests) // before memory is filled
	}
	if opts.Progress != nil {
		l.opts.Progress = func(int64, int64) { opts.Progress(int64(l.seen), total) }
	}
	reading := &stream.Reading{Name: name}
	source.Complete(reading, source.Format{Name: "generated"}, nil, fields)
	reading.Spec = ""
	l.together.Join(reading)
	if err := l.start(name, fields); err != nil {
		return nil, err
	}
	if l.sampler == nil {
		if err := l.reserve(int(length)); err != nil {
			return nil, err
		}
		l.expect(int(length))
	}
	if total >= leastReadAhead && l.isAhead(fields) {
		ahead := newParseAhead(r, func() int64 { return 0 })
		defer ahead.stop()
		r = ahead
	}
	return l.finish(l.ended(l.readAll(r)))
}

// loader builds a Trace from the records of a scan.
type loader struct {
	*scan
	trace     *traces.Trace
	numbering *stream.Numbering
	numbers   stream.NumberingUnits // number the objects instead of numbering; nil if they do not
	waiting   *stream.Batch         // records that wait for their numbers; nil if each is numbered at once
	unsettled error                 // why some of those could not be added, until it is returned
	keep      stream.Fields
	kind      stream.ColumnsBuilder // nil for plain objects, and if the details of other kinds were not requested
	tenancy   *tenancy              // nil if requests have no tenants
	// mixedLimit is the limit, if it counts requests of files that are mixed after they were read; 0: none.
	mixedLimit int
	ttls       []int64            // per request; shorter, or nil, until a row has one
	types      []stream.ValueType // per object; shorter, or nil, until a row states one
	lacks      bool               // some row states no size
	flushed    flushes
	labels     *labelling // nil if hits are not counted by labels
	// statesUses says that the options request next uses, and that the file has stated every repeated request so far.
	statesUses bool
}

func newLoader(ctx context.Context, paths []string, opts Options) (*loader, error) {
	s, err := newScan(ctx, paths, opts)
	if err != nil {
		return nil, err
	}
	l := &loader{scan: s, trace: &traces.Trace{}, numbering: stream.NewNumbering()}
	s.begin, s.visit = l.begin, l.add
	return l, cmp.Or(l.beginTenants(), l.beginLabels())
}

func (l *loader) begin(fields stream.Fields) error {
	l.keep = stream.Fields{
		Time: fields.Time && l.opts.WantTimes(fields), Size: fields.Size && l.opts.Sizes, Op: fields.Op && l.opts.Ops,
		Groups: fields.Groups,
	}
	l.keepTTL(fields)
	if numbers, ok := l.units.(stream.NumberingUnits); ok && !l.opts.Keys && l.tenancy == nil && l.opts.Beside == nil {
		l.numbers = numbers
		numbers.NumberOnly()
	}
	if err := l.labels.check(l.paths[0], fields); err != nil {
		return err
	}
	if l.tenancy != nil {
		if err := l.tenancy.check(l, fields); err != nil {
			return err
		}
	}
	if fields.Kind != nil && (l.opts.Kind || l.opts.Embeddings || fields.Kind.Grouped()) {
		l.kind = fields.Kind.NewColumns(fields)
		if sampled, ok := l.kind.(stream.SampledBuilder); ok && l.sampler != nil {
			sampled.Sample(l.sampler.KeepsNumber)
		}
	}
	if l.kind == nil && l.numbers == nil && l.labels == nil && l.tenancy == nil && l.units == nil && l.opts.Beside == nil {
		l.waiting = &stream.Batch{}
	}
	return nil
}

// keepTTL keeps times to live and the times of the requests from a file with these fields on, if it has both.
func (l *loader) keepTTL(fields stream.Fields) {
	if !fields.TTL || l.opts.Ops || l.keep.TTL {
		return
	}
	l.settle()
	if !fields.Time || fields.Counted {
		const unused = "times to live are not used: they need the times of the requests"
		if !slices.Contains(l.trace.Warnings, unused) {
			l.trace.Warnings = append(l.trace.Warnings, unused)
		}
		return
	}
	l.keep.TTL = true
	if !l.keep.Time { // no earlier request has a time to live, so that their times do not matter
		l.keep.Time, l.trace.Times = true, padded(l.trace.Times, len(l.trace.Objects))
	}
}

// finish completes the trace, unless an error ended the reading.
func (l *loader) finish(err error) (*traces.Trace, error) {
	if l.settle(); cmp.Or(err, l.unsettled) != nil {
		return nil, cmp.Or(err, l.unsettled)
	}
	t := l.trace
	t.DropEmptyPart()
	if t.NumObjects = l.numbering.Len(); l.numbers != nil {
		t.NumObjects = l.numbers.Objects()
	}
	// Without the room behind it, where addFile may have left hints.
	t.Objects = t.Objects[:len(t.Objects):len(t.Objects)]
	t.Readings = l.together.List()
	t.Name = traceName(l.paths)
	t.SampleRate = 1
	// Columns that were begun have a value for each request.
	n := len(t.Objects)
	t.Ops, t.Served, l.ttls = filled(t.Ops, n), filled(t.Served, n), filled(l.ttls, n)
	units := len(t.Objects)
	if l.units != nil {
		units = len(t.Groups)
	}
	l.checkNextUses()
	t.Limited = l.opts.Limit > 0 && units == l.opts.Limit
	l.units, l.numbers = nil, nil // of prompts they hold as much as the columns
	if l.kind != nil {
		t.Kind = l.kind.Finish()
		if sized, ok := t.Kind.(stream.Sized); ok && l.keep.Size {
			t.ObjectSizes, t.RequestSizes = sized.ObjectSizes(), nil
		}
		if warner, ok := t.Kind.(stream.Warner); ok {
			t.Warnings = append(t.Warnings, warner.Warnings()...)
		}
	}
	if t.HasSizes() {
		l.completeSizes()
	}
	l.types = nil
	if !l.opts.Sizes && (len(l.opts.ObjectSizes) > 0 || l.opts.ObjectOverhead != "") {
		t.Warnings = append(t.Warnings, "sizes of objects change nothing, since capacities count objects; add --bytes")
	}
	if err := l.checkBytes(); err != nil {
		return nil, err
	}
	if l.sampler != nil {
		t.SampleRate, t.SampledFrom = l.opts.SampleRate, l.counted
		if !l.unsized {
			t.BytesFrom = l.bytes
		}
	}
	if l.wantsKeys() || l.tenancy.byPrefix() {
		t.Keys = l.numbering.AllKeys()
	}
	if l.tenancy != nil {
		if err := l.finishTenants(); err != nil {
			return nil, err
		}
	}
	if t, err = l.applyWrites(); err != nil {
		return nil, err
	}
	l.finishLabels(t)
	t.Warnings = append(t.Warnings, l.clockWarnings()...)
	l.warnOfKeys(t)
	if first := t.Readings[0]; l.sampler == nil {
		if hint := first.Tracked.Hint(first.Format, len(t.Objects), t.NumObjects); hint != "" {
			t.Warnings = append(t.Warnings, hint)
		}
	}
	return t, l.ctx.Err()
}

// checkBytes makes sure that the bytes of all requests, and so every sum of sizes, fit into an int64.
func (l *loader) checkBytes() error {
	t := l.trace
	if !t.HasSizes() {
		return nil
	}
	largest := slices.Max(t.ObjectSizes)
	if t.RequestSizes != nil {
		largest = max(largest, slices.Max(t.RequestSizes))
	}
	if largest <= math.MaxInt64/int64(len(t.Objects)) {
		return nil // no need to look at every request
	}
	var sum int64
	for pos := range t.Objects {
		// No size is negative, so a sum that overflows once turns negative.
		if sum += t.Size(pos); sum < 0 {
			return fmt.Errorf("%s: the sizes of the requests add up to 2^63 bytes or more: want sizes in bytes; --unit-size "+
				"ignores them", l.paths[0])
		}
	}
	return nil
}

func traceName(paths []string) string {
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = filepath.Base(path)
		if path == "-" {
			names[i] = "stdin"
		}
	}
	return traces.NameOf(names)
}

func (l *loader) add(rec *stream.Record) error {
	if rec.Op.Kind() == stream.OpFlush {
		l.settle()
		l.flushed.rows = append(l.flushed.rows, flushRow{len(l.trace.Objects), string(rec.Text)})
		return nil
	}
	if l.waiting != nil {
		if l.waiting.Add(rec) {
			l.settle()
		}
		return l.unsettled
	}
	if err := l.makeRoom(1); err != nil {
		return err
	}
	number, err := l.number(rec)
	if err != nil {
		return err
	}
	return l.addNumbered(rec, number)
}

// settle adds the records that wait for their numbers.
func (l *loader) settle() {
	if l.waiting == nil || l.unsettled != nil {
		return
	}
	if l.unsettled = l.makeRoom(len(l.waiting.Records)); l.unsettled != nil {
		return
	}
	l.waiting.Number(l.numbering)
	if l.numbering.Full {
		l.unsettled = stream.ErrTooManyObjects
		return
	}
	for i, number := range l.waiting.Numbers {
		if l.unsettled = l.addNumbered(&l.waiting.Records[i], number); l.unsettled != nil {
			return
		}
	}
	l.waiting.Clear()
}

// addNumbered adds a request to the object with a number. There is room for it.
func (l *loader) addNumbered(rec *stream.Record, number uint32) error {
	if l.keep.Groups && rec.Begins {
		l.trace.Groups = append(l.trace.Groups, len(l.trace.Objects))
	}
	if l.kind != nil {
		if err := l.kind.Add(rec, number); err == stream.ErrTooManyObjects {
			return err
		} else if err != nil {
			return fmt.Errorf("%s: request %d: %w", traceName(l.paths), l.seen, err)
		}
	}
	if l.tenancy.eachRequest() && (rec.Begins || !l.tenancy.prompts) {
		if err := l.tenancy.column.add(rec.Tenant); err != nil {
			return fmt.Errorf("%s: %w", traceName(l.paths), err)
		}
	}
	l.trace.Objects = append(l.trace.Objects, number)
	if l.keep.Size {
		l.trace.AddSize(number, l.sizeOf(rec))
		l.addType(number, rec.Type)
	}
	if l.keep.Time {
		l.trace.Times = append(l.trace.Times, rec.Time)
	}
	l.addOperation(rec)
	if l.labels != nil {
		l.labels.add(rec, l.keep.Groups)
	}
	return nil
}

// wantsKeys reports whether the keys of the objects are needed to the end.
func (l *loader) wantsKeys() bool { return l.opts.Keys || l.flushed.rows != nil }

// number returns the number of the object of a record, the last one that was read.
func (l *loader) number(rec *stream.Record) (uint32, error) {
	if l.numbers != nil {
		return l.numbers.Number(), nil
	}
	number := l.numbering.OfRecord(rec)
	if l.numbering.Full {
		return 0, stream.ErrTooManyObjects
	}
	return number, nil
}

// addOperation adds what is rare: the operation of the last request, its time to live and what the server found. Each
// column begins with the first request that needs it.
func (l *loader) addOperation(rec *stream.Record) {
	t, pos := l.trace, len(l.trace.Objects)-1
	if rec.Served == stream.ServedPass && rec.Op <= stream.OpRead {
		rec.Op = stream.Lookup
	}
	if l.keep.Op || rec.Op > stream.OpRead {
		t.Ops = put(t.Ops, pos, rec.Op)
	}
	if l.keep.TTL && rec.TTL > 0 {
		l.ttls = put(l.ttls, pos, rec.TTL)
	}
	if rec.Served != stream.ServedUnknown {
		t.Served = put(t.Served, pos, rec.Served)
	}
}

// unchain separates the last request from the row after it, which is left out.
func (l *loader) unchain() {
	l.settle()
	if pos := len(l.trace.Objects) - 1; pos >= 0 && pos == len(l.trace.Ops)-1 {
		l.trace.Ops[pos] &^= stream.WithNext
		if l.trace.Ops[pos].IsLookup() { // it was a source that must be there
			l.trace.Ops[pos] = stream.OpRead
		}
	}
}

// put appends the value of the request at pos to a column, after zeros for earlier requests without one.
func put[T any](column []T, pos int, value T) []T { return append(padded(column, pos), value) }

// padded returns a column with zeros at its end for requests without a value, so that n have one.
func padded[T any](column []T, n int) []T { return append(column, make([]T, max(0, n-len(column)))...) }

// filled is padded for a column that was begun.
func filled[T any](column []T, n int) []T {
	if column == nil {
		return nil
	}
	return padded(column, n)
}

// addFile reads a whole oracleGeneral file, batch by batch.
//
// The next access of a record says where its object is next requested, so its number can be left there, which saves
// looking it up then. It is left in the unused part of the Objects column, plus one, since 0 means nothing was left. It
// is only a hint: the key is compared, and if the hint is missing or wrong the key is looked up as usual. So the
// numbers never depend on that field.
func (l *loader) addFile(r *formats.OracleGeneralReader) error {
	if l.settle(); l.unsettled != nil {
		return l.unsettled
	}
	first := len(l.trace.Objects)
	l.statesUses = l.opts.NextUse && first == 0 && !l.opts.PerFile && l.tenancy == nil
	length := int(min(r.ContentBytes()/formats.OracleGeneralRecord, stream.MaxCount))
	if l.opts.Limit > 0 {
		length = min(length, l.opts.Limit)
	}
	if err := l.reserve(length); err != nil {
		return err
	}
	l.expect(length)
	for {
		if err := l.check(); err != nil {
			return err
		}
		batch, err := r.Records()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := l.addBatch(batch, first); err != nil {
			return err
		}
	}
}

// addBatch adds oracleGeneral records of a file whose first request is at a position of the trace.
func (l *loader) addBatch(batch []byte, first int) error {
	n := len(batch) / formats.OracleGeneralRecord
	if l.opts.Limit > 0 {
		n = min(n, l.opts.Limit-len(l.trace.Objects))
	}
	if err := l.makeRoom(n); err != nil {
		return err
	}
	batch = batch[:n*formats.OracleGeneralRecord]
	l.seen, l.counted, l.kept = l.seen+n, l.counted+n, l.kept+n
	for i := range min(2, n) { // the first and the last time
		seconds, _, _, _ := formats.OracleGeneralFields(batch[i*(len(batch)-formats.OracleGeneralRecord):])
		l.clock.see(int64(seconds) * 1e9)
	}
	l.numberBatch(batch, first)
	if l.numbering.Full {
		return stream.ErrTooManyObjects
	}
	l.addNextUses(batch, first)
	l.addColumns(batch)
	if len(l.trace.Objects) == l.opts.Limit {
		return errLimit
	}
	return nil
}

// numberBatch appends the object numbers of a batch.
func (l *loader) numberBatch(batch []byte, first int) {
	pos := len(l.trace.Objects)
	column := l.trace.Objects[:cap(l.trace.Objects)]
	keys := l.numbering.Keys
	for ; len(batch) >= formats.OracleGeneralRecord; batch = batch[formats.OracleGeneralRecord:] {
		_, key, _, next := formats.OracleGeneralFields(batch)
		// No hint, 0, wraps round to a number that no object has.
		number := column[pos] - 1
		if int(number) >= len(keys) || keys[number] != key {
			number = l.numbering.OfNumber(key)
			l.statesUses = l.statesUses && int(number) >= len(keys)
			keys = l.numbering.Keys
		}
		column[pos] = number
		if again := first + int(next) - 1; again > pos && again < len(column) {
			column[again] = number + 1
		}
		pos++
	}
	l.trace.Objects = column[:pos]
}

// addColumns appends the other columns of a batch after its object numbers.
func (l *loader) addColumns(batch []byte) {
	if !l.keep.Size && !l.keep.Time {
		return
	}
	all := l.trace.Objects
	pos := len(all) - len(batch)/formats.OracleGeneralRecord
	for ; len(batch) >= formats.OracleGeneralRecord; batch = batch[formats.OracleGeneralRecord:] {
		seconds, _, size, _ := formats.OracleGeneralFields(batch)
		pos++
		l.trace.Objects = all[:pos]
		if l.keep.Size {
			l.trace.AddSize(all[pos-1], int64(size))
		}
		if l.keep.Time {
			l.trace.Times = append(l.trace.Times, int64(seconds)*1e9)
		}
	}
}

// Growth of the columns. They begin at firstRoom, and then grow to 1.5 times the size expected from the share of the
// file read so far, because files begin with new keys that compress badly. Each step is by a factor from minGrowth to
// maxGrowth. Room that is never written to costs no memory.
const (
	firstRoom = 1 << 17
	spareRoom = 1.5
	maxGrowth = 256
	minGrowth = 1.25
)

// makeRoom makes sure that n more requests fit into the columns.
func (l *loader) makeRoom(n int) error {
	have := len(l.trace.Objects)
	if have+n <= cap(l.trace.Objects) {
		return nil
	}
	if have+n > stream.MaxCount {
		return stream.ErrTooManyRequests
	}
	estimate := l.estimate()
	if err := l.reserve(max(have+n, int(float64(estimate)/spareRoom))); err != nil {
		return err
	}
	l.expect(max(have+n, firstRoom, estimate))
	return nil
}

// reserve refuses a trace of n requests that exceeds the memory budget. Objects are not counted: their number is not
// known yet.
func (l *loader) reserve(n int) error {
	have := len(l.trace.Objects)
	need := float64(n-have)*l.requestBytes() + float64(n)*l.opts.RequestBytes
	left := float64(l.opts.Memory.Left())
	if l.opts.Memory == nil || need <= left {
		return nil
	}
	var help []string
	if share := spareShare * left / need; share*float64(n) >= leastWorthwhile {
		help = append(help, fmt.Sprintf("--sample %g", roundedDown(share, 1)),
			fmt.Sprintf("--limit %.0f", roundedDown(share*float64(n), 2)))
	}
	what := fmt.Sprintf("%s: its requests, about %s,", traceName(l.paths), memory.Count(float64(n)))
	return l.opts.Memory.Refuse(int64(need), what, help...)
}

// leastWorthwhile is the least number of requests that must fit for a part of the trace to be worth suggesting.
const leastWorthwhile = 1000

// spareShare is the share of the remaining room that the requests of a trace may use, so that its objects have room,
// too.
const spareShare = 0.7

// roundedDown returns x rounded down to its first digits.
func roundedDown(x float64, digits int) float64 {
	unit := math.Pow10(int(math.Floor(math.Log10(x))) + 1 - digits)
	// A product such as 3 x 0.1 has further digits, which the way through text drops.
	down, _ := strconv.ParseFloat(strconv.FormatFloat(math.Floor(x/unit)*unit, 'g', digits, 64), 64)
	return down
}

func (l *loader) requestBytes() float64 {
	bytes := 4.0
	for _, column := range []struct {
		is    bool
		bytes float64
	}{
		{l.keep.Time, 8}, {l.trace.RequestSizes != nil, 8}, {l.keep.Op || l.trace.Ops != nil, 1},
		{l.trace.Served != nil, 1}, {l.keep.TTL, 8}, {l.labels != nil, 3},
		{l.tenancy != nil && !l.tenancy.prompts, tenantBytes}, // a number per prompt is little
	} {
		if column.is {
			bytes += column.bytes
		}
	}
	return bytes
}

// estimate guesses the number of requests of the trace from the share of its files read so far.
func (l *loader) estimate() int {
	have := float64(len(l.trace.Objects))
	guess := have * minGrowth
	if done, total := l.progress(); done > 0 && total > 0 {
		guess = max(guess, min(have*float64(total)/float64(done)*spareRoom, have*maxGrowth))
	}
	if l.opts.Limit > 0 && l.units == nil {
		guess = min(guess, float64(l.opts.Limit))
	}
	return int(min(guess, stream.MaxCount))
}

// expect makes room for n requests in total. Hints that addFile left behind the end of the Objects column stay there.
func (l *loader) expect(n int) {
	t := l.trace
	if n <= cap(t.Objects) {
		return
	}
	before := cap(t.Objects)
	objects := memory.Column[uint32](n)
	copy(objects, t.Objects[:before])
	t.Objects = objects[:len(t.Objects)]
	if l.statesUses {
		t.StatedUses = withRoom(true, t.StatedUses, n)
		// The hints of addFile for which the column was too short before it grew.
		column := t.Objects[:cap(t.Objects)]
		for pos, again := range t.StatedUses {
			if int(again) >= before && int(again) < len(column) {
				column[again] = column[pos] + 1
			}
		}
	}
	t.Times = withRoom(l.keep.Time, t.Times, n)
	t.RequestSizes = withRoom(false, t.RequestSizes, n)
	t.Ops = withRoom(l.keep.Op, t.Ops, n)
	t.Served = withRoom(false, t.Served, n)
	l.ttls = withRoom(false, l.ttls, n)
}

// withRoom returns a column with a capacity of exactly n, if it is wanted or was begun.
func withRoom[T any](wanted bool, column []T, n int) []T {
	if !wanted && column == nil {
		return nil
	}
	return append(memory.Column[T](n)[:0], column...)
}
