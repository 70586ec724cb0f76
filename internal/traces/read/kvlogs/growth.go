package kvlogs

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/sizes"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Bytes that Redis keeps for data without a size in the command.
const (
	numberBytes   = 8     // of a counter or of a score
	entryBytes    = 16    // of the id of an entry of a stream
	sketchBytes   = 3     // of an element of a small HyperLogLog
	largestSketch = 12304 // of a HyperLogLog
)

// growth estimates how large values are that commands change bit by bit: hashes, lists, sets, streams, and strings that
// APPEND, SETRANGE and others extend. A value is the sum of its elements, or of a hash's fields and values, that were
// added and not removed. An estimate may be too low, because the log does not show earlier contents, except for keys
// that it sets or deletes first.
type growth struct {
	seed   maphash.Seed
	values map[uint64]*value // all but strings, by the hashes of their keys
	parts  *sizes.Table      // of strings their bytes, and of the values their elements; plus one, 0 if removed
	most   int64             // bytes of parts
	made   int64             // values so far
	now    int64
	text   []byte
}

// value is a value that has elements.
type value struct {
	size, count int64
	number      int64 // of no other value, earlier ones of the same key among them
	end         int64 // of its time to live; 0: none
}

func newGrowth(src *source.Source) *growth {
	most := src.In.Budget.Part(sizes.Share, sizes.Most)
	return &growth{seed: maphash.MakeSeed(), values: map[uint64]*value{}, parts: sizes.NewTable(most), most: most}
}

// changes are the commands that change the value of their first key, with the words behind it.
var changes = byName(map[string]func(g *growth, v *value, args [][]byte){
	"hset hmset hsetnx": (*growth).putPairs,
	"hsetex":            func(g *growth, v *value, args [][]byte) { g.putPairs(v, behindFields(args)) },
	"hincrby hincrbyfloat": func(g *growth, v *value, args [][]byte) {
		if len(args) > 0 {
			g.put(v, args[0], length(args[0])+numberBytes)
		}
	},
	"hdel srem zrem": (*growth).remove,
	"hgetdel":        func(g *growth, v *value, args [][]byte) { g.remove(v, behindFields(args)) },

	"lpush rpush lpushx rpushx": push(0), "json.arrappend": push(1), "linsert json.arrinsert": push(2),
	"lpop rpop spop zpopmin zpopmax": pop(func(args [][]byte) int64 { return countIn(args, 0, 1) }),
	"lrem":                           pop(func(args [][]byte) int64 { return max(1, countIn(args, 0, 1)) }),
	"zremrangebyrank":                pop(rangeOf),
	"xdel":                           pop(func(args [][]byte) int64 { return int64(len(args)) }),
	"ltrim":                          func(_ *growth, v *value, args [][]byte) { v.keep(rangeOf(args)) },
	"xtrim": func(_ *growth, v *value, args [][]byte) {
		most, _ := streamEntry(args)
		v.keep(most)
	},

	"sadd": func(g *growth, v *value, args [][]byte) {
		for _, member := range args {
			g.put(v, member, length(member))
		}
	},
	"zadd": putScored(2), "geoadd": putScored(3),
	"zincrby": func(g *growth, v *value, args [][]byte) {
		if len(args) == 2 {
			g.put(v, args[1], numberBytes+length(args[1]))
		}
	},
	"xadd": func(_ *growth, v *value, args [][]byte) {
		most, entry := streamEntry(args)
		v.count++
		for v.size += entryBytes; len(entry) > 0; entry = entry[1:] {
			v.size += length(entry[0])
		}
		v.keep(most)
	},
	"json.set json.merge": func(g *growth, v *value, args [][]byte) {
		switch {
		case len(args) < 2:
		case string(args[0]) == "$" || string(args[0]) == ".":
			*v = value{size: length(args[1]), count: 1, number: g.newNumber(), end: v.end}
		default:
			g.put(v, args[0], length(args[1]))
		}
	},
})

// push adds the words from one on as elements.
func push(from int) func(*growth, *value, [][]byte) {
	return func(_ *growth, v *value, args [][]byte) {
		for _, element := range args[min(from, len(args)):] {
			v.size, v.count = v.size+length(element), v.count+1
		}
	}
}

// pop takes as many elements away as the words say.
func pop(count func(args [][]byte) int64) func(*growth, *value, [][]byte) {
	return func(_ *growth, v *value, args [][]byte) { v.pop(count(args)) }
}

