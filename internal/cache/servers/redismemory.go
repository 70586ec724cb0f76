package servers

import (
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
)

// redisMemory says what Redis and Valkey take for an item and for their tables, in bytes. Checked to the byte against
// used_memory of Redis 7.0.15 and 8.2.3 and of Valkey 9.1.2, and within 11 bytes an item against Valkey 8.1.1.
type redisMemory struct {
	jemalloc
	layout redisLayout
	base   int64 // of the empty server with a client
}

// redisLayout is how an item lies in memory.
type redisLayout int

const (
	// apart: an entry of the table, a key, an object, and a value in it or beside it (Redis 7.0 to 8.0: object.c, sds.c,
	// dict.c, db.c).
	apart redisLayout = iota
	// valkey81: the key is in the object, and so is a short value; a bucket of 7 refers to it (Valkey 8.1: object.c,
	// hashtable.c).
	valkey81
	// valkey90 counts the header of a key of 32 bytes or more before it lets a value in.
	valkey90
	// valkey91: objects with their values inside have no pointer, and may have 128 bytes.
	valkey91
	// keyed: as valkey81, but the table or a chain refers to the object (Redis 8.2 and newer: object.c, dict.c).
	keyed
)

// Sizes of parts, in bytes.
const (
	objectHeader = 16
	dictEntry    = 24
	slotBytes    = 8
	bucketBytes  = 64
	perBucket    = 7
	// embedded is how long an object with its value may be in the layouts with keys inside, embeddedValue a value in the
	// other one.
	embedded      = 64
	embeddedValue = 44
	// pointerBytes is what an object without a pointer saves, embedded91 how long it may be.
	pointerBytes = 8
	embedded91   = 128
	// chainEntry is what an item of Redis 8.2 takes in a slot that has one already.
	chainEntry = 16
	// mostDigits is how long a value may be that is kept as an integer.
	mostDigits = 20
)

// sds returns the bytes of a string of Redis with its header and its end.
func sds(n int64) int64 {
	switch {
	case n > 0 && n < 32:
		return n + 2
	case n < 256:
		return n + 4
	case n < 1<<16:
		return n + 6
	}
	return n + 10
}

// item returns the bytes of a string item.
func (m *redisMemory) item(key, value int64, ttl, integer bool) (bytes int64) {
	integer = integer && value <= mostDigits
	if m.layout != apart {
		return m.object(key, value, ttl, integer)
	}
	bytes = m.block(dictEntry) + m.block(sds(key))
	if integer {
		bytes += m.block(objectHeader)
	} else {
		bytes += m.text(value)
	}
	if ttl {
		bytes += m.block(dictEntry)
	}
	return bytes
}

// object returns the bytes of an item whose key is inside its object.
func (m *redisMemory) object(key, value int64, ttl, integer bool) int64 {
	const end = 8 // of a time to live
	bytes, short := objectHeader+1+sds(key), objectHeader+3+key
	if ttl {
		bytes += end
		short += end
	}
	inside := value + 4
	switch {
	case integer:
	case m.layout == valkey91 && bytes-pointerBytes+inside <= embedded91:
		return m.block(bytes - pointerBytes + max(inside, pointerBytes))
	case m.layout == valkey90 && bytes+inside <= embedded,
		(m.layout == valkey81 || m.layout == keyed) && short+inside <= embedded:
		return m.block(bytes + inside)
	}
	if !ttl && key >= 128 {
		bytes += end
	}
	if integer {
		return m.block(bytes)
	}
	return m.block(bytes) + m.block(sds(value))
}

// table is a hash table that doubles. Its unit is a slot, or a bucket of 7.
type table struct {
	units, bytes, per int64
	patience          float64 // items per place from which it grows whatever the memory
	// used are the items of each unit, where chains take memory. A chain of buckets has six items and the next bucket in
	// each but the last.
	used []uint8
	more int64 // what chains take
}

func (m *redisMemory) newTable() table {
	const units = 4
	switch m.layout {
	case apart:
		return table{units: units, bytes: slotBytes, per: 1, patience: 1.618}
	case keyed:
		return table{units: units, bytes: slotBytes, per: 1, patience: 1.618, used: make([]uint8, units)}
	}
	return table{units: units, bytes: bucketBytes, per: perBucket, patience: 5, used: make([]uint8, units)}
}

// size returns the bytes of the table with its chains.
func (t *table) size() int64 { return t.units*t.bytes + t.more }

// chain returns the bytes of the chain of a unit with so many items.
func (t *table) chain(items uint8) int64 {
	n := int64(items) - t.per
	switch {
	case n <= 0:
		return 0
	case t.per == 1:
		return n * chainEntry
	}
	return (n + perBucket - 2) / (perBucket - 1) * bucketBytes
}

// count counts an item that comes, or one that goes, and returns the bytes that chains take more.
func (t *table) count(o policies.Object, by int) int64 {
	if t.used == nil {
		return 0
	}
	return t.chained(o, by)
}

func (t *table) chained(o policies.Object, by int) (added int64) {
	n := &t.used[random.Scramble(uint64(o))&uint64(len(t.used)-1)]
	if t.per == 1 { // the common case, without branches that depend on the slot
		fewer := min(*n, uint8(int(*n)+by))
		*n = uint8(int(*n) + by)
		added = int64(min(fewer, 1)) * int64(by) * chainEntry
		t.more += added
		return added
	}
	before := t.chain(*n)
	*n = uint8(int(*n) + by)
	added = t.chain(*n) - before
	t.more += added
	return added
}

// grow doubles the table if it is full, and if that leaves the memory below its limit or nothing else helps. It returns
// the bytes that are added, which chains may make fewer than none.
func (t *table) grow(items []policies.Object, used, limit int64) int64 {
	n, places := int64(len(items)), t.units*t.per
	if n <= places {
		return 0
	}
	larger := 2 * t.units * t.bytes
	if used+larger > limit && float64(n) <= float64(places)*t.patience {
		return 0
	}
	before := t.size()
	t.units *= 2
	if t.used != nil {
		t.used, t.more = make([]uint8, t.units), 0
		for _, o := range items {
			t.count(o, 1)
		}
	}
	return t.size() - before
}
