package kvlogs

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

const (
	get    = stream.OpRead
	put    = stream.OpWrite
	remove = stream.OpDelete

	millisecond = int64(1e6)
)

// keysOf adds the keys that a command uses, given the words behind its name.
type keysOf func(r *redisReader, args [][]byte) error

// commands are the commands of Redis that use keys, by their names in lower case; their keys are specified in
// https://redis.io/docs/latest/commands. Commands that only ask about a key (TTL, TYPE, OBJECT) are none of them:
// Redis does not count them as a use of the object. Nor are scripts, since MONITOR prints the commands that they run.
var commands = byName(map[string]keysOf{
	"get getrange substr strlen getbit bitcount bitpos bitfield_ro dump sort_ro " +
		"hget hmget hgetall hexists hkeys hvals hlen hstrlen hrandfield hscan " +
		"lindex llen lrange lpos scard sismember smismember smembers srandmember sscan " +
		"zcard zcount zlexcount zmscore zrandmember zrange zrangebylex zrangebyscore zrank " +
		"zrevrange zrevrangebylex zrevrangebyscore zrevrank zscan zscore " +
		"geodist geohash geopos georadius_ro georadiusbymember_ro geosearch xlen xpending xrange xrevrange " +
		"json.get json.type json.objkeys json.objlen json.arrlen json.arrindex json.strlen": first(get),
	"lcs": first(get, get), "mget exists touch pfcount sdiff sinter sunion": every(get),
	"json.mget": allButLast(get), "sintercard zdiff zinter zintercard zunion": counted(get),
	"xread xreadgroup": streams,

	"append incr incrby incrbyfloat decr decrby setbit setrange bitfield persist restore sort " +
		"hset hmset hsetnx hdel hincrby hincrbyfloat hsetex hgetdel hgetex hexpire hpexpire hexpireat hpexpireat " +
		"hpersist linsert lpop lpush lpushx lrem lset ltrim rpop rpush rpushx sadd spop srem " +
		"zadd zincrby zpopmax zpopmin zrem zremrangebylex zremrangebyrank zremrangebyscore " +
		"geoadd georadius georadiusbymember pfadd xack xadd xautoclaim xclaim xdel xsetid xtrim " +
		"json.set json.merge json.numincrby json.arrappend json.arrinsert json.arrpop json.arrtrim json.toggle " +
		"json.strappend json.clear": first(put),
	"blpop brpop bzpopmin bzpopmax": allButLast(put), "lmpop zmpop": counted(put), "blmpop bzmpop": after(1, counted(put)),
	"lmove blmove rpoplpush brpoplpush smove": first(put, put),

	"sdiffstore sinterstore sunionstore pfmerge": into(every(get)), "zrangestore geosearchstore": first(put, get),
	"zdiffstore zinterstore zunionstore": into(counted(get)), "bitop": after(1, into(every(get))),
	"copy": first(get, put), "rename renamenx": first(remove, put),

	"set": set, "setnx getset": stored(1, 0), "setex": stored(2, second), "psetex": stored(2, millisecond),
	"mset msetnx": pairs, "getex": getEx,
	"expire": expires(second, false), "pexpire": expires(millisecond, false),
	"expireat": expires(second, true), "pexpireat": expires(millisecond, true),

	"del unlink": every(remove), "json.del json.forget": first(remove), "getdel": twice(get, remove),
})

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

// need refuses a command with fewer words than it must have.
func need(args [][]byte, n int) error {
	if len(args) < n {
		return fmt.Errorf("%d words after the command: want at least %d", len(args), n)
	}
	return nil
}

// first takes the first words as keys, one for each operation.
func first(ops ...stream.Op) keysOf {
	return func(r *redisReader, args [][]byte) error {
		if err := need(args, len(ops)); err != nil {
			return err
		}
		for i, op := range ops {
			if err := r.add(op, args[i], 0, 0); err != nil {
				return err
			}
		}
		return nil
	}
}

// twice takes the first word as a key for several operations.
func twice(ops ...stream.Op) keysOf {
	return func(r *redisReader, args [][]byte) error {
		if err := need(args, 1); err != nil {
			return err
		}
		for _, op := range ops {
			if err := r.add(op, args[0], 0, 0); err != nil {
				return err
			}
		}
		return nil
	}
}

// every takes each word as a key.
func every(op stream.Op) keysOf {
	return func(r *redisReader, args [][]byte) error { return r.addAll(op, args) }
}

