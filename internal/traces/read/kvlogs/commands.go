package kvlogs

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

const (
	get    = stream.OpRead
	put    = stream.OpWrite  // ends a time to live
	update = stream.OpUpdate // keeps it
	touch  = stream.OpUpdate | stream.IfPresent
	remove = stream.OpDelete
	take   = stream.OpTake

	// What a command reads to write something else: nothing is written if all of these keys are missing, or a needed one.
	operand = get | stream.WithNext
	needed  = operand | stream.IfPresent

	millisecond = int64(1e6)
)

// keysOf adds the keys that a command uses, given the words behind its name, or fails.
type keysOf func(r *redisReader, args [][]byte)

// commands are the commands of Redis that use keys, by their names in lower case; their keys are specified in
// https://redis.io/docs/latest/commands. What they do to a time to live is measured at a server: only those that
// replace an object end it.
var commands = byName(map[string]keysOf{
	"get getrange substr strlen getbit bitcount bitpos bitfield_ro digest dump sort_ro " +
		"hget hmget hgetall hexists hkeys hvals hlen hstrlen hrandfield hscan hgetex " +
		"httl hpttl hexpiretime hpexpiretime " +
		"lindex llen lrange lpos scard sismember smismember smembers srandmember sscan " +
		"zcard zcount zlexcount zmscore zrandmember zrange zrangebylex zrangebyscore zrank " +
		"zrevrange zrevrangebylex zrevrangebyscore zrevrank zscan zscore " +
		"geodist geohash geopos georadius_ro georadiusbymember_ro geosearch xlen xpending xrange xrevrange " +
		"arcount arget argetrange argrep arinfo arlastitems arlen armget arnext arop arscan " +
		"vcard vdim vemb vgetattr vinfo vismember vlinks vrandmember vrange vsim " +
		"json.get json.type json.objkeys json.objlen json.arrlen json.arrindex json.strlen json.resp " +
		"bf.card bf.exists bf.info bf.mexists bf.scandump cf.count cf.exists cf.info cf.mexists cf.scandump " +
		"cms.info cms.query tdigest.byrank tdigest.byrevrank tdigest.cdf tdigest.info tdigest.max tdigest.min " +
		"tdigest.quantile tdigest.rank tdigest.revrank tdigest.trimmed_mean topk.count topk.info topk.list " +
		"topk.query ts.get ts.info ts.range ts.revrange ts.read ft.sugget ft.suglen": first(get),
	"ft.get": after(1, first(get)),
	"lcs":    first(get, get), "mget exists pfcount sdiff sinter sunion": every(get),
	"json.mget": allButLast(get),
	"sintercard sdiffcard sunioncard zdiff zinter zintercard zunion ts.nrange ts.nrevrange": counted(get),
	"xread xreadgroup": streams,

	"append incr incrby incrbyfloat decr decrby setbit hset hmset hsetnx hincrby hincrbyfloat lpush rpush sadd " +
		"zincrby pfadd arinsert armset arring arset vadd " +
		"json.set json.merge bf.add bf.madd bf.reserve bf.loadchunk cf.add cf.addnx cf.reserve cf.loadchunk " +
		"cms.initbydim cms.initbyprob tdigest.create topk.reserve ts.add ts.create ts.incrby ts.decrby " +
		"ft.sugadd": first(update), "ft.add ft.safeadd": after(1, first(update)),
	"setrange": chosen(3, setRange), "bitfield": chosen(1, bitField), "increx": least(1, incrEx),
	"zadd geoadd": unless("xx"), "hsetex": unless("fxx"), "xadd": unless("nomkstream"),
	"bf.insert cf.insert cf.insertnx": unless("nocreate"),

	"touch": every(touch),
	"hdel hgetdel hexpire hpexpire hexpireat hpexpireat hpersist linsert lpop lpushx lrem lset ltrim rpop rpushx " +
		"spop srem zpopmax zpopmin zrem zremrangebylex zremrangebyrank zremrangebyscore " +
		"xack xackdel xautoclaim xcfgset xclaim xdel xdelex xidmprecord xnack xsetid xtrim " +
		"ardel ardelrange arseek vrem vsetattr " +
		"json.numincrby json.nummultby json.numpowby json.arrappend json.arrinsert json.arrpop json.arrtrim " +
		"json.toggle json.strappend json.clear cf.del cf.compact cms.incrby tdigest.add tdigest.reset " +
		"topk.add topk.incrby ts.alter ts.del ft.sugdel": first(touch),
	"blpop brpop bzpopmin bzpopmax": allButLast(touch), "lmpop zmpop": counted(touch),
	"blmpop bzmpop": after(1, counted(touch)), "ts.createrule ts.deleterule": first(touch, touch),
	"ts.madd": everyOf(3, touch), "json.mset": everyOf(3, update),
	"json.del json.forget": chosen(1, jsonDel), "xgroup": least(1, xgroup),

	"lmove blmove lmovem blmovem rpoplpush brpoplpush smove": first(touch|stream.WithNext, update),

	"sunionstore": into(every(operand)), "sinterstore": into(every(needed)), "sdiffstore": into(firstNeeded),
	"zunionstore": into(counted(operand)), "zinterstore": into(counted(needed)),
	"zdiffstore":                  into(countedBy(firstNeeded)),
	"zrangestore geosearchstore":  storedFrom,
	"sort":                        storeOption("store"),
	"georadius georadiusbymember": storeOption("store", "storedist"),
	"bitop":                       after(1, into(every(operand))),
	"pfmerge":                     merged(every(get), update), "tdigest.merge": merged(counted(get), update),
	"cms.merge": merged(counted(get), touch),
	"copy":      least(2, copied), "move": least(2, moved), "rename": first(remove|stream.WithNext, take),
	"renamenx": first(remove|stream.WithNext, take|stream.IfAbsent),

	"set": least(2, set), "setnx": stored(1, 0, stream.IfAbsent), "getset": stored(1, 0, 0), "setex": stored(2, second, 0),
	"psetex": stored(2, millisecond, 0), "mset": pairs(0), "msetnx": pairs(stream.IfAbsent), "msetex": least(3, setMany),
	"himport": himport, "getex": least(1, getEx), "restore restore-asking": least(3, restore),
	"expire": expires(second, false), "pexpire": expires(millisecond, false),
	"expireat": expires(second, true), "pexpireat": expires(millisecond, true), "persist": first(stream.OpExpire),

	"del unlink": every(remove), "delex": first(remove), "getdel": twice(get, remove), "ft.del": after(1, first(remove)),
	"migrate": least(5, migrate), "flushall": flushAll, "flushdb": flushDB,
})

