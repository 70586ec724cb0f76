package logs

import "fmt"

// deviceKind is a trace of a block device or of a processor.
type deviceKind struct {
	file, head string
	line       func(access) string
}

var deviceKinds = []deviceKind{
	// UMass Trace Repository: SPC, of application, address, bytes, operation, seconds.
	{"Financial1.spc", "", func(a access) string {
		return fmt.Sprintf("%d,%d,%d,%s,%s", a.volume-1, a.sector, a.bytes, a.op("r", "w"), since(a.at, 1e9, 6))
	}},
	// DFTracer, before its paths had hashes: events of Chrome's format, with numbers as strings.
	{"dftracer-0.pfw", "[\n", func(a access) string {
		return fmt.Sprintf(`{"id":"%d","name":"%s","cat":"POSIX","pid":"7","tid":"9","ts":"%d","dur":"41","ph":"X","args":`+
			`{"hostname":"node1","fname":"/data/%d.npz","ret":"%d","count":"%d","offset":"%d","fd":18}}`, a.sector,
			a.op("pread", "pwrite"), a.at.UnixMicro(), a.volume, a.bytes, a.bytes, a.sector*512)
	}},
	// SNIA IOTTA, Systor '17: seconds, response time, operation, LUN, byte, bytes.
	{"2016022212-LUN0.csv", "Timestamp,Response,IOType,LUN,Offset,Size\n", func(a access) string {
		return fmt.Sprintf("%d.%09d,0.000173,%s,0,%d,%d", a.at.Unix(), a.at.Nanosecond(), a.op("R", "W"), a.sector*512,
			a.bytes)
	}},
	// SNIA IOTTA, FIU: nanoseconds, process, name, sector, sectors, operation, major, minor, MD5.
	{"webmail.blkparse", "", func(a access) string {
		return fmt.Sprintf("%d 4892 syslogd %d %d %s 6 0 df3ec1b3b2c5b9a5c3e0e5b7e6a7f1d2", a.at.UnixNano(), a.sector,
			a.bytes/512, a.op("R", "W"))
	}},
	// SNIA IOTTA, Tencent CBS: seconds, sector, sectors, operation, volume.
	{"tencent-cbs.tr", "", func(a access) string {
		return fmt.Sprintf("%d,%d,%d,%s,%d", a.at.Unix(), a.sector, a.bytes/512, a.op("0", "1"), 1060+a.volume)
	}},
	// SNIA IOTTA, MSR Cambridge: FILETIME, host, disk, operation, byte, bytes, response time.
	{"hm_0.csv", "", func(a access) string {
		return fmt.Sprintf("%d,hm,0,%s,%d,%d,1301", a.at.UnixNano()/100+116444736000000000, a.op("Read", "Write"),
			a.sector*512, a.bytes)
	}},
	// Alibaba block traces: volume, operation, byte, bytes, microseconds.
	{"alibaba-io_traces.csv", "", func(a access) string {
		return fmt.Sprintf("%d,%s,%d,%d,%d", a.volume, a.op("R", "W"), a.sector*512, a.bytes, a.at.UnixMicro())
	}},
	// valgrind --tool=lackey --trace-mem=yes.
	{"lackey.log", "==12345== Lackey, an example Valgrind tool\n==12345== Command: ls\n==12345==\n",
		func(a access) string {
			return fmt.Sprintf("I  %08x,3\n %s %08x,8", 0x04000a80+a.volume*4, a.op("L", "S"), 0x1ffe000000+a.sector)
		}},
	// SNIA IOTTA, K5cloud: volume, seconds, operation, byte, bytes.
	{"k5cloud-0.csv", "", func(a access) string {
		return fmt.Sprintf("%d,%s,%s,%d,%d", 2263+a.volume, since(a.at, 1e9, 9), a.op("R", "W"), a.sector*512, a.bytes)
	}},
	// SNIA IOTTA, Microsoft Production Server: events of Windows, and a header that names their columns.
	{"exchange-etw.csv", "BeginHeader\n" +
		"               DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr,   ByteOffset," +
		"     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime\nEndHeader\n", func(a access) string {
		return fmt.Sprintf("%23s, %10s,      store.exe (2376),      12260, 0xfffffade691b3010, 0x%010x, 0x%08x,        4388,"+
			"        %d, 0x000901,        4388", a.op("DiskRead", "DiskWrite"), since(a.at, 1e3, 0), a.sector*512, a.bytes,
			a.volume)
	}},
	// CMU PDL, Baleen: block, byte, bytes, seconds, operation, namespace, user, shard, requests, host.
	{"baleen-full_0_0.1.trace",
		"# block_id io_offset io_size op_time op_name user_namespace user_name rs_shard_id op_count host_name\n",
		func(a access) string {
			return fmt.Sprintf("%d %d %d %s %s 1 %d %d 1 22", 12034567+a.sector/64, a.sector%64*65536, a.bytes*32,
				since(a.at, 1e9, 6), a.op("2", "4"), a.volume, a.sector%3)
		}},
	// Camelab: time, operation, sector, sectors.
	{"camelab-24HR.trace", "", func(a access) string {
		return fmt.Sprintf("%s %s %d %d", since(a.at, 1e9, 6), a.op("R", "W"), a.sector, a.bytes/512)
	}},
	// UC San Diego, CSE 240A: load or store, address, instructions since the last access.
	{"gcc.trace", "", func(a access) string {
		return fmt.Sprintf("%s 0x%08x %d", a.op("l", "s"), 0x1fff0000+a.sector*8, a.volume)
	}},
}
