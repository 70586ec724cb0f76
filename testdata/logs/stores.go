package logs

// storeKinds are logs of key-value stores, and published traces of them.
var storeKinds = []kind{
	// Redis, "MONITOR": what redis-cli prints.
	{"redis-monitor.log", "OK\n", `{{.Unix 6}} [0 10.0.0.{{.Client}}:60866] ` +
		`{{if eq .Name "get"}}"GET" "{{.Key}}"{{else if eq .Name "delete"}}"DEL" "{{.Key}}"` +
		`{{else}}"SET" "{{.Key}}" "{{repeat "x" .Value}}" "EX" "{{.TTL}}"{{end}}`},
	// memcached, doc/protocol.txt: "watch fetchers mutations". A store looks for the key, too, and logs that as a get.
	{"memcached-watch.log", "", `ts={{.Unix 6}} gid=1 {{if eq .Name "delete"}}` +
		`type=deleted key={{.Key}} cmd=delete clsid=3 cfd=24 size={{.Value}}` +
		`{{else if .Hit}}type=item_get key={{.Key}} status=found clsid=3 cfd=24 size={{.Value}}` +
		`{{else}}type=item_get key={{.Key}} status=not_found clsid=0 cfd=24 size=0{{if eq .Name "set"}}
ts={{.Unix 6}} gid=1 type=item_store key={{.Key}} status=stored cmd=set ttl={{.TTL}} clsid=3 cfd=24 size={{.Value}}` +
		`{{end}}{{end}}`},
	// twitter/cache-trace: timestamp, key, key size, value size, client, operation, TTL.
	{"twitter-cluster052.csv", "", `{{.Second}},{{.Key}},{{.KeySize}},{{.Value}},{{.Client}},{{.Name}},{{.TTL}}`},
	// CacheLib, "Evaluating SSD hardware for Facebook workloads": the kvcache traces of 2022.
	{"cachelib-kvcache-202206.csv", "key,op,size,op_count,key_size\n",
		`{{add (mul .KeySize 1000) .Value}},{{upper .Name}},{{.Value}},1,{{.KeySize}}`},
	// CacheLib, likewise: the CDN traces of 2023.
	{"cachelib-cdn-202303.csv", "timestamp,cacheKey,OpType,objectSize,responseSize,responseHeaderSize,rangeStart," +
		"rangeEnd,TTL,SamplingRate,cache_hit,item_value,RequestHandler,cdn_content_type_id,vip_type\n",
		`{{.At.Unix}},{{mul .Value 7919}},1,{{.Value}},{{.Value}},356,,,86400,1,{{.Found}},0,ProxygenHandler,1,1`},
	// SNIA IOTTA, IBM Object Store: milliseconds, operation, object, bytes.
	{"IBMObjectStoreTrace000Part0", "", `{{.Since 1e6 0}} ` +
		`REST.{{if eq .Name "set"}}PUT{{else}}{{upper .Name}}{{end}}.OBJECT {{.Hash}} {{.Value}}`},
	// WikiBench: counter, time, URL, flag of an update.
	{"wiki.1190153705", "", `{{add 929840853 .At.Unix}} {{.Unix 3}} ` +
		`http://en.wikipedia.org/wiki/{{replaceAll .Key ":" "_"}} -`},
	// Wikimedia, "Caching": the upload traces of 2019.
	{"cache-u-00.tsv", "relative_unix\thashed_path_query\timage_type\tresponse_size\ttime_firstbyte\n",
		`{{.Second}}	{{mul .Value 104729}}	jpeg	{{.Value}}	0.000123`},
	// LRB and webcachesim2: time, object, bytes.
	{"lrb.tr", "", `{{.Second}} {{.Video}} {{.Value}}`},
	// memcached's proxy, doc/protocol.txt: "watch proxyreqs".
	{"memcached-proxy.log", "OK\n", `ts={{.At.Unix}}.{{.Micros}} gid=1 type=proxy_req elapsed=187 ` +
		`{{if eq .Name "set"}}type=104 code=8{{else if eq .Name "delete"}}type=104 code=10{{else if .Hit}}type=100 code=15` +
		`{{else}}type=105 code=17{{end}} status=0 be=10.0.0.7:11211 detail= ` +
		`req={{.Name}} {{.Key}}{{if eq .Name "set"}} 0 {{.TTL}} {{.Value}}{{end}}`},
	// mcrouter, routes/LoggingRoute.h, with the prefix of glog.
	{"mcrouter.log", "I0301 12:00:00.000000  4711 main.cpp:512] mcrouter --port 5000\n",
		`I{{.As "0102 15:04:05.000000"}}  4711 LoggingRoute.h:63] request key: {{.Key}} response: mc_res_` +
			`{{if eq .Name "set"}}stored{{else if eq .Name "delete"}}deleted{{else if .Hit}}found{{else}}notfound{{end}} ` +
			`responseLength: {{if and .Hit (eq .Name "get")}}{{.Value}}{{else}}0{{end}} user ip: N/A`},
	// SNIA IOTTA, Tencent Photo: date and time, photo, format, size category, bytes, hit, device, milliseconds.
	{"tencent-photo-tr1", "", `{{.As "20060102150405"}} {{printf "%040x" (mul .Value 104729)}} 5 ` +
		`{{printf "%c" (index "laomcb" (mod .Value 6))}} {{.Value}} {{.Found}} PHONE 2`},
	// Google, Thesios: what was read from an offset of a file.
	{"thesios-20240115.csv", "filename,file_offset,application,c_time,io_zone,redundancy_type,op_type,service_class," +
		"from_flash_cache,cache_hit,request_io_size_bytes,disk_io_size_bytes,response_io_size_bytes,start_time,disk_time," +
		"simulated_disk_start_time,simulated_latency\n",
		`{{printf "%x" (mul .Value 104729)}},{{mul .Value 4096}},bigtable,1705276800,WARM,REPLICATED,` +
			`{{if eq .Name "set"}}WRITE{{else}}READ{{end}},LATENCY_SENSITIVE,0,{{.Found}},{{.Value}},{{.Value}},{{.Value}},` +
			`{{.Unix 6}},0.003,{{.At.Unix}}.5,0.004`},
	// UMass Trace Repository, YouTube: seconds, server, client, request, video, address of the content.
	{"youtube.parsed.0301.dat", "",
		`{{.Unix 6}} 10.0.0.1 10.0.1.{{.Client}} GETVIDEO v{{printf "%010d" .Value}} 10.0.2.9`},
	// Kaggle, Outbrain Click Prediction: page views.
	{"page_views_sample.csv", "uuid,document_id,timestamp,platform,geo_location,traffic_source\n",
		`1fd5f051fba{{.Client}},{{.Value}},{{.Since 1e6 0}},1,RS,2`},
}