// asking are commands that ask about a key without using it: Redis does not count them as a use of the object, as it
// does not those of OBJECT and DEBUG.
const asking = "ttl pttl expiretime pexpiretime type object memory xinfo watch debug pfdebug bf.debug cf.debug " +
	"json.debug"

// keyless are commands without keys, or with keys that name no object. MONITOR prints what scripts and functions call.
const keyless = "acl asking auth backup bgrewriteaof bgsave client cluster command config dbsize discard echo eval " +
	"eval_ro evalsha evalsha_ro exec failover fcall fcall_ro function hello hotkeys info keys lastsave latency lolwut " +
	"module monitor multi pfselftest ping psubscribe psync publish pubsub punsubscribe quit randomkey readonly " +
	"readwrite replconf reset role save scan script select shutdown slowlog spublish ssubscribe subscribe sunsubscribe " +
	"sync time unsubscribe unwatch wait waitaof " +
	"ft.aggregate ft.aliasadd ft.aliasdel ft.aliaslist ft.aliasupdate ft.alter ft.config ft.create ft.cursor " +
	"ft.dictadd ft.dictdel ft.dictdump ft.explain ft.explaincli ft.hybrid ft.info ft.mget " +
	"ft.profile ft.search ft.spellcheck ft.synadd ft.syndump ft.synupdate ft.tagvals ft._aliasaddifnx " +
	"ft._aliasdelifx ft._alterifnx ft._createifnx ft._list search.clusterinfo search.clusterrefresh " +
	"search.clusterset timeseries.clusterset timeseries.refreshcluster ts.mget ts.mrange ts.mrevrange ts.queryindex " +
	"ts.querylabels _ft.config _ft.debug"

// unfollowed are commands that change keys which they do not name. They are left out, which a warning says.
const unfollowed = "swapdb replicaof slaveof trimslots ft.drop ft.dropindex ft._dropifx ft._dropindexifx"

// leftOut says why a command without a request is left out: nothing to say, or that its effect is not known.
var leftOut = byName(map[string]string{asking: "", keyless: "", unfollowed: "not followed"})

// byName has an entry for each word of the names.
func byName[T any](groups map[string]T) map[string]T {
	all := map[string]T{}
	for names, value := range groups {
		for name := range strings.FieldsSeq(names) {
			all[name] = value
		}
	}
	return all
}

