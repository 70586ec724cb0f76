// Package cdnlogs reads published traces of content delivery networks and object stores. All formats are tables of
// columns.
package cdnlogs

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/traces/read/columns"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Formats are the formats of this package.
var Formats = []source.Format{
	metaCDN.Format(), tencentPhoto.Format(), ibm.Format(), wikibench.Format(), wikimedia.Format(), lrb.Format(),
	thesios.Format(), youTube.Format(), outbrain.Format(),
}

const (
	second = int64(1e9)
	milli  = int64(1e6)
)

// metaCDN is described in CacheLib's "Evaluating SSD hardware for Facebook workloads", and column by column in
// https://github.com/cacheMon/cache_dataset.
var metaCDN = columns.Table{
	Name: "cachelib-cdn",
	Summary: "CDN traces of CacheLib: CSV with a header, with key, size, TTL and the hits of Meta's own cache (2023 and " +
		"2025)",
	Example: "timestamp,cacheKey,OpType,objectSize,responseSize,responseHeaderSize,rangeStart,rangeEnd,TTL,SamplingRate," +
		"cache_hit,item_value,RequestHandler,cdn_content_type_id,vip_type\n" +
		"1678806611,2467311,1,262144,262144,1102,-1,-1,1209600,0.2,1,0,7,12,3",
	Detection: "a header with the columns timestamp, cacheKey and objectSize",
	Delimiter: ',',
	Header:    true, Headed: true,
	Columns: []columns.Column{
		columns.Epoch("timestamp"), columns.Key("cacheKey"), columns.Size("objectSize"), columns.TTL("TTL", second),
		columns.Served("cache_hit", "1", "0"),
	},
	Writes: stream.WritesInvalidate,
}

// tencentPhoto is described in the README of the traces, http://iotta.snia.org/traces/parallel/27476.
var tencentPhoto = columns.Table{
	Name: "tencent-photo",
	Summary: "traces of Tencent's photo cache: date and time, photo, format, size category, bytes, 1 for a hit or 0, " +
		"device, milliseconds (Zhou et al., ICS 2018); an object is a photo in a format and category",
	Example:   "20160201001200 75ea2b1d46b9ac3a3a3b4d79dc45a7a4 0 o 68453 1 PC 1",
	Detection: "eight columns, the first of them 14 digits, the fifth and sixth numbers",
	Delimiter: ' ',
	Columns: []columns.Column{
		columns.TimeAs("time", "YYYYMMDDhhmmss", digitsTime),
		columns.Key("photo"), columns.Key("format"), columns.Key("category"),
		columns.Size("bytes"), columns.Whole(columns.Served("hit", "1", "0")), columns.Other("device"),
		columns.Number("milliseconds"),
	},
	Writes: stream.WritesInvalidate,
}

// digitsTime reads a time such as 20160201001200. The zone is not stated: it is read as UTC.
func digitsTime(cell []byte) (int64, error) {
	if len(cell) != len("20060102150405") || !source.IsDigits(cell) {
		return 0, fmt.Errorf("time %.40q: want 14 digits, as in 20160201001200", cell)
	}
	number := func(digits []byte) int {
		n, _ := source.ParseDigits(digits)
		return int(n)
	}
	year, month, day := number(cell[:4]), number(cell[4:6]), number(cell[6:8])
	hour, minute, s := number(cell[8:10]), number(cell[10:12]), number(cell[12:])
	if year < 1970 || year >= 2262 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 ||
		s > 59 {
		return 0, fmt.Errorf("time %s: want year, month, day, hour, minute and second, from 1970", cell)
	}
	return time.Date(year, time.Month(month), day, hour, minute, s, 0, time.UTC).UnixNano(), nil
}

// ibm is described in the README of the traces, http://iotta.snia.org/traces/key-value/36305.
var ibm = columns.Table{
	Name: "ibm",
	Summary: "traces of IBM's cloud object store: time in ms, REST.GET.OBJECT or another request, object, and its size " +
		"and the range that is read if it is stated (Eytan et al., HotStorage 2020)",
	Example:   "120000 REST.PUT.OBJECT 00c0ffee00000001 1056\n120250 REST.GET.OBJECT 00c0ffee00000002 1168 0 1167",
	Detection: "three to six columns, the second of them a request such as REST.GET.OBJECT",
	Delimiter: ' ',
	Columns: []columns.Column{
		columns.Time("time", milli), columns.Op("request", []columns.Word{
			{Text: "REST.GET.OBJECT", Op: stream.OpRead}, {Text: "REST.HEAD.OBJECT", Op: stream.OpRead},
			{Text: "REST.PUT.OBJECT", Op: stream.OpWrite}, {Text: "REST.COPY.OBJECT", Op: stream.OpWrite},
			{Text: "REST.DELETE.OBJECT", Op: stream.OpDelete},
		}), columns.Key("object"), columns.Size("size"), columns.Other("start"), columns.Other("end"),
	},
	Optional: 3,
	Writes:   stream.WritesFill,
}

