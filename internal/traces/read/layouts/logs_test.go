package layouts_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

const (
	thesiosHeader = "filename,file_offset,application,c_time,io_zone,redundancy_type,op_type,service_class," +
		"from_flash_cache,cache_hit,request_io_size_bytes,disk_io_size_bytes,response_io_size_bytes,start_time,disk_time," +
		"simulated_disk_start_time,simulated_latency\n"
)

func TestFormatsRefuse(t *testing.T) {
	const good = "5,1,R,0,512\n"
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

		"cachelib-cdn, no header": {"1,2,3\n", "cachelib-cdn", "no header: want a first line that names the columns, among " +
			"them timestamp, cacheKey, objectSize"},
		"cachelib-cdn, header": {"timestamp,cacheKey\n1,2\n", "cachelib-cdn", "line 1: no column objectSize in the header"},
		"tencent-photo, time": {"2016020100120 a 0 o 1 1 PC 1\n", "tencent-photo", `line 1: column 1, time: time ` +
			`"2016020100120": want YYYYMMDDhhmmss`},
		"tencent-photo, month": {"20161301001200 a 0 o 1 1 PC 1\n", "tencent-photo",
			`time "20161301001200": want YYYYMMDDhhmmss`},
		"ibm, request": {"1 REST.GET.OBJECT a 1\n2 REST.LIST.BUCKET a 1\n3 REST.GET.OBJECT a 1\n", "",
			`line 2: column 2, request: operation "REST.LIST.BUCKET": want REST.GET.OBJECT, REST.HEAD.OBJECT`},
		"wikibench, URL": {"1 2 x -\n", "wikibench", `line 1: column 3, url: "x": want a URL`},
		"wikimedia, type": {"1\t2\tmp4\t3\t4\n", "wikimedia",
			`line 1: column 3, image_type: "mp4": want the type of an image`},
		"wikimedia, caches": {"1\tq\timage/png\t3\t4\tcp1 hit\n1\tq\timage/png\t3\t4\tcp1\n2\tq\timage/png\t3\t4\tcp1 hit\n",
			"", `line 2: column 6, X_Cache: "cp1": want caches that say hit, miss or pass`},
		"lrb, id":         {"1 a 3\n", "lrb", `line 1: column 2, id: "a": want a whole number`},
		"lrb, two":        {"1 2\n", "lrb", "line 1: 2 columns: want 3, as time, id, size"},
		"thesios, offset": {thesiosHeader + "aa,4096,app,1\n", "", "line 2: 4 columns: want 17"},
		"youtube, time":   {"x a b GETVIDEO v\n", "youtube", `line 1: column 1, time: time "x"`},
		"times, ids and sizes in commas": {"1,7,20\n2,8,30\n2,7,20\n3,8,30\n4,9,5\n5,7,20\n", "",
			"could be csv or lrb; name the right one with --input-format NAME"},
	} {
		t.Run(name, func(t *testing.T) {
			records, err := tracetest.ReadText(t, c.content, c.format)
			must.Fail(t, err, c.want, records)
		})
	}
}

// TestUnsureFormats: three numbers are not taken for times, ids and sizes unless they behave like that.
func TestUnsureFormats(t *testing.T) {
	for name, content := range map[string]string{
		"too few":             "1 7 20\n2 8 30\n2 7 20\n",
		"another size":        "1 7 20\n2 8 30\n2 7 21\n3 8 30\n4 9 5\n5 7 20\n",
		"times that go back":  "1 7 20\n5 8 30\n2 7 20\n3 8 30\n4 9 5\n5 7 20\n",
		"one size for all":    "1 7 20\n2 8 20\n2 7 20\n3 8 20\n4 9 20\n5 7 20\n",
		"objects come once":   "1 7 20\n2 8 30\n2 9 20\n3 10 30\n4 11 5\n5 12 20\n",
		"lines are counted":   "1 7 20\n2 8 30\n3 7 20\n4 8 30\n5 9 5\n6 7 20\n",
		"batches of keys":     "1 7 20\n2 8 30 5\n2 7 20\n3 8 30\n4 9 5\n5 7 20\n",
		"too many columns":    strings.ReplaceAll("1 7 20;2 8 30;2 7 20;3 8 30;4 9 5;5 7 20;", ";", " 1 2 3 4 5\n"),
		"not all are numbers": "1 7 20\n2 b 30\n2 c 20\n3 d 30\n4 e 5\n5 f 20\n",
	} {
		if s, err := tracetest.OpenText(t, content, ""); err == nil && s.Info.Format == "lrb" {
			t.Errorf("%s: read as lrb", name)
		}
	}
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