// least refuses a command with fewer words than it must have.
func least(n int, keys keysOf) keysOf {
	return func(r *redisReader, args [][]byte) {
		if len(args) < n {
			r.fail("%d words after the command: want at least %d", len(args), n)
		} else {
			keys(r, args)
		}
	}
}

// first takes the first words as keys, one for each operation.
func first(ops ...stream.Op) keysOf {
	return least(len(ops), func(r *redisReader, args [][]byte) {
		for i, op := range ops {
			r.add(op, args[i])
		}
	})
}

// twice takes the first word as a key for several operations.
func twice(ops ...stream.Op) keysOf {
	return least(1, func(r *redisReader, args [][]byte) {
		for _, op := range ops {
			r.add(op, args[0])
		}
	})
}

// chosen takes the first word as a key, for an operation that depends on the words behind it.
func chosen(words int, op func(args [][]byte) stream.Op) keysOf {
	return least(words, func(r *redisReader, args [][]byte) { r.add(op(args), args[0]) })
}

// every takes each word as a key.
func every(op stream.Op) keysOf { return everyOf(1, op) }

// everyOf takes the first of each so many words as a key.
func everyOf(words int, op stream.Op) keysOf {
	return least(words, func(r *redisReader, args [][]byte) {
		for ; len(args) >= words; args = args[words:] {
			r.add(op, args[0])
		}
	})
}

// allButLast takes each word as a key except the last, a timeout or a path.
func allButLast(op stream.Op) keysOf {
	return least(2, func(r *redisReader, args [][]byte) { every(op)(r, args[:len(args)-1]) })
}

// counted takes as many words as keys as the first word says.
func counted(op stream.Op) keysOf { return countedBy(every(op)) }

// countedBy passes on as many words as the first word says.
func countedBy(keys keysOf) keysOf {
	return least(2, func(r *redisReader, args [][]byte) {
		n, ok := source.ParseDigits(args[0])
		if !ok || n == 0 || n > uint64(len(args)-1) {
			r.fail("%.20q keys: want a number from 1 to %d, which are the words that follow", args[0], len(args)-1)
			return
		}
		keys(r, args[1:1+n])
	})
}

// after skips the first words.
func after(skipped int, keys keysOf) keysOf {
	return least(skipped+1, func(r *redisReader, args [][]byte) { keys(r, args[skipped:]) })
}

// firstNeeded takes each word as a source; the first must exist.
var firstNeeded = least(1, func(r *redisReader, args [][]byte) {
	r.add(needed, args[0])
	for _, key := range args[1:] {
		r.add(operand, key)
	}
})

// merged reads the keys behind the first word, and then changes the first.
func merged(sources keysOf, op stream.Op) keysOf {
	return least(1, func(r *redisReader, args [][]byte) {
		if len(args) > 1 {
			sources(r, args[1:])
		}
		r.add(op, args[0])
	})
}

// into stores in the first word what comes of the keys behind it, and deletes the first if nothing does.
func into(sources keysOf) keysOf { return least(2, merged(sources, put)) }

// storedFrom stores in the first word what comes of the second.
var storedFrom = least(2, func(r *redisReader, args [][]byte) { into(every(operand))(r, args[:2]) })

// storeOption reads the first word, and stores what comes of it in the key behind an option.
func storeOption(options ...string) keysOf {
	return least(1, func(r *redisReader, args [][]byte) {
		for i, word := range args[1:] {
			if isAny(word, options...) && i+2 < len(args) {
				storedFrom(r, [][]byte{args[i+2], args[0]})
				return
			}
		}
		r.add(get, args[0])
	})
}

// copied is a key, that of its copy and options.
func copied(r *redisReader, args [][]byte) {
	op, db := take|stream.IfAbsent, r.db
	for i, word := range args[2:] {
		switch {
		case isAny(word, "replace"):
			op = take
		case isAny(word, "db") && i+3 < len(args):
			db = args[i+3]
		}
	}
	r.add(needed, args[0])
	r.addTo(db, args[1], access{op: op})
}

// moved is a key and the database that it moves to.
func moved(r *redisReader, args [][]byte) {
	r.add(remove|stream.WithNext, args[0])
	r.addTo(args[1], args[0], access{op: take | stream.IfAbsent})
}

func flushDB(r *redisReader, _ [][]byte) {
	r.accesses = append(r.accesses, access{key: append(slices.Clone(r.db), "/*"...), op: stream.OpFlush})
}

