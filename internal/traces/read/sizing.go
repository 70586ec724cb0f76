package read

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/sizes"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// sizing is what is known about sizes beside what files state.
type sizing struct {
	rules    sizes.Rules
	overhead int64
	stated   bool   // the user states the overhead
	of       string // the first file whose format has this overhead
	// all says that the files state no sizes, and the rules do.
	all      bool
	withKeys bool // some sizes include those of keys
}

// CheckSizes refuses values of Selection.ObjectSizes and Selection.ObjectOverhead that cannot be read.
func CheckSizes(objectSizes []string, overhead string) error {
	_, err := parseSizing(objectSizes, overhead)
	return err
}

func parseSizing(objectSizes []string, overhead string) (s sizing, err error) {
	if s.rules, err = sizes.Parse(objectSizes); err != nil {
		return s, fmt.Errorf("object-size: %w", err)
	}
	if s.stated = overhead != ""; s.stated {
		if s.overhead, err = sizes.ParseBytes(overhead); err != nil {
			return s, fmt.Errorf("object-overhead: %w", err)
		}
	}
	return s, nil
}

// newSizing reads what the options say.
func newSizing(opts Options) (s sizing, err error) {
	if s, err = parseSizing(opts.ObjectSizes, opts.ObjectOverhead); err == nil && opts.Sizes {
		in := &source.File{Label: "object sizes", Find: opts.Find, Budget: opts.Memory}
		err = s.rules.Read(in)
	}
	return s, err
}

// agreeOnOverhead makes sure that files leave no doubt about what objects take beside their sizes.
func (s *scan) agreeOnOverhead(path string, overhead int64) error {
	z := &s.sizing
	switch {
	case !s.opts.Sizes || z.stated:
		return nil
	case z.of == "":
		z.overhead, z.of = overhead, path
		return nil
	case overhead != z.overhead:
		return fmt.Errorf("%s and %s: objects have %d B of overhead in the one and %d B in the other; set it with "+
			"--object-overhead (in an experiment object-overhead: ...)", z.of, path,
			z.overhead, overhead)
	}
	return nil
}

// checkSizing refuses sizes of objects that a file with these fields has no place for. If the file states no sizes, the
// rules do.
func (s *scan) checkSizing(path string, fields *stream.Fields) error {
	z := &s.sizing
	switch {
	case !s.opts.Sizes || len(z.rules) == 0 && !z.stated:
	case source.IsGrouped(fields.Kind):
		return fmt.Errorf("%s: has %s, and their blocks have no sizes; remove --object-size and --object-overhead, and add "+
			"--kv for bytes", path, fields.Kind.Name())
	case fields.Size:
	case len(z.rules) == 0:
		return fmt.Errorf("%s: has no sizes to add --object-overhead to; add sizes, such as --object-size 475B", path)
	default:
		z.all, fields.Size, fields.SizeMayLack = true, true, true
	}
	return nil
}

// finishSize makes the size of a record that of the whole object, unless it is unknown.
func (s *scan) finishSize(rec *stream.Record) {
	if rec.SizeUnknown = rec.SizeUnknown || s.sizing.all; !rec.SizeUnknown && s.fields.Size {
		rec.Size += rec.KeySize + s.sizing.overhead
		rec.KeySize = 0
	}
}

// addBytes adds the bytes of a request that belongs to hits and misses, whether a sample keeps it or not.
func (s *scan) addBytes(rec *stream.Record) {
	switch {
	case s.sampler == nil || !s.opts.Sizes:
	case rec.SizeUnknown || s.sizing.all || !s.fields.Size:
		s.unsized = true
	default:
		s.bytes += rec.Size + rec.KeySize + s.sizing.overhead
	}
}

// sizeOf returns the size of a record for the columns: -1 minus the bytes of its key if it is unknown.
func (l *loader) sizeOf(rec *stream.Record) int64 {
	l.sizing.withKeys = l.sizing.withKeys || rec.KeySize > 0
	if rec.SizeUnknown || l.sizing.all {
		l.lacks = true
		return -1 - rec.KeySize
	}
	return rec.Size + rec.KeySize
}

// addType keeps the type of the last request's object, if its size may be wanted.
func (l *loader) addType(number uint32, of stream.ValueType) {
	if of == stream.ValueUnknown {
		return
	}
	l.types = padded(l.types, int(number)+1)
	l.types[number] = of
}

