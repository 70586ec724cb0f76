package formats_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// manyLines repeats a line with the number of each: %[1]d, its remainder by 17 %[2]d, and by 3 %[3]d.
func manyLines(header, line string) string {
	var b strings.Builder
	b.WriteString(header)
	for i := range 100 {
		fmt.Fprintf(&b, line+"\n", i, i*7%17, i%3)
	}
	return b.String()
}

// A log in which no column or field names what is requested gets no suggestion: neither a constant nor what always
// differs, a measured number, or a word of the format.
func TestNothingIsSuggestedWithoutKeys(t *testing.T) {
	for name, text := range map[string]string{
		"usage": manyLines("", `{"timestamp":17000000%02[1]d,"model":"m%[2]d","input_tokens":%[2]d,"session_id":"s%[2]d",`+
			`"user":"u%[2]d","latency_ms":%[2]d,"cost":0.%[2]d}`),
		"vLLM in JSON": manyLines("", `{"asctime":"2025-05-05 10:10:%02[1]d,123","name":"vllm.engine%[2]d",`+
			`"levelname":"INFO","lineno":%[2]d,"message":"Received request cmpl-%[1]d"}`),
		"a logger": manyLines("", `{"ts":17000000%02[1]d,"name":"engine","level":"INFO","msg":"m%[2]d"}`),
		"a session": manyLines("", `{"parentUuid":"u%[2]d","type":"user",`+
			`"message":{"role":"user","id":"m%[2]d"},"uuid":"%[1]dx"}`),
		"all differ": manyLines("", `{"token":"t%[1]d"}`),
		"one value":  manyLines("when,what\n", "%[1]d,x%[1]d"),
		"measures":   manyLines("when,cpu,arcsz,wait\n", "17000000%02[1]d,%[2]d,1.%[2]dG,%[2]dms"),
		"few values": manyLines("when,what\n", "17000000%02[1]d,x%[3]d"),
	} {
		_, err := tracetest.LoadText(t, text, read.Options{})
		if err == nil || !strings.Contains(err.Error(), " looks like keys: a key is what is requested") ||
			strings.Contains(err.Error(), "judging by") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is suggested reads the log, with the columns beside the key.
func TestSuggestionsReadTheLog(t *testing.T) {
	for _, c := range []struct{ name, text, option string }{
		{"codes in a comment", manyLines("# timestamp (ms), op [Put:0, Get:1, Head: 2], object, size\n",
			"1%02[1]d9,%[3]d,ab%[2]d,5%02[2]d"),
			"--input-format 'csv:key=3,time=1,time-unit=ms,size=4,op=2,op-codes=0:put|1:get|2:head'"},
		{"words", manyLines("", "17000000%02[1]d,get,ab%[2]d"), "--input-format csv:key=3,time=1"},
		{"beside a status", manyLines("when,status,detail\n", "17000000%02[1]d,%[2]d,x%[2]d"),
			"--input-format csv:key=detail,time=when"},
		{"JSON", manyLines("", `{"time":17000000%02[1]d,"level":"info","req":{"method":"GET","page":"/p%[2]d","ms":%[2]d}}`),
			"--input-format 'jsonl:key=.req.page,time=.time'"},
	} {
		_, err := tracetest.LoadText(t, c.text, read.Options{})
		if err == nil || !strings.Contains(err.Error()+" ", c.option+" ") {
			t.Errorf("%s: %v, want %s", c.name, err, c.option)
			continue
		}
		format := strings.Trim(strings.TrimPrefix(c.option, "--input-format "), "'")
		trace, err := tracetest.LoadText(t, c.text, read.Options{Selection: read.Selection{Format: format}})
		if err != nil || trace.NumObjects != 17 || trace.BadLines() > 0 {
			t.Errorf("%s with %s: %v", c.name, format, err)
		}
	}
}