func flushAll(r *redisReader, _ [][]byte) {
	r.accesses = append(r.accesses, access{key: []byte(stream.FlushAll), op: stream.OpFlush})
}

func migrate(r *redisReader, args [][]byte) {
	op, keys := remove, args[2:3]
	for i, word := range args[5:] {
		if isAny(word, "keys") {
			keys = args[5+i+1:]
			break
		}
		if isAny(word, "copy") {
			op = get
		}
	}
	every(op)(r, keys)
}

// unless is a key that is changed, or created unless an option comes behind it, before the first number.
func unless(option string) keysOf {
	return chosen(1, func(args [][]byte) stream.Op {
		for _, word := range args[1:] {
			if len(word) == 0 || word[0] != '-' && word[0] != '+' && (word[0] < 'A' || word[0] > 'z') {
				break
			}
			if isAny(word, option) {
				return touch
			}
		}
		return update
	})
}

// setRange creates a key only if it has something to write.
func setRange(args [][]byte) stream.Op {
	if len(args[2]) == 0 {
		return touch
	}
	return update
}

// bitField reads, unless it has an operation that writes.
func bitField(args [][]byte) stream.Op {
	if slices.ContainsFunc(args[1:], func(word []byte) bool { return isAny(word, "set", "incrby") }) {
		return update
	}
	return get
}

// jsonDel deletes a key, or with a path what is there.
func jsonDel(args [][]byte) stream.Op {
	if len(args) > 1 && string(args[1]) != "$" && string(args[1]) != "." {
		return touch
	}
	return remove
}

// incrEx changes a number and its time to live.
func incrEx(r *redisReader, args [][]byte) {
	r.add(update, args[0])
	switch e := r.expiry(args[1:]); {
	case e.fails || !e.stated:
	case e.lasting:
		r.addTo(r.db, args[0], access{op: stream.OpExpire | stream.IfLasting, ttl: e.ttl})
	case e.gone:
		r.add(remove, args[0])
	default:
		r.addTo(r.db, args[0], access{op: stream.OpExpire, ttl: e.ttl})
	}
}

// xgroup changes the groups of a stream, which it may create. XGROUP HELP names none.
func xgroup(r *redisReader, args [][]byte) {
	switch {
	case len(args) < 2:
	case isAny(args[len(args)-1], "mkstream") || len(args) > 4 && isAny(args[4], "mkstream"):
		r.add(update, args[1])
	default:
		r.add(touch, args[1])
	}
}

// himport fills a hash from values alone; its other subcommands use no key.
func himport(r *redisReader, args [][]byte) {
	if len(args) >= 2 && isAny(args[0], "set") {
		r.add(put, args[1])
	}
}

// restore is a key, its time to live in ms, its value and options.
func restore(r *redisReader, args [][]byte) {
	op, at := put|stream.IfAbsent, false
	for _, word := range args[3:] {
		switch {
		case isAny(word, "replace"):
			op = put
		case isAny(word, "absttl"):
			at = true
		}
	}
	ttl, gone := int64(0), false
	if string(args[1]) != "0" {
		ttl, gone = r.ttlOf(args[1], millisecond, at)
	}
	switch {
	case !gone:
		r.store(op, args[0], args[2], ttl)
	case at && op == put: // without at Redis refuses it
		r.add(remove, args[0])
	}
}

// streams takes the first half of the words behind STREAMS as keys; the others are ids.
func streams(r *redisReader, args [][]byte) {
	for i, word := range args {
		if isAny(word, "streams") {
			rest := args[i+1:]
			every(get)(r, rest[:len(rest)/2])
			return
		}
	}
	r.fail("want the word STREAMS before the keys")
}

// pairs are keys and values in turns, under a condition for all of them.
func pairs(condition stream.Op) keysOf {
	return least(2, func(r *redisReader, args [][]byte) { r.storePairs(args, put|condition, 0) })
}

// storePairs stores keys and values in turns, which a condition ties together.
func (r *redisReader) storePairs(args [][]byte, op stream.Op, ttl int64) {
	for ; len(args) >= 2; args = args[2:] {
		op := op
		if op.Condition() != 0 && len(args) >= 4 {
			op |= stream.WithNext
		}
		r.store(op, args[0], args[1], ttl)
	}
}

