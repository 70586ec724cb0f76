package weblogs_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// benchmarkLog reads a log of 200,000 lines per iteration.
func benchmarkLog(b *testing.B, format, header string, line func(w io.Writer, t time.Time, path string, size int)) {
	const lines = 200_000
	random := rand.New(rand.NewPCG(1, 1))
	var content bytes.Buffer
	content.WriteString(header)
	for i := range lines {
		line(&content, time.Unix(1_700_000_000+int64(i)/50, int64(i%50)*2e7).UTC(),
			fmt.Sprintf("/images/%x/photo-%d.jpg?width=640", random.IntN(1<<20), i%7), random.IntN(1<<16))
	}
	b.SetBytes(int64(content.Len()))
	b.ReportAllocs()
	for b.Loop() {
		s := must.Get(read.Open("-", read.Options{Selection: read.Selection{Format: format},
			Stdin: bytes.NewReader(content.Bytes())}))(b)
		var rec stream.Record
		n := 0
		var err error
		for err = s.Read(&rec); err == nil; err = s.Read(&rec) {
			n++
		}
		if n != lines || err != io.EOF {
			b.Fatalf("%d records, %v", n, err)
		}
	}
	b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mlines/s")
}

const browser = `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36`

func BenchmarkCombined(b *testing.B) {
	benchmarkLog(b, "", "", func(w io.Writer, t time.Time, path string, size int) {
		fmt.Fprintf(w, "10.0.0.1 - - [%s] \"GET %s HTTP/1.1\" 200 %d \"https://www.example.com/\" %q\n",
			t.Format("02/Jan/2006:15:04:05 -0700"), path, size, browser)
	})
}

func BenchmarkCombinedSortedQuery(b *testing.B) {
	benchmarkLog(b, "access:query=sort,format=combined", "", func(w io.Writer, t time.Time, path string, size int) {
		fmt.Fprintf(w, "10.0.0.1 - - [%s] \"GET %s&a=1&v=2 HTTP/1.1\" 200 %d \"https://www.example.com/\" %q\n",
			t.Format("02/Jan/2006:15:04:05 -0700"), path, size, browser)
	})
}

func BenchmarkSquid(b *testing.B) {
	benchmarkLog(b, "", "", func(w io.Writer, t time.Time, path string, size int) {
		fmt.Fprintf(w, "%d.%03d %6d 10.0.0.1 TCP_MISS/200 %d GET http://www.example.com%s - HIER_DIRECT/192.0.2.1 "+
			"image/jpeg\n", t.Unix(), t.Nanosecond()/1e6, size%1000, size, path)
	})
}

func BenchmarkEnvoy(b *testing.B) {
	benchmarkLog(b, "", "", func(w io.Writer, t time.Time, path string, size int) {
		fmt.Fprintf(w, "[%s] \"GET %s HTTP/2\" 200 - 0 %d 226 100 \"10.0.0.1\" %q \"cc21d9b0-cf5c-8c7e-98aeb7988cd2\" "+
			"\"www.example.com\" \"10.0.2.1:80\"\n", t.Format("2006-01-02T15:04:05.000Z"), path, size, browser)
	})
}

func BenchmarkW3C(b *testing.B) {
	header := "#Fields: date time cs-method cs-host cs-uri-stem cs-uri-query sc-status sc-bytes cs(User-Agent)\n"
	benchmarkLog(b, "", header, func(w io.Writer, t time.Time, path string, size int) {
		fmt.Fprintf(w, "%s GET www.example.com %s - 200 %d Mozilla/5.0+(X11;+Linux+x86_64)+AppleWebKit/537.36\n",
			t.Format(time.DateTime), path, size)
	})
}