// addAll adds keys, at least one.
func (r *redisReader) addAll(op stream.Op, keys [][]byte) error {
	if err := need(keys, 1); err != nil {
		return err
	}
	for _, key := range keys {
		if err := r.add(op, key, 0, 0); err != nil {
			return err
		}
	}
	return nil
}

// allButLast takes each word as a key except the last, a timeout or a path.
func allButLast(op stream.Op) keysOf {
	return func(r *redisReader, args [][]byte) error {
		if err := need(args, 2); err != nil {
			return err
		}
		return r.addAll(op, args[:len(args)-1])
	}
}

// counted takes as many words as keys as the first word says.
func counted(op stream.Op) keysOf {
	return func(r *redisReader, args [][]byte) error {
		if err := need(args, 2); err != nil {
			return err
		}
		n, ok := source.ParseDigits(args[0])
		if !ok || n == 0 || n > uint64(len(args)-1) {
			return fmt.Errorf("%.20q keys: want a number from 1 to %d, which are the words that follow", args[0], len(args)-1)
		}
		return r.addAll(op, args[1:1+n])
	}
}

// after skips the first words.
func after(skipped int, keys keysOf) keysOf {
	return func(r *redisReader, args [][]byte) error {
		if err := need(args, skipped+1); err != nil {
			return err
		}
		return keys(r, args[skipped:])
	}
}

// into reads the keys behind the first word, and then writes to the first.
func into(sources keysOf) keysOf {
	return func(r *redisReader, args [][]byte) error {
		if err := need(args, 2); err != nil {
			return err
		}
		if err := sources(r, args[1:]); err != nil {
			return err
		}
		return r.add(put, args[0], 0, 0)
	}
}

// streams takes the first half of the words behind STREAMS as keys; the others are ids.
func streams(r *redisReader, args [][]byte) error {
	for i, word := range args {
		if bytes.EqualFold(word, []byte("streams")) {
			rest := args[i+1:]
			return r.addAll(get, rest[:len(rest)/2])
		}
	}
	return fmt.Errorf("want the word STREAMS before the keys")
}

// pairs are keys and values in turns.
func pairs(r *redisReader, args [][]byte) error {
	if err := need(args, 2); err != nil {
		return err
	}
	for ; len(args) >= 2; args = args[2:] {
		if err := r.add(put, args[0], length(args[1]), 0); err != nil {
			return err
		}
	}
	return nil
}

// stored is a key with its value at an index, behind the time to live in a unit if that is not 0.
func stored(value int, unit int64) keysOf {
	return func(r *redisReader, args [][]byte) (err error) {
		if err := need(args, value+1); err != nil {
			return err
		}
		ttl := int64(0)
		if unit > 0 {
			if ttl, _, err = r.ttlOf(args[1], unit, false); err != nil {
				return err
			}
		}
		return r.add(put, args[0], length(args[value]), ttl)
	}
}

// set is a key, a value, and options.
func set(r *redisReader, args [][]byte) error {
	if err := need(args, 2); err != nil {
		return err
	}
	ttl, gone, err := r.expiry(args[2:])
	if err != nil {
		return err
	}
	if gone {
		return r.add(remove, args[0], 0, 0)
	}
	return r.add(put, args[0], length(args[1]), ttl)
}

// getEx reads a key, and sets its time to live.
func getEx(r *redisReader, args [][]byte) error {
	if err := need(args, 1); err != nil {
		return err
	}
	ttl, gone, err := r.expiry(args[1:])
	if err != nil {
		return err
	}
	if err := r.add(get, args[0], 0, ttl); err != nil || !gone {
		return err
	}
	return r.add(remove, args[0], 0, 0)
}

// expiry finds the time to live among the options of SET and GETEX.
func (r *redisReader) expiry(options [][]byte) (ttl int64, gone bool, err error) {
	for i := 0; i+1 < len(options); i++ {
		switch string(lower(options[i])) {
		case "ex":
			return r.ttlOf(options[i+1], second, false)
		case "px":
			return r.ttlOf(options[i+1], millisecond, false)
		case "exat":
			return r.ttlOf(options[i+1], second, true)
		case "pxat":
			return r.ttlOf(options[i+1], millisecond, true)
		}
	}
	return 0, false, nil
}

// expires is a key and its time to live, or the time at which it ends.
func expires(unit int64, at bool) keysOf {
	return func(r *redisReader, args [][]byte) error {
		if err := need(args, 2); err != nil {
			return err
		}
		ttl, gone, err := r.ttlOf(args[1], unit, at)
		if err != nil {
			return err
		}
		if gone {
			return r.add(remove, args[0], 0, 0)
		}
		return r.add(put, args[0], 0, ttl)
	}
}