// setMany is a number of keys, keys and values in turns, and options.
func setMany(r *redisReader, args [][]byte) {
	n, ok := source.ParseDigits(args[0])
	if !ok || n == 0 || n > uint64(len(args)-1)/2 {
		r.fail("%.20q keys: want a number from 1 to %d, as many as keys with values follow", args[0], (len(args)-1)/2)
		return
	}
	stored, options := args[1:1+2*n], args[1+2*n:]
	switch e := r.expiry(options); {
	case e.fails:
	case e.gone:
		everyOf(2, remove)(r, stored)
	default:
		r.storePairs(stored, e.write(), e.ttl)
	}
}

// stored is a key with its value at an index, behind the time to live in a unit if that is not 0.
func stored(value int, unit int64, condition stream.Op) keysOf {
	return least(value+1, func(r *redisReader, args [][]byte) {
		ttl, gone := int64(0), false
		if unit > 0 {
			ttl, gone = r.ttlOf(args[1], unit, false)
		}
		if !gone { // which Redis refuses
			r.store(put|condition, args[0], args[value], ttl)
		}
	})
}

// set is a key, a value, and options.
func set(r *redisReader, args [][]byte) {
	switch e := r.expiry(args[2:]); {
	case e.fails:
	case e.gone && e.condition == stream.IfAbsent:
		r.add(touch, args[0])
	case e.gone:
		r.add(remove, args[0])
	default:
		r.store(e.write(), args[0], args[1], e.ttl)
	}
}

// getEx reads a key, and sets its time to live or ends it.
func getEx(r *redisReader, args [][]byte) {
	e := r.expiry(args[1:])
	if e.fails {
		return
	}
	r.addTo(r.db, args[0], access{op: get, ttl: e.ttl})
	switch {
	case e.gone:
		r.add(remove, args[0])
	case e.stated && e.ttl == 0:
		r.add(stream.OpExpire, args[0])
	}
}

// expiry is what the options of SET and similar commands say.
type expiry struct {
	ttl       int64
	stated    bool      // they say something of a time to live
	gone      bool      // it is over
	keeps     bool      // KEEPTTL
	lasting   bool      // ENX
	fails     bool      // Redis refuses the command
	condition stream.Op // NX, XX and those of Redis 8.4, which compare values
}

// write returns the operation of a command that stores a value.
func (e *expiry) write() stream.Op {
	if e.keeps {
		return update | e.condition
	}
	return put | e.condition
}

// expiry reads the options of SET, GETEX and similar commands. What compares values is taken to hold.
func (r *redisReader) expiry(options [][]byte) (e expiry) {
	for i := 0; i < len(options); i++ {
		switch word := lower(options[i]); string(word) {
		case "nx":
			e.condition = stream.IfAbsent
		case "xx":
			e.condition = stream.IfPresent
		case "ifeq", "ifdeq":
			e.condition, i = stream.IfPresent, i+1
		case "ifne", "ifdne", "byint", "byfloat", "lbound", "ubound":
			i++
		case "keepttl":
			e.keeps = true
		case "persist":
			e.stated = true
		case "enx":
			e.lasting = true
		case "ex", "px", "exat", "pxat":
			if i++; i == len(options) {
				e.fails = true
				return e
			}
			unit, at := second, len(word) == len("exat")
			if word[0] == 'p' {
				unit = millisecond
			}
			e.stated = true
			e.ttl, e.gone = r.ttlOf(options[i], unit, at)
			e.fails = len(options[i]) == 0 || string(options[i]) == "0" || options[i][0] == '-'
		}
	}
	return e
}

func isAny(word []byte, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(string(word), w) })
}

// expires is a key and its time to live, or the time at which it ends, and a condition. An object without a time to
// live fails GT.
func expires(unit int64, at bool) keysOf {
	return least(2, func(r *redisReader, args [][]byte) {
		ttl, gone := r.ttlOf(args[1], unit, at)
		var condition, later stream.Op
		for _, word := range args[2:] {
			switch string(lower(word)) {
			case "nx":
				if condition = stream.IfLasting; len(args) > 3 { // which Redis refuses
					return
				}
			case "xx":
				condition = stream.IfExpiring
			case "gt":
				later = stream.IfLater
			case "lt":
				later = stream.IfSooner
			}
		}
		switch {
		case gone && later == stream.IfLater: // no object has expired before
			r.add(touch, args[0])
			return
		case gone:
			r.add(remove|condition, args[0])
			return
		case later == stream.IfSooner && condition == stream.IfExpiring:
			later = stream.IfCut
		}
		r.addTo(r.db, args[0], access{op: stream.OpExpire | cmp.Or(later, condition), ttl: ttl})
	})
}