// putScored adds members, each the last of so many words, behind its score or its place.
func putScored(words int) func(*growth, *value, [][]byte) {
	return func(g *growth, v *value, args [][]byte) {
		for args = behindOptions(args); len(args) >= words; args = args[words:] {
			member := args[words-1]
			g.put(v, member, numberBytes+length(member))
		}
	}
}

// extensions are the commands that change a string, given its length (0 if it is new, or not known) and the words
// behind the key. They return the new length.
var extensions = byName(map[string]func(size int64, args [][]byte) int64{
	"set setnx getset":     func(_ int64, args [][]byte) int64 { return lengthAt(args, 0) },
	"setex psetex restore": func(_ int64, args [][]byte) int64 { return lengthAt(args, 1) },
	"append":               func(size int64, args [][]byte) int64 { return size + lengthAt(args, 0) },
	"setrange": func(size int64, args [][]byte) int64 {
		return max(size, countIn(args, 0, 0)+lengthAt(args, 1))
	},
	"setbit": func(size int64, args [][]byte) int64 { return max(size, countIn(args, 0, 0)/8+1) },
	"incr incrby incrbyfloat decr decrby": func(size int64, _ [][]byte) int64 {
		return cmp.Or(size, numberBytes)
	},
	"pfadd": func(size int64, args [][]byte) int64 {
		return min(max(size, entryBytes)+sketchBytes*int64(len(args)), largestSketch)
	},
})

// valueTypes are the types of values that commands work on. Others work on any type.
var valueTypes = byName(map[string]stream.ValueType{
	"get getrange substr strlen getbit bitcount bitpos bitfield_ro lcs mget append incr incrby incrbyfloat decr decrby " +
		"setbit setrange bitfield set setnx getset setex psetex mset msetnx msetex getex getdel delex digest " +
		"pfadd pfcount pfmerge bitop": stream.ValueString,
	"hget hmget hgetall hexists hkeys hvals hlen hstrlen hrandfield hscan hset hmset hsetnx hdel hincrby hincrbyfloat " +
		"hsetex hgetdel hgetex hexpire hpexpire hexpireat hpexpireat hpersist httl hpttl hexpiretime " +
		"hpexpiretime": stream.ValueHash,
	"lindex llen lrange lpos linsert lpop lpush lpushx lrem lset ltrim rpop rpush rpushx blpop brpop lmpop blmpop lmove " +
		"blmove rpoplpush brpoplpush": stream.ValueList,
	"scard sismember smismember smembers srandmember sscan sdiff sinter sunion sintercard sadd spop srem smove " +
		"sdiffstore sinterstore sunionstore": stream.ValueSet,
	"zcard zcount zlexcount zmscore zrandmember zrange zrangebylex zrangebyscore zrank zrevrange zrevrangebylex " +
		"zrevrangebyscore zrevrank zscan zscore zdiff zinter zintercard zunion zadd zincrby zpopmax zpopmin zrem " +
		"zremrangebylex zremrangebyrank zremrangebyscore bzpopmin bzpopmax zmpop bzmpop zrangestore zdiffstore " +
		"zinterstore zunionstore geodist geohash geopos georadius_ro georadiusbymember_ro geosearch geoadd georadius " +
		"georadiusbymember geosearchstore": stream.ValueSortedSet,
	"xlen xpending xrange xrevrange xread xreadgroup xack xackdel xadd xautoclaim xclaim xdel xdelex xgroup xsetid " +
		"xtrim": stream.ValueStream,
	"json.get json.type json.objkeys json.objlen json.arrlen json.arrindex json.strlen json.mget json.mset json.set " +
		"json.merge json.numincrby json.nummultby json.arrappend json.arrinsert json.arrpop json.arrtrim json.toggle " +
		"json.strappend json.clear json.del json.forget json.resp": stream.ValueJSON,
})

