package servers

// redisMemory says what Redis and Valkey take for an item and for their table of items, in bytes. Checked to the byte
// against used_memory of Redis 7.0.15, and within 11 bytes an item against Valkey 8.1.1; 8.2's is from its source.
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
	// together: the key is in the object, which a bucket of 7 refers to (Valkey 8.1 and newer: object.c, hashtable.c).
	together
	// keyed: the key is in the object, which the table or a chain refers to (Redis 8.2 and newer: object.h, kvobj).
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
	// chained is what chains of Redis 8.2 take for each item. An entry of 16 bytes is needed where a slot has an item
	// already: for 30% of them, in the mean of a table that is half to entirely full.
	chained = 5
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
	if m.layout == apart {
		bytes = m.block(dictEntry) + m.block(sds(key))
		switch {
		case integer:
			bytes += m.block(objectHeader)
		case value <= embeddedValue:
			bytes += m.block(objectHeader + 3 + value + 1)
		default:
			bytes += m.block(objectHeader) + m.block(sds(value))
		}
		if ttl {
			bytes += m.block(dictEntry)
		}
		return bytes
	}
	object := objectHeader + 1 + sds(key)
	if ttl || m.layout == together && key >= 128 {
		object += 8
	}
	switch {
	case integer:
		return m.block(object)
	case object+4+value <= embedded:
		return m.block(object + 4 + value)
	}
	bytes = m.block(object) + m.block(sds(value))
	if m.layout == keyed {
		bytes += chained
	}
	return bytes
}

// table is a hash table that doubles. Its unit is a slot, or a bucket of 7.
type table struct {
	units, bytes, per int64
	patience          float64 // items per place from which it grows whatever the memory
}

func (m *redisMemory) newTable() table {
	if m.layout == together {
		return table{units: 4, bytes: bucketBytes, per: perBucket, patience: 5}
	}
	return table{units: 4, bytes: slotBytes, per: 1, patience: 1.618}
}

// grow doubles the table if it is full, and if that leaves the memory below its limit or nothing else helps. It returns
// the bytes that are added.
func (t *table) grow(items, used, limit int64) int64 {
	places := t.units * t.per
	if items <= places {
		return 0
	}
	larger := 2 * t.units * t.bytes
	if used+larger > limit && float64(items) <= float64(places)*t.patience {
		return 0
	}
	added := t.units * t.bytes
	t.units *= 2
	return added
}
