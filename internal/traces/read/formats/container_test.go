package formats_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// dockerLine writes a line as the driver json-file does.
func dockerLine(t *testing.T, text, stream string) string {
	return fmt.Sprintf(`{"log":%s,"stream":"%s","time":"2026-03-01T12:00:00.000000001Z"}`+"\n",
		must.Get(json.Marshal(text))(t), stream)
}

// TestContainerLogs: what a program in a container wrote is read as if it had written to the file.
func TestContainerLogs(t *testing.T) {
	const cri = "2026-03-01T12:00:00.000000001Z "
	long := strings.Repeat("x", 20_000)
	for name, c := range map[string]struct{ content, want, reading string }{
		"docker": {dockerLine(t, "time,key,size\n", "stdout") + dockerLine(t, "1,/a?x=1&y,10\n", "stdout") +
			dockerLine(t, "\n", "stdout") + dockerLine(t, "warning\n", "stderr") + dockerLine(t, "2,"+long, "stdout") +
			dockerLine(t, ",20\n", "stdout"), "/a?x=1&y " + long,
			"csv (container log, stdout), comma; key, time in s, size; 1 row left out (of the container's other stream)"},
		"JSON in JSON": {dockerLine(t, `{"url":"/a"}`+"\n", "stderr") + dockerLine(t, `{"url":"/b"}`+"\n", "stderr"), "/a /b",
			"jsonl (container log, stderr); key .url"},
		"CRI": {cri + "stdout F time,key\n" + cri + "stdout P 1,/\n" + cri + "stdout F a\n" + cri + "stdout F \n" +
			cri + "stdout F 2,/b\n", "/a /b", "csv (container log, stdout), comma; key, time in s"},
		"another object": {`{"log":"a","stream":"stdout","time":1,"key":"k"}` + "\n", "k",
			"jsonl; key .key, time .time in s"},
	} {
		t.Run(name, func(t *testing.T) {
			trace := tracetest.MustLoadText(t, c.content, read.Options{Needs: traces.Needs{Keys: true}})
			var got []string
			for _, o := range trace.Objects {
				got = append(got, trace.Keys[o].String())
			}
			if keys := strings.Join(got, " "); keys != c.want {
				t.Errorf("keys %.80q, want %.80q", keys, c.want)
			}
			if line := trace.Readings[0].Line(""); line != "standard input: "+c.reading {
				t.Errorf("read as %s, want %s", line, c.reading)
			}
		})
	}
}

// TestDamagedContainerLogs: a line that is not of the container is an error of the format, with its number.
func TestDamagedContainerLogs(t *testing.T) {
	content := dockerLine(t, "time,key\n", "stdout") + strings.Repeat(dockerLine(t, "1,a\n", "stdout"), 2000) + `{"log":"1`
	_, err := tracetest.ReadText(t, content, "")
	must.Fail(t, err, "line 2002: a quote is opened but not closed", "cut off")
}

func FuzzContainerLogs(f *testing.F) {
	tracetest.Fuzz(f, "csv", `{"log":"key\n","stream":"stdout","time":"2026-03-01T12:00:00Z"}`+"\n"+
		`{"log":"a\n","stream":"stderr","time":"2026-03-01T12:00:00Z","attrs":{}}`+"\n",
		"2026-03-01T12:00:00Z stdout P ke\n2026-03-01T12:00:00Z stdout F y\n2026-03-01T12:00:00Z stdout F a\n")
}

func BenchmarkReadContainerLog(b *testing.B) {
	const end = `\n","stream":"stdout","time":"2026-03-01T12:00:00.000000001Z"}` + "\n"
	benchmarkRead(b, "csv", `{"log":"time,key,size`+end, func(i int, key uint64) string {
		return fmt.Sprintf(`{"log":"%d,\"/img/%x.png\",%d%s`, i, key, key&0xffff, end)
	})
}
