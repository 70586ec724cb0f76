package formats_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

const second = int64(1e9)

func TestTextFormats(t *testing.T) {
	for name, c := range map[string]struct {
		content, format string
		want            []stream.Record
	}{
		"arc":                {"7 2 0 0\n3 1 0 1\n", "", []stream.Record{num(7), num(8), num(3)}},
		"arc by its content": {"1 1 0 0\r\n 2\t1  0 9 \r\n\n", "", []stream.Record{num(1), num(2)}},
		"arc, last block": {"18446744073709551614 2 5 0\n1 1 0 0\n", "arc", []stream.Record{num(1<<64 - 2), num(1<<64 - 1),
			num(1)}},

		"csv, comments before the header and between rows": {"# made by an exporter, v1\ntime,key,size\n0,a,10\n# restart\n" +
			"1,b,20\n#,c,30\n", "csv:time=none", []stream.Record{{Text: []byte("a"), Size: 10}, {Text: []byte("b"), Size: 20},
			{Text: []byte("c"), Size: 30}}},
		"csv, a header after #": {"#time,obj_id,size\n5,7,10\n6,8,10\n", "", []stream.Record{
			{Num: 7, Time: 5 * second, Size: 10}, {Num: 8, Time: 6 * second, Size: 10}}},
		"csv, codes of operations": {"# time (ms), op [Put:0, Get:1, Delete: 2], id, size\n0,0,A,9\n500,1,A,9\n900,2,A,9\n",
			"csv:key=3,time=1,time-unit=ms,op=2,op-codes=0:put|1:get|2:delete", []stream.Record{
				{Text: []byte("A"), Op: stream.OpWrite},
				{Text: []byte("A"), Time: second / 2, Op: stream.OpRead},
				{Text: []byte("A"), Time: second * 9 / 10, Op: stream.OpDelete}}},
		"csv, keys that begin with #": {"key\n#a\n#b\n", "", []stream.Record{{Text: []byte("#a")}, {Text: []byte("#b")}}},

		"lirs":             {"*\n5\n\n6\n*\n5\n\n", "", []stream.Record{num(5), num(6), num(5)}},
		"lirs with blanks": {" 5 \r\n *\r\n06\r\n", "lirs", []stream.Record{num(5), num(6)}},

		"seq-id-size": {"1 0 68\n2 1 7454\n3 0 70\n", "", []stream.Record{
			{Text: []byte("0/68"), Size: 68}, {Text: []byte("1/7454"), Size: 7454}, {Text: []byte("0/70"), Size: 70}}},
		"seq-id-size by id": {"1 5 68\n2 1 0\n", "seq-id-size:key=id", []stream.Record{{Num: 5, Size: 68}, {Num: 1}}},

		"rating": {"1::0104257::7::30\n2::55::7.5::10\n3::55::1::30\n", "", []stream.Record{
			{Num: 55, Time: 10 * second}, {Text: []byte("0104257"), Time: 30 * second}, {Num: 55, Time: 30 * second}}},
		"rating by user in the order of the file": {"1::2::7::30\n2::55::7.5::10\n", "rating:key=user,sort=false",
			[]stream.Record{
				{Num: 1, Time: 30 * second}, {Num: 2, Time: 10 * second}}},

		"cachelib": {"op_time,key,key_size,op,op_count,size,ttl\n9,ab,10,GET,2,87,0\n9,7,5,SET,1,1,0\n" +
			"10,7,5,GET_LEASE,1,0,0\n", "cachelib:ops=reads,repeat=true", []stream.Record{
			{Text: []byte("ab"), Size: 87, KeySize: 10, Time: 9 * second, Op: stream.OpRead},
			{Text: []byte("ab"), Size: 87, KeySize: 10, Time: 9 * second, Op: stream.OpRead},
			{Num: 7, SizeUnknown: true, KeySize: 5, Time: 10 * second, Op: stream.OpRead}}},
		"cachelib, hits and times to live": {"op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase\n" +
			"1,a,1,GET,3,9,2,0,4\n2,a,1,SET,1,9,0,60,4\n3,b,1,GET,2,9,2,0,4\n3,b,1,GET,2,0,0,0,4\n", "cachelib",
			[]stream.Record{{Text: []byte("a"), Time: second, Size: 9, KeySize: 1, Op: stream.OpRead},
				{Text: []byte("a"), Time: 2 * second, Size: 9, KeySize: 1, Op: stream.OpWrite, TTL: 60 * second},
				{Text: []byte("b"), Time: 3 * second, Size: 9, KeySize: 1, Op: stream.OpRead, Served: stream.ServedHit},
				{Text: []byte("b"), Time: 3 * second, SizeUnknown: true, KeySize: 1, Op: stream.OpRead,
					Served: stream.ServedMiss}}},
		"cachelib, the hits of repeated rows": {"key,key_size,op,op_count,size,cache_hits\na,1,GET,3,9,2\n",
			"cachelib:repeat=true", []stream.Record{
				{Text: []byte("a"), Size: 9, KeySize: 1, Op: stream.OpRead, Served: stream.ServedMiss},
				{Text: []byte("a"), Size: 9, KeySize: 1, Op: stream.OpRead, Served: stream.ServedHit},
				{Text: []byte("a"), Size: 9, KeySize: 1, Op: stream.OpRead, Served: stream.ServedHit}}},
		"cachelib, every row once": {"key,op,size,op_count\n1,GET,87,9\n2,SET,1,1\n3,DELETE,0,1\n", "cachelib:size=value",
			[]stream.Record{
				{Num: 1, Size: 87, Op: stream.OpRead}, {Num: 2, Size: 1, Op: stream.OpWrite},
				{Num: 3, SizeUnknown: true, Op: stream.OpDelete}}},

		"csv":       {"time,key,size,op\n0.5,a,10,get\n1,2,20,set\n", "", csvWant()},
		"tsv":       {"Timestamp\tObj-ID\tBytes\tOperation\n0.5\ta\t10\tGET\n1\t2\t20\tPut\n", "", csvWant()},
		"semicolon": {"ts;id;len;cmd\r\n0.5;a;10;r\r\n1;2;20;w", "", csvWant()},
		"pipe":      {"ts|id|len|cmd\n0.5|a|10|r\n1|2|20|w\n\n\n", "", csvWant()},
		"space":     {"time key  size op\n0.5 a 10  get\n  1 2 20 set\n", "", csvWant()},
		"sizes that are unknown": {"key,size\n7,\n7,-\n7,NaN\n7,0\n", "", []stream.Record{{Num: 7, SizeUnknown: true},
			{Num: 7, SizeUnknown: true}, {Num: 7, SizeUnknown: true}, {Num: 7}}},
		"quoted":              {"\"time\",\"key\",size,op\n0.5,\"a\",10,get\n\"1\",2,\"20\",set\n", "", csvWant()},
		"byte order mark":     {"\xef\xbb\xbftime,key,size,op\n0.5,a,10,get\n1,2,20,set\n", "", csvWant()},
		"by number":           {"x,0.5,a,10,get\nx,1,2,20,set\n", "csv:time=2,key=3,size=4,op=5", csvWant()},
		"by name":             {"what,b,key,d\n0.5,a,10,get\n1,2,20,set\n", "csv:time=What,key=b,size=key,op=d", csvWant()},
		"milliseconds":        {"time,key,size,op\n500,a,10,get\n1e3,2,20,set\n", "csv:time-unit=ms", csvWant()},
		"no header, named so": {"1,2\n3,4\n", "csv:header=false,key=2", []stream.Record{num(2), num(4)}},
		"a header of numbers": {"1,2\n3,4\n", "csv:header=true,key=2", []stream.Record{num(4)}},
		"floats that are whole": {"key,size\n5.0,4096.0\n5,1e3\n5.5,.5e1\n", "", []stream.Record{
			{Num: 5, Size: 4096}, {Num: 5, Size: 1000}, {Text: []byte("5.5"), Size: 5}}},
		"columns left out": {"time,key,size,op\nx,a,y,z\n", "csv:time=none,size=none,op=none", []stream.Record{text("a")}},
		"one column":       {"key\na\n2\n", "", []stream.Record{text("a"), num(2)}},
		"only a key":       {"key,color\na,red\n2,\n", "", []stream.Record{text("a"), num(2)}},
		"commas and breaks in quotes": {"key,size\n\"a,\"\"b\"\"\nc\",1\n\"\"\"\",2\n", "", []stream.Record{
			{Text: []byte("a,\"b\"\nc"), Size: 1}, {Text: []byte("\""), Size: 2}}},
		"accesses are no deletions": {"key,op\n1,get\n1,delete\n1,\n", "csv:ops=accesses",
			[]stream.Record{{Num: 1, Op: stream.OpRead},
				{Num: 1}}},
		"reads only": {"key,op\n1,get\n2,set\n1,\n", "csv:ops=reads",
			[]stream.Record{{Num: 1, Op: stream.OpRead}}},
		"dates": {"time,key\n1970-01-01 00:01:00.25,1\n1970-01-01T01:00:00+01:00,2\n", "",
			[]stream.Record{{Num: 1, Time: 60*second + second/4}, {Num: 2}}},
		"dates of access logs": {"time,key\n10/Oct/2000:13:55:36 -0700,1\n[10/Oct/2000:20:55:37],2\n", "",
			[]stream.Record{{Num: 1, Time: 971211336e9}, {Num: 2, Time: 971211337e9}}},
		"milliseconds by their size": {"ts,key\n971211336000.5,1\n971211337000,2\n", "",
			[]stream.Record{{Num: 1, Time: 971211336e9 + 5e5}, {Num: 2, Time: 971211337e9}}},
		"microseconds by their size": {"ts,key\n971211336000000,1\n", "", []stream.Record{{Num: 1, Time: 971211336e9}}},
		"nanoseconds by their size": {"ts,key\n971211336000000001,1\n", "", []stream.Record{
			{Num: 1, Time: 971211336e9 + 1}}},
		"two columns are the key": {"host,path,size\na.org,/x,1\na.org,y,2\n", "csv:key=host+path", []stream.Record{
			{Text: []byte("a.org/x"), Size: 1}, {Text: []byte("a.org|y"), Size: 2}}},
		"two numbers are the key": {"1,2,3\n1,2,4\n", "csv:key=2+3+1,header=false,ops=all", []stream.Record{
			text("2|3|1"), text("2|4|1")}},
		"a plus in a name":  {"a+b,a,b\nx,y,z\n", "csv:key=a+b", []stream.Record{text("x")}},
		"a plus, by number": {"a+b,a,b\nx,y,z\n", "csv:key=1+3,header=true", []stream.Record{text("x|z")}},
		"time to live and hits": {"key,ttl,cache_status\na,60,HIT\nb,,-\nc,0.5,TCP_MISS\n", "", []stream.Record{
			{Text: []byte("a"), TTL: 60 * second, Served: stream.ServedHit}, text("b"),
			{Text: []byte("c"), TTL: second / 2, Served: stream.ServedMiss}}},
		"time to live in ms": {"key,left\na,60\n", "csv:ttl=left,ttl-unit=ms", []stream.Record{
			{Text: []byte("a"), TTL: 6e7}}},
		"ttl and hits ignored":  {"key,ttl,hit\na,long,1\n", "csv:ttl=none,served=none", []stream.Record{text("a")}},
		"blanks belong to keys": {"key,size\na , 3 \n", "", []stream.Record{{Text: []byte("a "), Size: 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tracetest.ReadText(t, c.content, c.format)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func csvWant() []stream.Record {
	return []stream.Record{{Text: []byte("a"), Time: second / 2, Size: 10, Op: stream.OpRead},
		{Num: 2, Time: second, Size: 20,
			Op: stream.OpWrite}}
}

func TestTextFormatsRefuse(t *testing.T) {
	const cacheLibHeader = "op_time,key,key_size,op,op_count,size\n"
	for name, c := range map[string]struct{ content, format, want string }{
		"arc, count 0":    {"1 1 0 0\n1 0 0 0\n", "", `line 2: number of blocks 0: want a whole number from 1`},
		"arc, negative":   {"1 -1 0 0\n", "arc", `line 1: number of blocks "-1"`},
		"arc, huge count": {"1 1000000001 0 0\n", "", `number of blocks 1000000001`},
		"arc, overflow": {"18446744073709551615 2 0 0\n", "",
			"a run of 2 blocks from block 18446744073709551615 exceeds the last possible block, 2^64-1"},
		"arc, start too large": {"18446744073709551616 1 0 0\n", "", `start block "18446744073709551616"`},
		"arc, three columns":   {"1 1 0 0\n1 1 0\n", "arc", "line 2: \"1 1 0\": want 4 columns"},
		"arc, cut off":         {"1 1 0 0\n1 1 0 ", "arc", "line 2"},
		"arc, five columns":    {"1 1 0 0 0\n", "arc", "line 1: \"1 1 0 0 0\": want 4 columns"},
		"arc, last column":     {"1 1 0 x\n", "arc", "request number \"x\": want a whole number"},
		"arc, blank line":      {"1 1 0 0\n\n1 1 0 0\n", "arc", "line 2: a blank line"},
		"lirs, a word":         {"*\n1\nx\n", "lirs", `line 3: block "x"`},
		"lirs, negative":       {"-1\n", "lirs", `line 1: block "-1"`},
		"lirs, too large":      {"18446744073709551616\n", "lirs", `line 1: block "18446744073709551616"`},
		"lirs, two numbers":    {"1 2\n", "lirs", `line 1: block "1 2"`},
		"seq, two columns":     {"1 2\n", "seq-id-size", "line 1: \"1 2\": want 3 columns"},
		"seq, no size":         {"1 2 x\n", "seq-id-size", `line 1: size "x"`},
		"seq, negative size":   {"1 2 -3\n", "seq-id-size", `line 1: size "-3"`},
		"seq, size of 2 PiB":   {"1 2 2251799813685248\n", "seq-id-size", `line 1: size "2251799813685248"`},
		"seq, a word":          {"1 a 3\n", "seq-id-size", `line 1: object id "a"`},
		"seq, no number":       {"a 1 3\n", "seq-id-size", `line 1: request number "a"`},
		"rating, columns":      {"1::2::3::4\n1::2::3\n", "", "line 2: \"1::2::3\": want user::item::rating::time"},
		"rating, more columns": {"1::2::3::4::5\n", "rating", "want user::item::rating::time"},
		"rating, rating":       {"1::2::good::4\n", "rating", `line 1: rating "good"`},
		"rating, time":         {"1::2::3::4\n1::2::3::-4\n", "", `line 2: time "-4"`},
		"rating, key":          {"1::::3::4\n", "", "the key is empty"},
		"cachelib, columns":    {"key,op,size\n1,GET,3\n", "cachelib", "no column key_size in the header"},
		"cachelib, op":         {cacheLibHeader + "1,2,3,LOOK,1,1\n", "", `line 2: op "LOOK"`},
		"cachelib, count 0":    {cacheLibHeader + "1,2,3,GET,0,1\n", "cachelib:repeat=true", `line 2: op_count "0"`},
		"cachelib, hits":       {"key,key_size,op,op_count,size,cache_hits\na,1,GET,3,9,x\n", "", `line 2: cache_hits "x"`},
		"cachelib, size":       {cacheLibHeader + "1,2,3,GET,1,-1\n", "", `line 2: size "-1"`},
		"cachelib, key size":   {cacheLibHeader + "1,2,x,GET,1,1\n", "", `line 2: key_size: size "x"`},
		"cachelib, time":       {cacheLibHeader + "x,2,3,GET,1,1\n", "", `line 2: op_time: time "x"`},
		"cachelib, key":        {cacheLibHeader + "1,,3,GET,1,1\n", "", "line 2: the key is empty"},
		"cachelib, no rows":    {"", "cachelib", "the file is empty"},
		"csv, ragged":          {"key,size\n1,2\n3\n", "", "line 3: 1 columns, but the lines before have 2"},
		"csv, ragged numbers":  {"1,2,x\n1,2\n", "", "no column looks like keys"},
		"csv, short write":     {"key,op,size\na,set,1\na,get\nb,set\n", "", "line 4: 2 columns"},
		"csv, cut off":         {"key,op,size\na,set,1\na,get\nb\n", "", "line 4: 1 columns"},
		"csv, short, op first": {"op,key,size\nset,a,1\nget\n", "", "line 3: 1 columns"},
		"csv, one more":        {"key,op,size\na,set,1\na,get,1,1\n", "", "line 3: 4 columns"},
		"csv, too many":        {"key,size\n1,2,3\n", "csv", "line 2: 3 columns"},
		"csv, no key": {"when,what\n1,2\n", "", `no column looks like keys: a key is what is requested (a URL, ` +
			`an object, a block), and takes many values that repeat; if one has them all the same, name it with ` +
			`--input-format csv:key=NAME`},
		"csv, no names":        {"1,2,x\n3,4,y\n", "", `(columns 1: "1", 2: "2", 3: "x")`},
		"csv, unknown column":  {"key,size\n1,2\n", "csv:key=kye", `unknown column "kye"; did you mean "key"?`},
		"csv, column 3 of 2":   {"key,size\n1,2\n", "csv:key=3", "no column 3: the file has 2 columns"},
		"csv, name, no header": {"1,2\n", "csv:key=id,header=false", `no column "id", since the file has no header`},
		"csv, name twice":      {"key,key,size\n1,2,3\n", "csv:key=key", `duplicate column "key"`},
		"csv, empty key":       {"key,size\n,2\n", "", "line 2: column 1: the key is empty"},
		"csv, size":            {"key,size\na,2.5\n", "", `line 2: column 2: size "2.5": want a whole number of bytes`},
		"csv, negative size":   {"key,size\na,-2\n", "", `line 2: column 2: size "-2"`},
		"csv, size too large":  {"key,size\na,99999999999999999999\n", "", `column 2: size "99999999999999999999"`},
		"csv, negative time":   {"key,time\na,-1\n", "", `line 2: column 2: time "-1"`},
		"csv, time too large": {"key,time\na,9223372036854775808\n", "csv:time-unit=ns", `column 2: time ` +
			`"9223372036854775808"`},
		"csv, time of no kind": {"key,time\na,NaN\n", "", `column 2: time "NaN"`},
		"csv, operation":       {"key,op\na,jump\n", "", `line 2: column 2: operation "jump"`},
		"csv, open quote":      {"key,size\n\"a,1\nb,2\n", "", "line 2: a quote is opened but not closed"},
		"csv, bare quote":      {"key,size\na\"b\",1\n", "", "line 2: bare"},
		"csv, blank line":      {"key,size\na,1\n\nb,2\n", "", "line 3: a blank line"},
		"csv, binary":          {"key,size\na\x00,1\n", "csv", "want rows of text"},
		"format":               {"1\n", "cvs", `unknown trace format "cvs"; did you mean "csv"?`},
		"option":               {"1\n", "csv:kye=1", `trace format csv: unknown parameter "kye"`},
		"option without value": {"1\n", "csv:key", `trace format csv: parameter "key": want name=value`},
		"choice":               {"1\n", "seq-id-size:key=size", "key=size: want one of id-size, id"},
		"JSON": {"[\n{\"key\": 1}\n]\n", "", "looks like JSON, which is not a supported format: if it holds one " +
			"record after another, write each on a line: jq -c '.[]' FILE | cachesim run -"},
		"JSON on many lines": {"{\n\"key\": 1\n}\n", "", "jq -c . FILE | cachesim run -"},
		"zip":                {"PK\x03\x04abcdefgh", "", "looks like a zip archive"},
		"binary":             {"\x01\x02\x03\x04", "", "looks like binary data, but matches no known trace format"},
		"queries in words": {"how are you\nwhat is this\n", "",
			"; if each line is a query in words: --input-format text"},
		"prose": {"It was the best of times,\nit was the worst of times.\n", "", "looks like text (\"It " +
			"was the best of times,\")"},
		"lirs as arc":           {"1\n2\n", "arc", `line 1: "1": want 4 columns`},
		"arc as seq":            {"1 1 0 0\n", "seq-id-size", "line 1: \"1 1 0 0\": want 3 columns"},
		"csv as rating":         {"1,2\n", "rating", "want user::item::rating::time"},
		"plain as cachelib":     {"1\n2\n", "cachelib", "no column key in the header"},
		"nothing but line ends": {"\n\n\n", "", "only blank lines"},
	} {
		t.Run(name, func(t *testing.T) {
			records, err := tracetest.ReadText(t, c.content, c.format)
			must.Fail(t, err, c.want, records)
		})
	}
}

// TestDetectionIsClear: the examples in the table of formats are recognised, apart from formats that never are.
func TestDetectionIsClear(t *testing.T) {
	for _, f := range formats.All() {
		if f.Example == "" || strings.HasPrefix(f.Detection, "never") {
			continue
		}
		s, err := tracetest.OpenText(t, f.Example+"\n", "")
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		if s.Info.Format != f.Name {
			t.Errorf("the example of %s is read as %s", f.Name, s.Info.Format)
		}
		if _, err := tracetest.Drain(s); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

// TestLateSurprise: data after the part that detection sees is still checked.
func TestLateSurprise(t *testing.T) {
	many := strings.Repeat("123456789\n", source.HeadLen/10+100)
	_, err := tracetest.ReadText(t, many+"*\n1\n", "")
	if want := fmt.Sprintf("line %d: a mark * between numbers", source.HeadLen/10+101); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestParseTime(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": second, "1.5": 3 * second / 2, "1.": second, ".5": second / 2, ".": -1, "": -1,
		"9223372036": 9223372036 * second, "9223372037": -1,
		"1365029107": 1365029107 * second, "0.000000001": 1, "0.0000000019": 1, "1.5e3": 1500 * second, "0x10": -1, "1_0": -1,
		"inf":                         -1,
		"2023-11-16 18:17:03.9799600": 1700158623979960000, "1969-12-31 23:59:59": -1, "2023-13-01 00:00:00": -1,
	} {
		got, err := source.ParseTime([]byte(text), second)
		if want < 0 && err == nil || want >= 0 && (err != nil || got != want) {
			t.Errorf("parseTime(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
}
