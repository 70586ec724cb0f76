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
	// memcached's proxy, doc/protocol.txt: "watch proxyreqs".
	{"memcached-proxy.log", "OK\n", func(o operation) string {
		answer, request := "type=105 code=17", "get "+o.key
		switch {
		case o.name == "set":
			answer, request = "type=104 code=8", fmt.Sprintf("set %s 0 %d %d", o.key, o.ttl, o.value)
		case o.name == "delete":
			answer, request = "type=104 code=10", "delete "+o.key
		case o.hit:
			answer = "type=100 code=15"
		}
		return fmt.Sprintf("ts=%d.%d gid=1 type=proxy_req elapsed=187 %s status=0 be=10.0.0.7:11211 detail= req=%s",
			o.at.Unix(), o.at.Nanosecond()/1000, answer, request)
	}},
	// mcrouter, routes/LoggingRoute.h, with the prefix of glog.
	{"mcrouter.log", "I0301 12:00:00.000000  4711 main.cpp:512] mcrouter --port 5000\n", func(o operation) string {
		result, length := "mc_res_notfound", int64(0)
		switch {
		case o.name == "set":
			result = "mc_res_stored"
		case o.name == "delete":
			result = "mc_res_deleted"
		case o.hit:
			result, length = "mc_res_found", o.value
		}
		return fmt.Sprintf("I%s  4711 LoggingRoute.h:63] request key: %s response: %s responseLength: %d user ip: N/A",
			o.at.Format("0102 15:04:05.000000"), o.key, result, length)
	}},
	// SNIA IOTTA, Tencent Photo: date and time, photo, format, size category, bytes, hit, device, milliseconds.
	{"tencent-photo-tr1", "", func(o operation) string {
		return fmt.Sprintf("%s %040x 5 %c %d %d PHONE 2", o.at.Format("20060102150405"), o.value*104729, "laomcb"[o.value%6],
			o.value, map[bool]int{true: 1}[o.hit])
	}},
	// Google, Thesios: what was read from an offset of a file.
	{"thesios-20240115.csv", "filename,file_offset,application,c_time,io_zone,redundancy_type,op_type,service_class," +
		"from_flash_cache,cache_hit,request_io_size_bytes,disk_io_size_bytes,response_io_size_bytes,start_time,disk_time," +
		"simulated_disk_start_time,simulated_latency\n", func(o operation) string {
		return fmt.Sprintf("%x,%d,bigtable,1705276800,WARM,REPLICATED,%s,LATENCY_SENSITIVE,0,%d,%d,%[5]d,%[5]d,%d.%06d,"+
			"0.003,%[6]d.5,0.004", o.value*104729, o.value*4096, map[bool]string{true: "WRITE", false: "READ"}[o.name == "set"],
			map[bool]int{true: 1}[o.hit], o.value, o.at.Unix(), o.at.Nanosecond()/1000)
	}},
	// UMass Trace Repository, YouTube: seconds, server, client, request, video, address of the content.
	{"youtube.parsed.0301.dat", "", func(o operation) string {
		return fmt.Sprintf("%d.%06d 10.0.0.1 10.0.1.%d GETVIDEO v%010d 10.0.2.9", o.at.Unix(),
			o.at.Nanosecond()/1000, o.client, o.value)
	}},
	// Kaggle, Outbrain Click Prediction: page views.
	{"page_views_sample.csv", "uuid,document_id,timestamp,platform,geo_location,traffic_source\n",
		func(o operation) string {
			return fmt.Sprintf("1fd5f051fba%d,%d,%s,1,RS,2", o.client, o.value, since(o.at, 1e6, 0))
		}},
}
