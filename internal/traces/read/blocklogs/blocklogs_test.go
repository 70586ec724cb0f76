package blocklogs_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// TestDevices reads each format, and writes what it reads as "seconds job path offset length".
func TestDevices(t *testing.T) {
	for name, c := range map[string]struct{ content, format, want string }{
		"msr": {"128166372003061629,hm,1,Read,383496192,32768,413\n128166372013061629,hm,1,Write,0,512,413\n", "",
			"1172163600.3061629 hm hm/1 383496192 32768"},
		"alibaba": {"419,W,8792731648,16384,1577808144360767\n725,R,59110326272,360448,1577808144360813\n", "alibaba:" +
			"ops=accesses", "1577808144.360767 419 419 8792731648 16384\n1577808144.360813 725 725 59110326272 360448"},
		"tencent-block": {"1538323200,10,8,0,1283\n1538323200,2,1,1,1360\n", "tencent-block",
			"1538323200 1283 1283 5120 4096"},
		"tencent-block by its content": {"1538323200,10,8,0,1283\n1538323201,2,16,0,1283\n", "",
			"1538323200 1283 1283 5120 4096\n1538323201 1283 1283 1024 8192"},
		"k5cloud": {"17,86400.125000000,R,48234496,4096\n17,86400.13,W,0,512\n", "",
			"86400.125 17 17 48234496 4096"},
		"spc": {"0,20,8192,W,0.551706\n1,3,3584,r,0.554041,x,1\n0,1,512,R,0.6\n", "",
			"0.554041 1 1 1536 3584\n0.6 0 0 512 512"},
		"systor": {"Timestamp,Response,IOType,LUN,Offset,Size\n7.029122000,0.000187,W,1,0,4096\n8.5,,R,2,512,1024\n", "",
			"8.5 2 2 512 1024"},
		"systor without a header": {"7.029122000,0.000187,R,1,0,4096\n", "", "7.029122 1 1 0 4096"},
		"fiu": {"89966999999 4711 syslogd 904 8 W 6 0 00112233\n90966999999 4711 gzip 905 16 R 6 0 00112233\n", "",
			"90.966999999 gzip 6/0 463360 8192"},
		"camelab": {"0.000000 R 5637144 8\n0.000031 W 1234568 16\n", "", "0  disk 2886217728 4096"},
		"etw": {"BeginHeader\n DiskRead, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, " +
			"ElapsedTime, DiskNum\nEndHeader\n DiskReadInit, 5, x ( 1), 2, 0x0\n" +
			" DiskRead, 125000, database.exe (42), 1200, 0xfffffade00000010, 0x00000e00, 0x00002000, 4388, 4, 0x1\n" +
			"DiskWrite, 5, p (0), 0, 0x0, 0x0, 0x10, 0, 4, 0x0\n", "", "0.125 database.exe (42) 4 3584 8192"},
		"baleen": {"# block_id io_offset io_size op_time op_name user_namespace user_name rs_shard_id op_count host_name\n" +
			"12 131072 131072 5.5 2 1 7 3 1 22\n12 0 131072 6 4 1 7 3 1 22\n", "", "5.5 7 12/3 131072 131072"},
		"baleen with pipelines": {"# block_id io_offset io_size op_time op_name pipeline user_namespace user_name\n" +
			"12 0 1 5.5 1 9 1 7\n", "", "5.5 7 12 0 1"},
		"baleen without a header": {"12 0 1 5.5 5 1 7 3 1 22\n12 0 1 5.5 1 1 7 3 1 22\n", "baleen",
			"5.5 7 12/3 0 1\n5.5 7 12/3 0 1"},
		"baleen of 8 columns, no header": {"12 0 1 5.5 1 9 1 7\n", "baleen", "5.5  12 0 1"},
		"baleen of CacheLib": {"op_time,block_id,block_id_size,io_size,io_offset,user_name,user_namespace,op_name,op_count," +
			"host_name,rs_shard_id\n5,12,40,4096,8192,u7,n1,getChunkData.Permanent,1,h1,3\n" +
			"5,12,40,4096,8192,u7,n1,putChunk.Permanent,1,h1,3\n", "", "5 u7 12/3 8192 4096"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := tracetest.OpenText(t, c.content, c.format)
			must.Do(t, err)
			var reads []string
			records, err := tracetest.DrainQueries(s)
			must.Do(t, err)
			for i := range records {
				if head := files.HeadOf(&records[i]); head != nil {
					at := strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.9f", float64(records[i].Time)/1e9), "0"), ".")
					if records[i].Time > 1e15 { // which a float cannot hold
						at = strings.TrimRight(fmt.Sprintf("%d.%09d", records[i].Time/1e9, records[i].Time%1e9), "0")
						at = strings.TrimRight(at, ".")
					}
					reads = append(reads, fmt.Sprintf("%s %s %s %d %d", at, head.Job, head.Path, head.Offset, head.Length))
				}
			}
			if got := strings.Join(reads, "\n"); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

func line(op stream.Op, numbers ...uint64) (records []stream.Record) {
	for _, n := range numbers {
		records = append(records, stream.Record{Num: n, Op: op, Size: 64})
	}
	return records
}

func join(parts ...[]stream.Record) (all []stream.Record) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// instruction is a record of ChampSim.
func instruction(ip uint64, branch byte, stores [2]uint64, loads [4]uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, ip)
	b = append(b, branch, branch, 1, 0, 2, 3, 0, 0)
	for _, a := range append(stores[:], loads[:]...) {
		b = binary.LittleEndian.AppendUint64(b, a)
	}
	return b
}

func TestMemory(t *testing.T) {
	read, write := stream.OpRead, stream.OpWrite
	lackey := "==4711== Lackey, an example tool\nI  00000040,3\n L 0000007f,1\n S 0000007e,4\n M 00000100,8\n"
	champ := string(bytes.Join([][]byte{
		instruction(0x400, 0, [2]uint64{0x1000, 0}, [4]uint64{0x40, 0, 0x80, 0}), instruction(0x404, 1, [2]uint64{},
			[4]uint64{}),
		instruction(0x500, 0, [2]uint64{}, [4]uint64{0x44, 0, 0, 0})}, nil))
	for name, c := range map[string]struct {
		content, format string
		want            []stream.Record
	}{
		"lackey":                   {lackey, "", join(line(read, 1), line(write, 1, 2, 4))},
		"lackey with instructions": {lackey, "lackey:instructions=true", join(line(read, 1, 1), line(write, 1, 2, 4))},
		"address": {"s 0x00401f50 1 200 1200\nl 0x00401f58 1\n", "", join(line(write, 0x1007d), line(read,
			0x1007d))},
		"address, single ones": {"s 0x10 1\nl 0x11 1\n", "address:line=1", []stream.Record{
			{Num: 16, Op: write, Size: 1}, {Num: 17, Op: read, Size: 1}}},
		"champsim": {champ, "champsim", join(line(read, 1, 2), line(write, 64), line(read, 1))},
		"champsim with instructions": {champ, "champsim:instructions=true",
			join(line(read, 16, 1, 2), line(write, 64), line(read, 16, 20, 1))},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tracetest.ReadText(t, c.content, c.format)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestChampSimIsRecognised(t *testing.T) {
	var trace []byte
	random := rand.New(rand.NewPCG(1, 1))
	for i := range uint64(40) {
		trace = append(trace, instruction(0x401000+4*i, 0, [2]uint64{}, [4]uint64{random.Uint64()})...)
	}
	s, err := tracetest.OpenText(t, string(trace), "")
	must.Do(t, err)
	if s.Info.Format != "champsim" {
		t.Errorf("read as %s", s.Info.Format)
	}
}

func TestRefuse(t *testing.T) {
	good := "5,1,R,0,512\n"
	champ := string(instruction(0x400, 0, [2]uint64{}, [4]uint64{0x40}))
	for name, c := range map[string]struct{ content, format, want string }{
		"tencent-block, by itself": {"1538323200,10,8,0,1283\n1538323200,2,1,1,1360\n", "", "could be csv or tencent-block"},
		"tencent-block, times that go back": {"1538323201,10,8,0,1283\n1538323200,2,8,1,1360\n", "",
			"could be csv or tencent-block"},
		"tencent-block, time": {"5,10,8,0,1283\n", "tencent-block",
			`line 1: column 1, time: time "5": want seconds since 1970`},
		"msr, columns": {"1,2,3\n", "msr", "3 columns: want 7"},
		"msr, time":    {"5,hm,1,Read,0,512,1\n", "msr", "want a number of 100 ns from 1601"},
		"alibaba, op":  {"1,X,0,512,5\n", "alibaba", "want R or W"},
		"k5cloud, offset": {good + "5,1,R,x,512\n" + good, "",
			`line 2: column 4, offset: offset "x": want a whole number`},
		"k5cloud, too far": {good + "5,1,R,1125899906842625,512\n" + good, "",
			`line 2: column 4, offset: offset "112589990684`},
		"k5cloud, volume": {good + "a,1,R,0,512\n" + good, "", `line 2: column 1, volume: "a": want a whole number`},
		"spc, sectors": {"0,2199023255553,1,R,0\n", "spc",
			`offset "2199023255553": want a whole number from 0 to 2199023255552`},
		"fiu, op": {"1 2 x 3 4 X 6 0\n", "fiu", `line 1: column 6, operation: operation "X": want R or W`},
		"etw, offset": {"DiskRead, 1, p, 2, 0x0, 0xg, 0x1, 1, 4\n", "etw",
			`line 1: column 6, offset: "0xg": want a hexadecimal`},
		"baleen, op": {"12 0 1 5.5 9 1 7 3 1 22\n", "baleen",
			`line 1: column 5, op_name: operation "9": want 1, 2, 5`},
		"lackey, size": {" L 40,1\n L 40,x\n L 40,1\n", "",
			`line 2: "40,x": want a hexadecimal address, a comma and a size`},
		"lackey, op":      {" L 40,1\n X 40,1\n L 40,1\n", "", `line 2: " X 40,1": want I, L, S or M`},
		"lackey, short":   {" L 40,1\n L\n L 40,1\n", "", `line 2: " L": want I, L, S or M, an address and a size`},
		"address, number": {"l 0x1 1\nl 0xg 1\n", "address", `line 2: address "g": want a hexadecimal number`},
		"address, words": {"l 1 1\n", "address",
			`line 1: "l 1 1": want l or s, and an address that begins with 0x`},
		"champsim, branch": {champ + strings.Replace(champ, "\x00\x00\x01", "\x02\x00\x01", 1), "champsim",
			"record 2 says 2 and 0 where a branch"},
		"champsim, cut": {champ + "abc", "champsim", "byte 64: the file is cut off within a record"},
	} {
		t.Run(name, func(t *testing.T) {
			records, err := tracetest.ReadText(t, c.content, c.format)
			must.Fail(t, err, c.want, records)
		})
	}
}

func FuzzMSR(f *testing.F)     { tracetest.Fuzz(f, "msr", tracetest.ExampleOf(f, "msr")) }
func FuzzAlibaba(f *testing.F) { tracetest.Fuzz(f, "alibaba", tracetest.ExampleOf(f, "alibaba")) }
func FuzzTencent(f *testing.F) {
	tracetest.Fuzz(f, "tencent-block", tracetest.ExampleOf(f, "tencent-block"))
}
func FuzzK5(f *testing.F)      { tracetest.Fuzz(f, "k5cloud", tracetest.ExampleOf(f, "k5cloud")) }
func FuzzSPC(f *testing.F)     { tracetest.Fuzz(f, "spc", tracetest.ExampleOf(f, "spc")) }
func FuzzSystor(f *testing.F)  { tracetest.Fuzz(f, "systor", tracetest.ExampleOf(f, "systor")) }
func FuzzFIU(f *testing.F)     { tracetest.Fuzz(f, "fiu", tracetest.ExampleOf(f, "fiu")) }
func FuzzCamelab(f *testing.F) { tracetest.Fuzz(f, "camelab", tracetest.ExampleOf(f, "camelab")) }
func FuzzETW(f *testing.F)     { tracetest.Fuzz(f, "etw", tracetest.ExampleOf(f, "etw")) }
func FuzzBaleen(f *testing.F) {
	tracetest.Fuzz(f, "baleen", tracetest.ExampleOf(f, "baleen"), "12 0 1 5.5 1 9 1 7\n")
}
func FuzzLackey(f *testing.F) {
	tracetest.Fuzz(f, "lackey", tracetest.ExampleOf(f, "lackey"), "==1==\n")
}
func FuzzAddress(f *testing.F) { tracetest.Fuzz(f, "address", tracetest.ExampleOf(f, "address")) }

func FuzzChampSim(f *testing.F) {
	tracetest.Fuzz(f, "champsim:instructions=true",
		string(instruction(0x400, 1, [2]uint64{1<<64 - 1}, [4]uint64{0x40, 0, 1 << 63})))
}

func BenchmarkAlibaba(b *testing.B) {
	const lines = 300_000
	var content bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&content, "%d,R,%d,4096,%d\n", i%700, uint64(i)*4096%(1<<36), 1577808144360767+i)
	}
	tracetest.BenchmarkRead(b, content.Bytes(), "", lines)
}

// With ops=accesses, the blocks of writes are requests that write, which --writes tells apart.
func TestWritesOfDevices(t *testing.T) {
	const text = "128166372003061629,hm,0,Read,0,8192,100\n128166372013061629,hm,0,Write,4096,4096,100\n" +
		"128166372023061629,hm,0,Read,4096,4096,100\n"
	for mode, want := range map[string]string{
		"":           "writes count (1 of 4 requests)",
		"invalidate": "writes invalidate (1 of 4 requests)",
	} {
		tr := tracetest.MustLoadText(t, text, read.Options{Selection: read.Selection{Format: "msr:ops=accesses",
			Writes: mode}})
		if got := tr.Written.Text(); got != want {
			t.Errorf("writes %q: %s, want %s", mode, got, want)
		}
		if removed := len(tr.Removals) == 1; removed != (mode == "invalidate") || removed && len(tr.Objects) != 3 {
			t.Errorf("writes %q: %d requests, removals %v", mode, len(tr.Objects), tr.Removals)
		}
	}
	reads := read.Options{Selection: read.Selection{Format: "msr"}}
	if tr := tracetest.MustLoadText(t, text, reads); tr.Ops != nil {
		t.Errorf("reads alone have operations %v", tr.Ops)
	}
}
