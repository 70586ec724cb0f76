package traces

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/traces/formats"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// fuzzFormat reads any input in one format. Nothing may panic or run for ever, records must be sane, and every error
// must name its position.
func fuzzFormat(f *testing.F, spec string, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { readAnything(t, data, spec) })
}

// readAnything reads up to ten thousand records: one line of arc may stand for a thousand million.
func readAnything(t *testing.T, data []byte, spec string) {
	s, err := Open("-", LoadOptions{Selection: Selection{Format: spec}, Stdin: bytes.NewReader(data)})
	if err == nil {
		defer s.Close()
		err = checkRecords(t, s)
	}
	if err != nil && !strings.HasPrefix(err.Error(), "standard input: ") {
		t.Errorf("the error does not say where it is: %v", err)
	}
}

func checkRecords(t *testing.T, s *Stream) error {
	var rec stream.Record
	for range 10_000 {
		if err := s.Read(&rec); err != nil {
			if err.Error() == "EOF" {
				return nil
			}
			return err
		}
		if rec.Size < 0 || rec.Size > 2*source.MaxSize || rec.Time < 0 ||
			(rec.Text != nil && (len(rec.Text) == 0 || rec.Num != 0)) {
			t.Fatalf("record %+v", rec)
		}
		if _, isNumber := stream.ParseNumber(stream.WithoutZeroFraction(rec.Text)); isNumber {
			t.Fatalf("text key %q is a number", rec.Text)
		}
	}
	return nil
}

func FuzzPlain(f *testing.F) {
	fuzzFormat(f, "plain", "1\n22\nabc\r\n\n", "18446744073709551616\n007", "*\n1\n*\n", "a b\n")
}

func FuzzARC(f *testing.F) {
	fuzzFormat(f, "arc", "1 1 0 0\n2 3 0 1\n", "18446744073709551615 1 0 0\n", "1 0 0 0", "1 1000000000 0 0\n")
}

func FuzzLIRS(f *testing.F) {
	fuzzFormat(f, "lirs", "1\n*\n\n2\r\n", " 007 \n", "-1\n")
}

func FuzzSeqIDSize(f *testing.F) {
	fuzzFormat(f, "seq-id-size", "1 0 68\n2 1 7454\n", "1 2 99999999999999999999\n", "1 2\n")
}

func FuzzBatches(f *testing.F) {
	fuzzFormat(f, "batches", "1 2,3\n4\r\n\n", "a\t007\n", "1\n\n2", " , ,\n1")
}

func FuzzRating(f *testing.F) {
	fuzzFormat(f, "rating", "1::1074638::7::1365029107\n1::2::3::4\n", "1::::3::4\n", "::::::::\n")
}

func FuzzCacheLib(f *testing.F) {
	fuzzFormat(f, "cachelib", "op_time,key,key_size,op,op_count,size\n604038471,82131353f9ddc8c6,48,GET,1,87\n",
		"key,op,op_count,size,key_size\n1,SET,1000000000,0,0\n2,DELETE,1,1,1\n")
}

func FuzzCSV(f *testing.F) {
	fuzzFormat(f, "csv", "time,key,size,op\n0.5,a,10,get\n1,2,20,set\n", "\"key\"\t\"size\"\n\"a\"\"b\n\"\t7\n",
		"id;ts\n1;2023-11-16 18:17:03.97\n")
}

func FuzzCSVByNumber(f *testing.F) {
	fuzzFormat(f, "csv:key=2,time=1,header=false,time-unit=ms", "1,2\n3,4\n", "1 2\n3  4\n", "1e3|\"\"\n")
}

// FuzzOpen lets the content decide on compression, archive and format.
func FuzzOpen(f *testing.F) {
	for _, format := range formats.All() {
		f.Add([]byte(format.Example))
	}
	for _, data := range packedKeys(f) {
		f.Add(data)
	}
	small := archive(f, "a", fiveKeys, "b", fiveKeys)
	f.Add(small)
	f.Add(packed(f, small)["zstd"])
	f.Fuzz(func(t *testing.T, data []byte) { readAnything(t, data, "") })
}