// deviceKinds are traces of block devices and of processors.
var deviceKinds = []kind{
	// UMass Trace Repository: SPC, of application, address, bytes, operation, seconds.
	{"Financial1.spc", "", `{{add .Volume -1}},{{.Sector}},{{.Bytes}},{{.Op "r" "w"}},{{.Since 1e9 6}}`},
	// DFTracer, before its paths had hashes: events of Chrome's format, with numbers as strings.
	{"dftracer-0.pfw", "[\n", `{"id":"{{.Sector}}","name":"{{.Op "pread" "pwrite"}}","cat":"POSIX","pid":"7","tid":"9",` +
		`"ts":"{{.At.UnixMicro}}","dur":"41","ph":"X","args":{"hostname":"node1","fname":"/data/{{.Volume}}.npz",` +
		`"ret":"{{.Bytes}}","count":"{{.Bytes}}","offset":"{{.Offset}}","fd":18}}`},
	// SNIA IOTTA, Systor '17: seconds, response time, operation, LUN, byte, bytes.
	{"2016022212-LUN0.csv", "Timestamp,Response,IOType,LUN,Offset,Size\n",
		`{{.Unix 9}},0.000173,{{.Op "R" "W"}},0,{{.Offset}},{{.Bytes}}`},
	// SNIA IOTTA, FIU: nanoseconds, process, name, sector, sectors, operation, major, minor, MD5.
	{"webmail.blkparse", "", `{{.At.UnixNano}} 4892 syslogd {{.Sector}} {{.Sectors}} {{.Op "R" "W"}} 6 0 ` +
		`df3ec1b3b2c5b9a5c3e0e5b7e6a7f1d2`},
	// SNIA IOTTA, Tencent CBS: seconds, sector, sectors, operation, volume.
	{"tencent-cbs.tr", "", `{{.At.Unix}},{{.Sector}},{{.Sectors}},{{.Op "0" "1"}},{{add .Volume 1060}}`},
	// SNIA IOTTA, MSR Cambridge: FILETIME, host, disk, operation, byte, bytes, response time.
	{"hm_0.csv", "", `{{.FileTime}},hm,0,{{.Op "Read" "Write"}},{{.Offset}},{{.Bytes}},1301`},
	// Alibaba block traces: volume, operation, byte, bytes, microseconds.
	{"alibaba-io_traces.csv", "", `{{.Volume}},{{.Op "R" "W"}},{{.Offset}},{{.Bytes}},{{.At.UnixMicro}}`},
	// valgrind --tool=lackey --trace-mem=yes.
	{"lackey.log", "==12345== Lackey, an example Valgrind tool\n==12345== Command: ls\n==12345==\n",
		`I  {{printf "%08x" (add 0x04000a80 (mul .Volume 4))}},3
 {{.Op "L" "S"}} {{printf "%08x" (add 0x1ffe000000 .Sector)}},8`},
	// SNIA IOTTA, K5cloud: volume, seconds, operation, byte, bytes.
	{"k5cloud-0.csv", "", `{{add .Volume 2263}},{{.Since 1e9 9}},{{.Op "R" "W"}},{{.Offset}},{{.Bytes}}`},
	// SNIA IOTTA, Microsoft Production Server: events of Windows, and a header that names their columns.
	{"exchange-etw.csv", "BeginHeader\n" +
		"               DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr,   ByteOffset," +
		"     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime\nEndHeader\n",
		`{{printf "%23s" (.Op "DiskRead" "DiskWrite")}}, {{printf "%10s" (.Since 1e3 0)}},      store.exe (2376),      ` +
			`12260, 0xfffffade691b3010, {{printf "0x%010x" .Offset}}, {{printf "0x%08x" .Bytes}},        4388,        ` +
			`{{.Volume}}, 0x000901,        4388`},
	// CMU PDL, Baleen: block, byte, bytes, seconds, operation, namespace, user, shard, requests, host.
	{"baleen-full_0_0.1.trace",
		"# block_id io_offset io_size op_time op_name user_namespace user_name rs_shard_id op_count host_name\n",
		`{{add 12034567 (div .Sector 64)}} {{mul (mod .Sector 64) 65536}} {{mul .Bytes 32}} {{.Since 1e9 6}} ` +
			`{{.Op "2" "4"}} 1 {{.Volume}} {{mod .Sector 3}} 1 22`},
	// Camelab: time, operation, sector, sectors.
	{"camelab-24HR.trace", "", `{{.Since 1e9 6}} {{.Op "R" "W"}} {{.Sector}} {{.Sectors}}`},
	// UC San Diego, CSE 240A: load or store, address, instructions since the last access.
	{"gcc.trace", "", `{{.Op "l" "s"}} {{printf "0x%08x" (add 0x1fff0000 (mul .Sector 8))}} {{.Volume}}`},
}