// wikibench is described in Urdaneta, Pierre and van Steen, "Wikipedia workload analysis for decentralized hosting",
// Computer Networks 2009, and at http://www.wikibench.eu.
var wikibench = columns.Table{
	Name: "wikibench",
	Summary: "requests to Wikipedia: counter, time in seconds, URL, - or save for one that changed the database " +
		"(Urdaneta et al., Computer Networks 2009)",
	Example:   "17 1190146240.250 http://en.wikipedia.org/wiki/Cache -",
	Detection: "four columns, the third of them a URL, the last - or save",
	Delimiter: ' ',
	Columns: []columns.Column{
		columns.Whole(columns.Number("counter")), columns.Time("time", second), isURL(columns.Key("url")),
		columns.Op("flag", columns.ReadWrite("-", "save")),
	},
	Writes: stream.WritesInvalidate,
}

// isURL is a column that must be a URL.
func isURL(column columns.Column) columns.Column {
	parse := column.Parse
	column.Parse = func(row *columns.Row, cell []byte) error {
		if !bytes.HasPrefix(cell, []byte("http")) {
			return fmt.Errorf("%.60q: want a URL", cell)
		}
		return parse(row, cell)
	}
	return column
}

// wikimedia is described in https://wikitech.wikimedia.org/wiki/Data_Platform/Data_Lake/Traffic/Caching. Its first
// layout is that of images (upload) of 2019, then text of 2019, then 2016.
var wikimedia = columns.Table{
	Name: "wikimedia",
	Summary: "CDN traces of Wikimedia of 2016 and 2019, separated by tabs: of 2019 seconds since the beginning, hash of " +
		"the URL, type of an image, bytes, time to the first byte",
	Example: "relative_unix\thashed_path_query\timage_type\tresponse_size\ttime_firstbyte\n" +
		"0\t833946053\tjpeg\t68412\t1.31e-4",
	Detection: "a header with relative_unix and hashed_path_query or hashed_host_path_query; without one, five columns " +
		"the third of which is a type of images, or six the last of which says hit or miss",
	Delimiter: '\t',
	Header:    true,
	Columns: []columns.Column{
		columns.Time("relative_unix", second), columns.Key("hashed_path_query"), isImage("image_type"),
		columns.Size("response_size"), columns.Number("time_firstbyte"),
	},
	Layouts: []*columns.Table{{
		Delimiter: '\t', Header: true, Headed: true,
		Columns: []columns.Column{columns.Time("relative_unix", second), columns.Key("hashed_host_path_query"),
			columns.Size("response_size"), columns.Other("time_firstbyte")},
	}, {
		Delimiter: '\t', Header: true,
		Columns: []columns.Column{columns.Key("hashed_host_and_path"), columns.Other("uri_query"),
			columns.Other("content_type"), columns.Size("response_size"), columns.Spare(columns.Number("time_firstbyte")),
			xCache("X_Cache")},
	}},
	Writes: stream.WritesInvalidate,
}

// isImage is the column of the type of an image.
func isImage(name string) columns.Column {
	return columns.Column{Name: name, Parse: func(_ *columns.Row, cell []byte) error {
		switch string(cell) {
		case "jpeg", "png", "gif", "svg+xml", "x-icon", "tiff", "webp", "vnd.djvu", "x-xcf", "", "-":
			return nil
		}
		return fmt.Errorf("%.40q: want the type of an image, such as jpeg", cell)
	}}
}

// xCache is the column of the caches that a request passed, the one next to the user last: "cp1066 hit/6, cp4006 miss".
func xCache(name string) columns.Column {
	column := columns.Served(name, "hit", "miss")
	column.Parse = func(row *columns.Row, cell []byte) error {
		last := cell[bytes.LastIndexByte(cell, ',')+1:]
		hit, miss := bytes.Contains(last, []byte(" hit")), bytes.Contains(last, []byte(" miss"))
		switch {
		case hit:
			row.Record.Served = stream.ServedHit
		case miss:
			row.Record.Served = stream.ServedMiss
		case !bytes.Contains(cell, []byte(" pass")) && len(cell) > 1:
			return fmt.Errorf("%.40q: want caches that say hit, miss or pass", cell)
		}
		return nil
	}
	return column
}

// lrb is described in the README of https://github.com/sunnyszy/lrb, "Trace Format".
var lrb = columns.Table{
	Name: "lrb",
	Summary: "traces of LRB and webcachesim2: time, id and size, and features that are not read, separated by blanks; " +
		"separated by commas, those of Tragen",
	Example:   "1 4711 120\n2 815 64\n2 4711 120\n4 815 64\n5 4711 120\n6 99 70\n6 815 64",
	Detection: "three whole numbers or more, of which the first never decreases and the third depends on the second",
	Delimiter: ' ',
	Columns: []columns.Column{columns.Whole(columns.Time("time", second)), columns.Whole(columns.Key("id")),
		columns.Whole(columns.Size("size"))},
	Further: true,
	Sure:    func(head source.Head, name string) source.Confidence { return looksSized(head, name, ' ') },
	Layouts: []*columns.Table{{
		Delimiter: ',',
		Columns: []columns.Column{columns.Whole(columns.Time("time", second)), columns.Whole(columns.Key("id")),
			columns.Whole(columns.Size("size"))},
		Sure: func(head source.Head, name string) source.Confidence { return looksSized(head, name, ',') },
	}},
	Writes: stream.WritesInvalidate,
}