// completeSizes gives each request a size, and adds the overhead. A missing size is the object's previous or else next
// one. An object without any size gets that of the rules, or else the mean of similar objects. Without it, a replay by
// bytes would lack these requests. It needs 16 bytes per object, and a few for each pattern of keys.
func (l *loader) completeSizes() {
	t := l.trace
	s := &traces.Sizing{Overhead: l.sizing.overhead}
	t.KeysInSizes = l.sizing.withKeys
	if l.lacks {
		if !l.knowSizes(s) {
			t.ObjectSizes, t.RequestSizes = nil, nil
			t.Warnings = append(t.Warnings, "no size of an object is known: give sizes with --object-size, such as "+
				"--object-size 475B or --object-size @FILE")
			return
		}
	}
	if s.Overhead > 0 {
		for o := range t.ObjectSizes {
			t.ObjectSizes[o] += s.Overhead
		}
		for pos := range t.RequestSizes {
			t.RequestSizes[pos] += s.Overhead
		}
	}
	if t.Sizing = s; s.Imputed().Requests == 0 && s.Given().Requests == 0 && s.Overhead == 0 && !l.sizing.stated {
		t.Sizing = nil
	}
	if text := t.Sizing.Text(); text != "" {
		t.Warnings = append(t.Warnings, text)
	}
	for _, rule := range l.sizing.rules.Unused() {
		t.Warnings = append(t.Warnings, fmt.Sprintf("--object-size %s is not used: no object that lacks a size matches it",
			rule))
	}
}

// knowSizes replaces the sizes that are negative because they are unknown; false if none is known.
func (l *loader) knowSizes(s *traces.Sizing) bool {
	t := l.trace
	// First each object's first size, and the sum of its sizes, which its mean follows from.
	first := slices.Clone(t.ObjectSizes)
	sums, counts := make([]float64, t.NumObjects), make([]uint32, t.NumObjects)
	for pos, o := range t.Objects {
		if size := t.Size(pos); size >= 0 {
			if first[o] < 0 {
				first[o] = size
			}
			sums[o] += float64(size)
			counts[o]++
		}
	}
	origins := l.impute(first, sums, counts)
	if slices.Contains(origins, traces.SizeUnknown) {
		return false
	}
	last := first // from here on the last size
	copy(t.ObjectSizes, first)
	carried, changes := 0, false
	for pos, o := range t.Objects {
		if t.RequestSizes == nil {
			break
		}
		size := &t.RequestSizes[pos]
		if *size < 0 {
			if *size = last[o]; origins[o] == traces.SizeStated {
				carried++
			}
		}
		last[o] = *size
		changes = changes || *size != t.ObjectSizes[o]
	}
	if !changes {
		t.RequestSizes = nil
	}
	if carried > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%s of %s rows state no size: they have their object's last or next one",
			stream.Thousands(carried), stream.Thousands(len(t.Objects))))
	}
	l.countSizes(s, origins)
	return true
}

// impute fills in the first sizes of objects that have none, and returns where those of each object come from.
func (l *loader) impute(first []int64, sums []float64, counts []uint32) []traces.SizeOrigin {
	z := &l.sizing
	origins := make([]traces.SizeOrigin, len(first))
	means := sizes.NewMeans()
	var key []byte
	for o, n := range counts {
		key = l.numbering.AppendKey(key[:0], uint32(o))
		of := l.typeOf(o)
		if n > 0 {
			means.Add(key, of, sums[o]/float64(n))
			continue
		}
		origins[o] = traces.SizeUnknown
		if size, ok := z.rules.Of(key, of); ok {
			first[o], origins[o] = z.sizeIn(size, -1-first[o]), traces.SizeGiven
		}
	}
	z.rules.Each(func(key []byte, size sizes.Size) {
		means.Add(key, stream.ValueUnknown, float64(z.sizeIn(size, 0)))
	})
	for o := range first {
		if origins[o] == traces.SizeUnknown {
			key = l.numbering.AppendKey(key[:0], uint32(o))
			first[o], origins[o] = means.Of(key, l.typeOf(o))
		}
	}
	return origins
}

// sizeIn returns a size that was given as those in the columns are: with the key, without the overhead. It is negative
// if an object as a whole takes less than that: Redis needs 48 bytes for a short key with a number.
func (z *sizing) sizeIn(size sizes.Size, key int64) int64 {
	if size.Whole {
		return size.Bytes - z.overhead
	}
	return size.Bytes + key
}

func (l *loader) typeOf(object int) stream.ValueType {
	if object < len(l.types) {
		return l.types[object]
	}
	return stream.ValueUnknown
}

// countSizes counts objects, requests and bytes by where their sizes come from. Rows that are no requests do not count.
func (l *loader) countSizes(s *traces.Sizing, origins []traces.SizeOrigin) {
	t := l.trace
	seen := make([]bool, t.NumObjects)
	for pos, o := range t.Objects {
		if t.Ops != nil && !l.opts.Ops && !l.writes.Requests(t.Ops[pos]) {
			continue
		}
		s.Requests[origins[o]]++
		if !seen[o] {
			seen[o] = true
			s.Objects[origins[o]]++
			s.Bytes[origins[o]] += float64(t.ObjectSizes[o] + s.Overhead)
		}
	}
}