// follow sets the sizes and types of what a command accesses, given the words behind its name.
func (g *growth) follow(name string, args [][]byte, accesses []access, now int64) {
	g.now = max(g.now, now)
	if name == "flushall" || name == "flushdb" {
		clear(g.values)
		g.parts = sizes.NewTable(g.most)
		return
	}
	of := valueTypes[name]
	for i := range accesses {
		accesses[i].of = of
	}
	if len(accesses) == 0 || len(args) == 0 {
		return
	}
	key := accesses[0].key
	change, extend := changes[name], extensions[name]
	switch {
	case change != nil:
		if v := g.find(key, !removes(name)); v != nil {
			change(g, v, args[1:])
			g.state(key, v, accesses[:1])
		}
	case extend != nil:
		if accesses[0].op.Condition() == stream.IfAbsent && g.knows(key) {
			break
		}
		size := extend(g.stringOf(key), args[1:])
		g.assign(key, size)
		for i := range accesses {
			accesses[i].size, accesses[i].stated = size, accesses[i].op.Writes()
		}
	case name == "mset" || name == "msetnx" || name == "msetex":
		first := 1
		if name == "msetex" { // behind the number of keys
			first++
		}
		for i := range accesses {
			if at := 2*i + first; at < len(args) {
				size := length(args[at])
				g.assign(accesses[i].key, size)
				accesses[i].size, accesses[i].stated = size, true
			}
		}
	case len(accesses) == 2:
		g.between(name, accesses, args)
	case len(accesses) == 1 && (name == "blpop" || name == "brpop" || name == "bzpopmin" || name == "bzpopmax"):
		if v := g.find(key, false); v != nil {
			v.pop(1)
			g.state(key, v, accesses)
		}
	}
	g.live(name, accesses)
}

// between follows commands that take something from one key to another: all of it, or an element.
func (g *growth) between(name string, accesses []access, args [][]byte) {
	from, to := accesses[0].key, accesses[1].key
	v := g.find(from, false)
	switch name {
	case "copy", "rename", "renamenx":
		if text := g.stringOf(from); v == nil && text > 0 {
			g.assign(to, text)
			accesses[1].size, accesses[1].stated = text, true
		} else if v != nil {
			copied := *v
			copied.number = g.newNumber()
			g.values[g.hash(to)] = &copied
			g.state(to, &copied, accesses[1:])
		}
	case "lmove", "blmove", "rpoplpush", "brpoplpush":
		if v == nil || v.count == 0 {
			return
		}
		moved := v.size / v.count
		v.pop(1)
		other := g.find(to, true)
		other.size, other.count = other.size+moved, other.count+1
		g.state(from, v, accesses[:1])
		g.state(to, other, accesses[1:])
	case "smove":
		if len(args) != 3 {
			return
		}
		if v != nil {
			g.remove(v, args[2:])
			g.state(from, v, accesses[:1])
		}
		other := g.find(to, true)
		g.put(other, args[2], length(args[2]))
		g.state(to, other, accesses[1:])
	}
}

// live follows deletions and times to live.
func (g *growth) live(name string, accesses []access) {
	for _, a := range accesses {
		switch v := g.values[g.hash(a.key)]; {
		case a.op.Kind() == remove:
			g.forget(a.key)
		case v != nil && a.ttl > 0:
			v.end = g.now + a.ttl
		case v != nil && name == "persist":
			v.end = 0
		}
	}
}

// removes reports whether a command only takes elements away, so that a key that was not seen stays unknown.
func removes(name string) bool {
	return strings.Contains(name, "rem") || strings.Contains(name, "pop") || strings.Contains(name, "trim") ||
		strings.HasSuffix(name, "del") || strings.HasSuffix(name, "pushx")
}

// state gives accesses to a key the size of its value, unless nothing of it is known any more.
func (g *growth) state(key []byte, v *value, accesses []access) {
	if v.count <= 0 || v.size <= 0 {
		delete(g.values, g.hash(key))
		return
	}
	for i := range accesses {
		accesses[i].size, accesses[i].stated = v.size, true
	}
}

func (g *growth) hash(key []byte) uint64 { return maphash.Bytes(g.seed, key) }

// find returns the value of a key; nil if it is not known and is not to be made.
func (g *growth) find(key []byte, make bool) *value {
	hash := g.hash(key)
	v := g.values[hash]
	if v != nil && v.end > 0 && v.end <= g.now {
		delete(g.values, hash)
		v = nil
	}
	if v == nil && make {
		v = &value{number: g.newNumber()}
		g.values[hash] = v
	}
	return v
}

func (g *growth) newNumber() int64 {
	g.made++
	return g.made
}

// forget drops the value of a key.
func (g *growth) forget(key []byte) {
	delete(g.values, g.hash(key))
	if name := g.stringName(key); g.partOf(name) >= 0 {
		g.parts.Set(name, 0)
	}
}

// knows reports whether the log has stored a value under the key.
func (g *growth) knows(key []byte) bool {
	return g.find(key, false) != nil || g.partOf(g.stringName(key)) >= 0
}

// assign makes the value of a key a string.
func (g *growth) assign(key []byte, size int64) {
	delete(g.values, g.hash(key))
	g.parts.Set(g.stringName(key), size+1)
}

