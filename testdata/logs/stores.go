package logs

import (
	"fmt"
	"strings"
)

// storeKind is a log of a key-value store, or a published trace of one.
type storeKind struct {
	file, head string
	line       func(operation) string
}

var storeKinds = []storeKind{
	// Redis, "MONITOR": what redis-cli prints.
	{"redis-monitor.log", "OK\n", func(o operation) string {
		words := map[string]string{
			"get": fmt.Sprintf(`"GET" "%s"`, o.key), "delete": fmt.Sprintf(`"DEL" "%s"`, o.key),
			"set": fmt.Sprintf(`"SET" "%s" "%s" "EX" "%d"`, o.key, strings.Repeat("x", int(o.value)), o.ttl),
		}
		return fmt.Sprintf("%d.%06d [0 10.0.0.%d:60866] %s", o.at.Unix(), o.at.Nanosecond()/1000, o.client, words[o.name])
	}},
	// memcached, doc/protocol.txt: "watch fetchers mutations". A store looks for the key, too, and logs that as a get.
	{"memcached-watch.log", "", func(o operation) string {
		time := fmt.Sprintf("ts=%d.%06d gid=1", o.at.Unix(), o.at.Nanosecond()/1000)
		switch {
		case o.name == "set":
			return fmt.Sprintf("%s type=item_get key=%s status=not_found clsid=0 cfd=24 size=0\n%s type=item_store key=%s "+
				"status=stored cmd=set ttl=%d clsid=3 cfd=24 size=%d", time, o.key, time, o.key, o.ttl, o.value)
		case o.name == "delete":
			return fmt.Sprintf("%s type=deleted key=%s cmd=delete clsid=3 cfd=24 size=%d", time, o.key, o.value)
		case o.hit:
			return fmt.Sprintf("%s type=item_get key=%s status=found clsid=3 cfd=24 size=%d", time, o.key, o.value)
		}
		return fmt.Sprintf("%s type=item_get key=%s status=not_found clsid=0 cfd=24 size=0", time, o.key)
	}},
	// twitter/cache-trace: timestamp, key, key size, value size, client, operation, TTL.
	{"twitter-cluster052.csv", "", func(o operation) string {
		return fmt.Sprintf("%d,%s,%d,%d,%d,%s,%d", int(o.at.Sub(begin).Seconds()), o.key, len(o.key), o.value, o.client,
			o.name, o.ttl)
	}},
	// CacheLib, "Evaluating SSD hardware for Facebook workloads": the kvcache traces of 2022.
	{"cachelib-kvcache-202206.csv", "key,op,size,op_count,key_size\n", func(o operation) string {
		return fmt.Sprintf("%d,%s,%d,1,%d", len(o.key)*1000+int(o.value), strings.ToUpper(o.name), o.value, len(o.key))
	}},
	// CacheLib, likewise: the CDN traces of 2023.
	{"cachelib-cdn-202303.csv", "timestamp,cacheKey,OpType,objectSize,responseSize,responseHeaderSize,rangeStart," +
		"rangeEnd,TTL,SamplingRate,cache_hit,item_value,RequestHandler,cdn_content_type_id,vip_type\n",
		func(o operation) string {
			return fmt.Sprintf("%d,%d,1,%d,%d,356,,,86400,1,%d,0,ProxygenHandler,1,1", o.at.Unix(), o.value*7919, o.value,
				o.value, map[bool]int{true: 1}[o.hit])
		}},
	// SNIA IOTTA, IBM Object Store: milliseconds, operation, object, bytes.
	{"IBMObjectStoreTrace000Part0", "", func(o operation) string {
		return fmt.Sprintf("%s REST.%s.OBJECT %016x %d", since(o.at, 1e6, 0),
			map[string]string{"get": "GET", "set": "PUT", "delete": "DELETE"}[o.name], uint64(o.value)*0x9e3779b97f4a7c15,
			o.value)
	}},
	// WikiBench: counter, time, URL, flag of an update.
	{"wiki.1190153705", "", func(o operation) string {
		return fmt.Sprintf("%d %d.%03d http://en.wikipedia.org/wiki/%s -", 929840853+o.at.Unix(), o.at.Unix(),
			o.at.Nanosecond()/1e6, strings.ReplaceAll(o.key, ":", "_"))
	}},
	// Wikimedia, "Caching": the upload traces of 2019.
	{"cache-u-00.tsv", "relative_unix\thashed_path_query\timage_type\tresponse_size\ttime_firstbyte\n",
		func(o operation) string {
			return fmt.Sprintf("%d\t%d\tjpeg\t%d\t0.000123", int(o.at.Sub(begin).Seconds()), o.value*104729, o.value)
		}},
	// LRB and webcachesim2: time, object, bytes.
	{"lrb.tr", "", func(o operation) string {
		return fmt.Sprintf("%d %d %d", int(o.at.Sub(begin).Seconds()), o.value/31, o.value)
	}},
}