// looksSized is sure of a file whose name ends in .tr. Others must behave like times, ids and sizes, which tells them
// from any three numbers: times never go back, and ids come again with the same size.
func looksSized(head source.Head, name string, delimiter byte) source.Confidence {
	if strings.HasSuffix(name, ".tr") {
		return source.Certain
	}
	s := sizedRows{sizes: map[string]string{}, distinct: map[string]bool{}, counts: true}
	for _, line := range source.WithoutBlankEnd(head.Lines) {
		if !s.take(source.CutLoosely(nil, line, delimiter)) {
			return source.No
		}
	}
	const several = 3
	if s.again >= several && len(s.distinct) >= several && !s.counts {
		return source.Likely
	}
	return source.No
}

// sizedRows are rows of a time, an id and a size.
type sizedRows struct {
	columns, rows, again int // again: rows of ids that came before
	first, last          uint64
	counts               bool              // the times count the rows from 0 or 1, as in seq-id-size
	sizes                map[string]string // by id
	distinct             map[string]bool   // sizes
}

// take adds a row, and reports whether it fits the others.
func (s *sizedRows) take(cells [][]byte) bool {
	const least, most = 3, 7 // columns: webcachesim2 takes 4 features
	if s.rows == 0 {
		s.columns = len(cells)
	}
	if len(cells) < least || len(cells) > most || len(cells) != s.columns {
		return false
	}
	at, ok := source.ParseDigits(cells[0])
	if s.rows == 0 {
		s.first = at
	}
	id, size := string(cells[1]), string(cells[2])
	known, seen := s.sizes[id]
	if !ok || at < s.last || seen && known != size {
		return false
	}
	if seen {
		s.again++
	}
	s.counts = s.counts && s.first <= 1 && at == s.first+uint64(s.rows)
	s.sizes[id], s.distinct[size], s.last = size, true, at
	s.rows++
	return true
}

// thesios is described in https://github.com/google-research-datasets/thesios.
var thesios = columns.Table{
	Name: "thesios",
	Summary: "traces of Google's storage servers: CSV with a header; an object is what is read from an offset of a " +
		"file, with its bytes (Phothilimthana et al., ASPLOS 2024)",
	Example: "filename,file_offset,application,c_time,io_zone,redundancy_type,op_type,service_class,from_flash_cache," +
		"cache_hit,request_io_size_bytes,disk_io_size_bytes,response_io_size_bytes,start_time,disk_time," +
		"simulated_disk_start_time,simulated_latency\n" +
		"3fa8,1050624,bigtable,1705276800.0,WARM,REPLICATED,READ,LATENCY_SENSITIVE,0,0,65536,65536,65536," +
		"1705363200.25,0.003,1705363200.25,0.004",
	Detection: "a header with the columns filename, file_offset, op_type and request_io_size_bytes",
	Delimiter: ',',
	Header:    true, Headed: true,
	Columns: []columns.Column{
		columns.Key("filename"), columns.Key("file_offset"), columns.Op("op_type", columns.ReadWrite("READ", "WRITE")),
		columns.Served("cache_hit", "1", "0"), columns.Size("request_io_size_bytes"), columns.Time("start_time", second),
	},
}

// youTube is described in the README of the traces, https://traces.cs.umass.edu, Network, "YouTube Traces From the
// Campus Network".
var youTube = columns.Table{
	Name: "youtube",
	Summary: "requests for videos of YouTube on a campus: time in seconds, server, client, GETVIDEO, video, address of " +
		"the content (Zink et al., Computer Networks 2009)",
	Example:   "1189800000.250000 10.0.0.1 10.0.1.7 GETVIDEO kD2xq8fT0aQ 10.0.2.9",
	Detection: "five columns or more, the fourth of them GETVIDEO",
	Delimiter: ' ',
	Columns: []columns.Column{columns.Time("time", second), columns.Other("server"), columns.Other("client"),
		columns.Only("request", "GETVIDEO"), columns.Key("video")},
	Further: true,
	Writes:  stream.WritesInvalidate,
}

// outbrain is described at https://www.kaggle.com/c/outbrain-click-prediction/data.
var outbrain = columns.Table{
	Name:      "outbrain",
	Summary:   "page views of Outbrain: CSV with a header, users, documents and milliseconds; sort it by time first",
	Example:   "uuid,document_id,timestamp,platform,geo_location,traffic_source\n1fd5f051fba643,120,31905835,1,RS,2",
	Detection: "a header with the columns document_id, timestamp and traffic_source",
	Delimiter: ',',
	Header:    true, Headed: true,
	Columns: []columns.Column{columns.Key("document_id"), columns.Time("timestamp", milli), columns.Other("uuid"),
		columns.Must("traffic_source")},
	Writes: stream.WritesInvalidate,
}