// stringOf returns the bytes of a string, 0 if it is not known.
func (g *growth) stringOf(key []byte) int64 { return max(0, g.partOf(g.stringName(key))) }

// stringName names a string in parts, where no element has that name.
func (g *growth) stringName(key []byte) []byte { return g.elementName(&value{}, key) }

func (g *growth) elementName(v *value, element []byte) []byte {
	g.text = append(binary.BigEndian.AppendUint64(g.text[:0], uint64(v.number)), element...)
	return g.text
}

// partOf returns the bytes of a string or element, -1 if it is not known.
func (g *growth) partOf(name []byte) int64 {
	size, _ := g.parts.Of(name)
	return size - 1
}

// put adds an element that has a name, or replaces it.
func (g *growth) put(v *value, element []byte, size int64) {
	name := g.elementName(v, element)
	before := g.partOf(name)
	g.parts.Set(name, size+1)
	if before < 0 {
		v.count++
	}
	v.size += size - max(0, before)
}

// putPairs adds fields and their values.
func (g *growth) putPairs(v *value, args [][]byte) {
	for ; len(args) >= 2; args = args[2:] {
		g.put(v, args[0], length(args[0])+length(args[1]))
	}
}

// remove takes elements away that have names.
func (g *growth) remove(v *value, elements [][]byte) {
	for _, element := range elements {
		name := g.elementName(v, element)
		if before := g.partOf(name); before >= 0 {
			g.parts.Set(name, 0)
			v.size, v.count = v.size-before, v.count-1
		}
	}
}

// pop removes as many elements of the mean size.
func (v *value) pop(n int64) {
	if n >= v.count {
		v.size, v.count = 0, 0
	} else if n > 0 {
		v.size -= int64(float64(v.size) / float64(v.count) * float64(n))
		v.count -= n
	}
}

// keep leaves at most n elements; below 0, it is not known how many.
func (v *value) keep(n int64) {
	if n >= 0 {
		v.pop(v.count - n)
	}
}

// lengthAt returns the bytes of a word, 0 if it is absent.
func lengthAt(args [][]byte, i int) int64 {
	if i >= len(args) {
		return 0
	}
	return length(args[i])
}

// countIn returns the number that a word is, or another one if it is absent or none. A sign is dropped.
func countIn(args [][]byte, i int, otherwise int64) int64 {
	if i < len(args) {
		if n, ok := source.ParseDigits(bytes.TrimPrefix(args[i], []byte("-"))); ok && n <= source.MaxSize {
			return int64(n)
		}
	}
	return otherwise
}

// rangeOf returns how many elements are from one index to another; -1 if that depends on how many there are.
func rangeOf(args [][]byte) int64 {
	if len(args) != 2 || bytes.HasPrefix(args[0], []byte("-")) != bytes.HasPrefix(args[1], []byte("-")) {
		return -1
	}
	from, to := countIn(args, 0, 0), countIn(args, 1, 0)
	if args[0][0] == '-' {
		from, to = to, from
	}
	return max(0, to-from+1)
}

// behindFields returns the words behind FIELDS and their number.
func behindFields(args [][]byte) [][]byte {
	for i, word := range args {
		if bytes.EqualFold(word, []byte("fields")) {
			return args[min(i+2, len(args)):]
		}
	}
	return nil
}

// behindOptions skips the options of ZADD and GEOADD.
func behindOptions(args [][]byte) [][]byte {
	for len(args) > 0 {
		switch strings.ToLower(string(args[0])) {
		case "nx", "xx", "gt", "lt", "ch", "incr":
			args = args[1:]
		default:
			return args
		}
	}
	return args
}

// streamEntry returns how many entries XADD and XTRIM leave, -1 if they do not say it, and the fields and values of a
// new entry.
func streamEntry(args [][]byte) (most int64, entry [][]byte) {
	most = -1
	for len(args) > 0 {
		switch strings.ToLower(string(args[0])) {
		case "nomkstream", "keepref", "delref", "acked":
			args = args[1:]
		case "maxlen", "minid":
			counts := len(args[0]) == len("maxlen")
			if args = args[1:]; len(args) > 0 && (string(args[0]) == "~" || string(args[0]) == "=") {
				args = args[1:]
			}
			if counts {
				most = countIn(args, 0, -1)
			}
			args = args[min(1, len(args)):]
		case "limit":
			args = args[min(2, len(args)):]
		default:
			return most, args[1:] // behind the id
		}
	}
	return most, nil
}
