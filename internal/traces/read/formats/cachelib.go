package formats

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// The columns that a CacheLib key-value trace must have; the others are optional.
const cacheLibColumns = "op_time,key,key_size,op,op_count,size"

var cacheLibFormat = source.Format{
	Name: "cachelib",
	Options: []params.Param{
		source.OpsOption(),
		{Name: "repeat", Default: false, Doc: "a row stands for op_count requests, as in CacheBench; false: for one"},
		{Name: "size", Default: "key+value", Choices: []string{"key+value", "value"},
			Doc: "size of an object: key_size + size, or size alone; a size of 0, as misses have, means unknown, " +
				"and that of the object's other requests is taken"},
		{Name: "tenant", Default: "", Doc: "column of the tenant, for dividing a cache among tenants, such as usecase or " +
			"sub_usecase; by default none"},
	},
	Writes: stream.WritesFill,
	Detect: source.CertainIf(func(head source.Head) bool {
		if len(head.Lines) == 0 {
			return false
		}
		names := strings.Split(string(head.Lines[0]), ",")
		return slices.Contains(names, "key") && slices.Contains(names, "op") && slices.Contains(names, "op_count") &&
			slices.Contains(names, "size")
	}),
	Open: openCacheLib,
}

// cacheLibReader reads the key-value traces of Berg et al., "The CacheLib Caching Engine", OSDI 2020, in the format of
// CacheBench. It implements Reader.
type cacheLibReader struct {
	rows                                                      source.Rows
	time, key, keySize, op, opCount, value, hits, ttl, tenant int // index of the column, -1 for none
	ops                                                       source.OpFilter
	repeat                                                    bool
	withKey                                                   bool // sizes include the key
	last                                                      stream.Record
	left                                                      uint64 // how many more times last is requested
	leftHits                                                  uint64 // how many of them the server's cache answered
}

func openCacheLib(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	c := &cacheLibReader{
		rows:   source.Rows{Src: src, Delimiter: ','},
		ops:    source.NewOpFilter(opts.Text("ops")),
		repeat: opts.Bool("repeat"), withKey: opts.Text("size") == "key+value",
	}
	if err := c.rows.ReadHeader(); err != nil {
		return nil, stream.Fields{}, err
	}
	for _, col := range []struct {
		index    *int
		name     string
		required bool
	}{
		{&c.time, "op_time", false}, {&c.key, "key", true}, {&c.keySize, "key_size", c.withKey}, {&c.op, "op", true},
		{&c.opCount, "op_count", c.repeat}, {&c.value, "size", true}, {&c.hits, "cache_hits", false},
		{&c.ttl, "ttl", false},
	} {
		*col.index = c.rows.Named(col.name)
		if *col.index < 0 && col.required {
			return nil, stream.Fields{}, src.LineErrorf("no column %s in the header; want %s", col.name, cacheLibColumns)
		}
	}
	var err error
	if c.tenant, err = c.rows.Choose(cmp.Or(opts.Text("tenant"), "none"), nil); err != nil {
		return nil, stream.Fields{}, err
	}
	c.state(opts)
	return c, stream.Fields{Time: c.time >= 0, Size: true, Op: true, TTL: c.ttl >= 0,
		Served: c.hits >= 0 && c.opCount >= 0, Tenant: c.tenant >= 0, SizeMayLack: true}, nil
}

func (c *cacheLibReader) state(opts params.Values) {
	r := c.rows.Src.Reading
	r.Why = "not " + opts.Text("ops")
	if c.time >= 0 {
		r.Time = "time op_time in s"
	}
	if c.hits >= 0 {
		r.Served = "served cache_hits"
	}
	if c.withKey {
		r.Size = "size key_size+size"
	}
	if c.tenant >= 0 {
		r.Tenant = "tenant " + c.rows.DescribeColumn(c.tenant)
	}
}

func (c *cacheLibReader) Read(rec *stream.Record) error {
	for c.left == 0 {
		if err := c.rows.Next(); err != nil {
			return err
		}
		if err := c.parse(); err != nil {
			return c.rows.Src.LineErrorf("%w", err)
		}
		if !c.ops.Has(c.last.Op) {
			c.rows.Src.Reading.LeftOut++
			c.left = 0
		}
	}
	*rec = c.last
	c.left--
	if c.repeat && c.hits >= 0 && rec.Op == stream.OpRead { // the misses of a row come first: they fill the cache
		rec.Served = stream.ServedMiss
		if c.left < c.leftHits {
			rec.Served = stream.ServedHit
		}
	}
	return nil
}

func (c *cacheLibReader) parse() error {
	cells := c.rows.Cells
	key := cells[c.key]
	if len(key) == 0 {
		return fmt.Errorf("the key is empty")
	}
	c.last = stream.Record{}
	c.last.SetKey(key)
	var err error
	if c.time >= 0 {
		if c.last.Time, err = source.ParseTime(cells[c.time], source.TimeUnits["s"]); err != nil {
			return fmt.Errorf("op_time: %w", err)
		}
	}
	if err = c.setSize(); err != nil {
		return err
	}
	var ok bool
	if c.last.Op, ok = source.ParseOp(cells[c.op]); !ok || c.last.Op == stream.OpUnknown {
		return fmt.Errorf("op %.60q: want GET, GET_LEASE, SET, SET_LEASE or DELETE", cells[c.op])
	}
	if c.ttl >= 0 {
		if c.last.TTL, err = source.ParseTTL(cells[c.ttl], source.TimeUnits["s"]); err != nil {
			return err
		}
	}
	if c.tenant >= 0 {
		c.last.Tenant = cells[c.tenant]
	}
	return c.count()
}

// count reads how many requests the row stands for, and how many of them were hits.
func (c *cacheLibReader) count() error {
	c.left, c.leftHits = 1, 0
	if c.opCount < 0 || !c.repeat && c.hits < 0 {
		return nil
	}
	number := func(column int, least uint64) (uint64, error) {
		n, ok := source.ParseDigits(c.rows.Cells[column])
		if !ok || n < least || n > source.MaxRun {
			return 0, fmt.Errorf("%s %.60q: want a whole number from %d to %d", c.rows.Header[column],
				c.rows.Cells[column], least, source.MaxRun)
		}
		return n, nil
	}
	all, err := number(c.opCount, 1)
	if err == nil && c.hits >= 0 {
		c.leftHits, err = number(c.hits, 0)
	}
	if err != nil {
		return err
	}
	switch {
	case c.repeat:
		c.left = all
	case c.last.Op != stream.OpRead:
	case c.leftHits >= all:
		c.last.Served = stream.ServedHit
	case c.leftHits == 0:
		c.last.Served = stream.ServedMiss
	}
	return nil
}

// setSize sets the size of the current row's object in a cache. A size of 0, as of a GET that missed in production, is
// one that the trace does not state.
func (c *cacheLibReader) setSize() (err error) {
	if err = source.SetSize(&c.last, c.rows.Cells[c.value]); err != nil {
		return err
	}
	c.last.SizeUnknown = c.last.Size == 0
	if c.withKey {
		if c.last.KeySize, err = source.ParseSize(c.rows.Cells[c.keySize]); err != nil {
			return fmt.Errorf("key_size: %w", err)
		}
	}
	return nil
}
