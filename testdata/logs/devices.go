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
	{"lackey.log", "==12345== Lackey, an example Valgrind tool\n==12345== Command: ls\n==12345==\n", func(a access) string {
		return fmt.Sprintf("I  %08x,3\n %s %08x,8", 0x04000a80+a.volume*4, a.op("L", "S"), 0x1ffe000000+a.sector)
	}},
}
