package commands

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// However long the text in a flag, a cell or a record, the message about it stays short.
func TestMessagesQuoteLittle(t *testing.T) {
	long := strings.Repeat("Q", 100_000)
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(content), 0o644))
		return path
	}
	trace := file("t.csv", "key,size\na,1\nb,2\na,1\n")
	baseline := filepath.Join(dir, "baseline")
	if code := run([]string{"run", trace, "--policy", "lru", "--capacity", "1", "--quiet", "-o", baseline}, nil,
		&bytes.Buffer{}, &bytes.Buffer{}); code != exitFine {
		t.Fatalf("exit code %d", code)
	}
	records := must.Get(os.ReadFile(filepath.Join(baseline, "records.jsonl")))(t)
	experiment := "name: x\ntitle: t\nsource: s\ntraces:\n  - name: z\n    file: t.csv\npolicies: [lru, " +
		"fifo]\ncapacities: [1]\n"
	for name, args := range map[string][]string{
		"command":      {long},
		"flag":         {"run", trace, "--" + long},
		"policy":       {"run", trace, "--policy", long},
		"parameter":    {"run", trace, "--policy", "lru(" + long + "=1)"},
		"capacity":     {"run", trace, "--capacity", long},
		"format":       {"run", trace, "--format", long},
		"number":       {"run", trace, "--limit", long},
		"input format": {"run", trace, "--input-format", long},
		"column":       {"run", trace, "--input-format", "csv:key=" + long},
		"embeddings":   {"run", trace, "--embeddings", long},
		"file":         {"run", long},
		"memory":       {"stat", trace, "--memory", long},
		"generator":    {"gen", long, "-o", "x.csv"},
		"size":         {"stat", file("size.csv", "key,size\na,"+long+"\n")},
		"key":          {"stat", file("key.csv", "key,size\n"+long+"\x01,2\n")},
		"header":       {"stat", file("header.csv", long+",b\n1,2\n")},
		"JSON": {"stat", file("j.jsonl",
			`{"timestamp":"`+long+`","input_length":1,"output_length":1,"hash_ids":[1]}`+"\n")},
		"YAML name":   {"sweep", file("a.yaml", strings.Replace(experiment, "name: x", "name: "+long, 1)), "-o", dir},
		"YAML key":    {"sweep", file("b.yaml", experiment+long+": 1\n"), "-o", dir},
		"YAML policy": {"sweep", file("c.yaml", strings.Replace(experiment, "fifo", long, 1)), "-o", dir},
		"claim": {"sweep", file("d.yaml",
			experiment+"claims:\n  - claim: "+long+"\n    stated: x\n    at: y\n"), "-o", dir},
		"record": {"plot", file("r.jsonl", strings.Replace(string(records), `"requests":`, `"`+long+`":`, 1)),
			"-o", dir},
		"recorded text": {"check", file("s.jsonl", strings.Replace(string(records), `"policy":"lru"`,
			`"policy":"`+long+`"`, 1))},
	} {
		var stdout, stderr bytes.Buffer
		code := run(args, strings.NewReader(""), &stdout, &stderr)
		if code == exitFine || stderr.Len() == 0 {
			t.Errorf("%s: exit code %d, message %q", name, code, stderr.String())
		}
		if n, m := utf8.RuneCount(stderr.Bytes()), utf8.RuneCount(stdout.Bytes()); n > 1500 || m > 1500 {
			t.Errorf("%s: messages of %d and %d characters: %.200s", name, n, m, stderr.String())
		}
	}
}
