package cdnlogs_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

const (
	second = int64(1e9)
	milli  = int64(1e6)
)

const (
	cdnHeader = "timestamp,cacheKey,OpType,objectSize,responseSize,responseHeaderSize,rangeStart,rangeEnd,TTL," +
		"SamplingRate,cache_hit,item_value,RequestHandler,cdn_content_type_id,vip_type\n"
	thesiosHeader = "filename,file_offset,application,c_time,io_zone,redundancy_type,op_type,service_class," +
		"from_flash_cache,cache_hit,request_io_size_bytes,disk_io_size_bytes,response_io_size_bytes,start_time,disk_time," +
		"simulated_disk_start_time,simulated_latency\n"
	photo = "75ea2b1d46b9ac3a3a3b4d79dc45a7a4"
)

func TestFormats(t *testing.T) {
	for name, c := range map[string]struct {
		content, format string
		want            []stream.Record
	}{
		"cachelib-cdn": {cdnHeader + "5,17,1,262144,900,1102,0,899,3600,0.2,1,0,7,12,3\n" +
			"1678806611123,ab,1,10,10,1102,-1,-1,0,0.2,0,0,7,-,3\n", "", []stream.Record{
			{Num: 17, Time: 5 * second, Size: 262144, TTL: 3600 * second, Served: stream.ServedHit},
			{Text: []byte("ab"), Time: 1678806611123 * milli, Size: 10, Served: stream.ServedMiss}}},
		"cachelib-cdn, columns in another order": {"cacheKey,objectSize,timestamp\nab,1,2\n", "", []stream.Record{
			{Text: []byte("ab"), Time: 2 * second, Size: 1}}},

		"tencent-photo": {"20160201001200 " + photo + " 0 o 68453 1 PC 1\n20160201001201 " + photo + " 5 l 9 0 PHONE 0\n",
			"", []stream.Record{
				{Text: []byte(photo + "|0|o"), Time: 1454285520 * second, Size: 68453, Served: stream.ServedHit},
				{Text: []byte(photo + "|5|l"), Time: 1454285521 * second, Size: 9, Served: stream.ServedMiss}}},

		"ibm": {"0 REST.PUT.OBJECT 8d4f 1056\n250 REST.GET.OBJECT 8d4f 1056 0 1055\n300 REST.HEAD.OBJECT 8d4f\n" +
			"400 REST.DELETE.OBJECT 8d4f\n500 REST.GET.OBJECT 86 0 0 -1\n", "", []stream.Record{
			{Text: []byte("8d4f"), Size: 1056, Op: stream.OpWrite},
			{Text: []byte("8d4f"), Time: 250 * milli, Size: 1056, Op: stream.OpRead},
			{Text: []byte("8d4f"), Time: 300 * milli, SizeUnknown: true, Op: stream.OpRead},
			{Text: []byte("8d4f"), Time: 400 * milli, SizeUnknown: true, Op: stream.OpDelete},
			{Num: 86, Time: 500 * milli, Op: stream.OpRead}}},

		"wikibench": {"1 1190146240.250 http://en.wikipedia.org/wiki/A -\n" +
			"2 1190146240.5 http://en.wikipedia.org/wiki/A save\n",
			"", []stream.Record{
				{Text: []byte("http://en.wikipedia.org/wiki/A"), Time: 1190146240250 * milli, Op: stream.OpRead},
				{Text: []byte("http://en.wikipedia.org/wiki/A"), Time: 1190146240500 * milli, Op: stream.OpWrite}}},

		"wikimedia, images of 2019": {"relative_unix\thashed_path_query\timage_type\tresponse_size\ttime_firstbyte\n" +
			"3\t833946053\tjpeg\t68412\t1.31e-4\n", "", []stream.Record{{Num: 833946053, Time: 3 * second, Size: 68412}}},
		"wikimedia, images of 2019 without a header": {"3\t-833946053\tjpeg\t68412\t1.31e-4\n", "",
			[]stream.Record{{Text: []byte("-833946053"), Time: 3 * second, Size: 68412}}},
		"wikimedia, text of 2019": {"relative_unix\thashed_host_path_query\tresponse_size\ttime_firstbyte\n" +
			"3\t8339\t68412\t0.1\n", "", []stream.Record{{Num: 8339, Time: 3 * second, Size: 68412}}},
		"wikimedia, 2016": {"77\t?w=1\timage/png\t500\t0.2\tcp1066 hit/6, cp4006 miss\n" +
			"78\t\timage/png\t50\t0.2\tcp1066 miss, cp4006 hit/3\n", "", []stream.Record{
			{Num: 77, Size: 500, Served: stream.ServedMiss}, {Num: 78, Size: 50, Served: stream.ServedHit}}},

		"lrb": {"1 7 20\n2 8 30\n2 7 20\n3 8 30\n4 9 5\n5 7 20\n", "", []stream.Record{
			{Num: 7, Time: second, Size: 20}, {Num: 8, Time: 2 * second, Size: 30}, {Num: 7, Time: 2 * second, Size: 20},
			{Num: 8, Time: 3 * second, Size: 30}, {Num: 9, Time: 4 * second, Size: 5}, {Num: 7, Time: 5 * second, Size: 20}}},
		"lrb, features": {"1 7 20 1 2\n2 8 30 1 3\n", "lrb", []stream.Record{
			{Num: 7, Time: second, Size: 20}, {Num: 8, Time: 2 * second, Size: 30}}},
		"lrb, commas": {"1,7,20\n2,8,30\n", "lrb", []stream.Record{
			{Num: 7, Time: second, Size: 20}, {Num: 8, Time: 2 * second, Size: 30}}},

		"thesios": {thesiosHeader + "aa,4096,app,1,COLD,REPLICATED,READ,OTHER,0,1,512,0,512,1.5,0.03,1.5,0.03\n" +
			thesiosHeader + "aa,0,app,1,COLD,REPLICATED,WRITE,OTHER,0,-1,0,0,0,2,0,2,0\n", "", []stream.Record{
			{Text: []byte("aa|4096"), Time: 1500 * milli, Size: 512, Op: stream.OpRead, Served: stream.ServedHit},
			{Text: []byte("aa|0"), Time: 2 * second, Op: stream.OpWrite}}},

		"youtube": {"7.5 10.0.0.1 10.0.1.7 GETVIDEO kD2xq8fT0aQ 10.0.2.9\n" +
			"8 10.0.0.1 10.0.1.7 GETTHUMB x 10.0.2.9\n", "",
			[]stream.Record{{Text: []byte("kD2xq8fT0aQ"), Time: 7500 * milli}}},

		"outbrain": {"uuid,document_id,timestamp,platform,geo_location,traffic_source\n1fd5,120,31905835,1,RS,2\n", "",
			[]stream.Record{{Num: 120, Time: 31905835 * milli}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tracetest.ReadText(t, c.content, c.format)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestFormatsRefuse(t *testing.T) {
	for name, c := range map[string]struct{ content, format, want string }{
		"cachelib-cdn, no header": {"1,2,3\n", "cachelib-cdn", "no header: want a first line that names the columns, among " +
			"them timestamp, cacheKey, objectSize"},
		"cachelib-cdn, header": {"timestamp,cacheKey\n1,2\n", "cachelib-cdn", "line 1: no column objectSize in the header"},
		"tencent-photo, time": {"2016020100120 a 0 o 1 1 PC 1\n", "tencent-photo", `line 1: column 1, time: time ` +
			`"2016020100120": want 14 digits`},
		"tencent-photo, month": {"20161301001200 a 0 o 1 1 PC 1\n", "tencent-photo", "time 20161301001200: want year, month"},
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

func FuzzCDN(f *testing.F) { tracetest.Fuzz(f, "cachelib-cdn", tracetest.ExampleOf(f, "cachelib-cdn")) }
func FuzzPhoto(f *testing.F) {
	tracetest.Fuzz(f, "tencent-photo", tracetest.ExampleOf(f, "tencent-photo"))
}
func FuzzIBM(f *testing.F)     { tracetest.Fuzz(f, "ibm", tracetest.ExampleOf(f, "ibm")) }
func FuzzBench(f *testing.F)   { tracetest.Fuzz(f, "wikibench", tracetest.ExampleOf(f, "wikibench")) }
func FuzzLRB(f *testing.F)     { tracetest.Fuzz(f, "lrb", tracetest.ExampleOf(f, "lrb"), "1,2,3\n") }
func FuzzThesios(f *testing.F) { tracetest.Fuzz(f, "thesios", tracetest.ExampleOf(f, "thesios")) }
func FuzzYouTube(f *testing.F) { tracetest.Fuzz(f, "youtube", tracetest.ExampleOf(f, "youtube")) }

func FuzzOutbrain(f *testing.F) { tracetest.Fuzz(f, "outbrain", tracetest.ExampleOf(f, "outbrain")) }

func FuzzWikimedia(f *testing.F) {
	tracetest.Fuzz(f, "wikimedia", tracetest.ExampleOf(f, "wikimedia"), "77\t\timage/png\t5\t0.2\tcp1 hit/6, cp4 miss\n",
		"relative_unix\thashed_host_path_query\tresponse_size\ttime_firstbyte\n3\t8\t6\t0.1\n")
}
