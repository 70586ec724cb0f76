package commands

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// TestDamagedAttention damages a trace of attention. Every command that reads the damage ends with one error, which
// names the file and the place, and leaves no output.
func TestDamagedAttention(t *testing.T) {
	t.Chdir(t.TempDir())
	call := func(args ...string) (code int, text string) {
		var stdout, stderr bytes.Buffer
		return run(append(args, "--quiet"), nil, &stdout, &stderr), stderr.String()
	}
	code, text := call("gen", "attention", "--layers", "2", "--query-heads", "4", "--kv-heads", "2", "--head-dim", "16",
		"--context", "200", "--steps", "20", "-o", "good.attention")
	if code != exitFine {
		t.Fatal(text)
	}
	good := must.Get(os.ReadFile("good.attention"))(t)
	const magicBytes, row = 8, 16 * 2
	const queries, keys = 20 * 2 * row, 220 * row
	const head = 2*queries + 2*keys
	begin := magicBytes + 4 + int(binary.LittleEndian.Uint32(good[magicBytes:]))
	if begin+4*head != len(good) {
		t.Fatalf("the trace has %d bytes, want a header of %d and 4 heads of %d", len(good), begin, head)
	}
	with := func(at int, content ...byte) []byte {
		return slices.Concat(good[:begin+at], content, good[begin+at+len(content):])
	}
	stated := func(before, after string) []byte { return bytes.Replace(good, []byte(before), []byte(after), 1) }
	nan, zeros := []byte{0, 0x7e}, make([]byte, row)
	commands := map[string][]string{"run": {"run", "--cache", "attention"}, "stat": {"stat"}, "convert": {"convert"}}
	for name, c := range map[string]struct {
		content []byte
		want    string
		unread  string // the command that does not read the damaged part
	}{
		"nan-query":     {with(head+3*row+4, nan...), "layer 0, KV head 1, query 3: a number that is not finite", ""},
		"nan-predicted": {with(head+queries, nan...), "layer 0, KV head 1, predicted query 0: a number that is not", "run"},
		"nan-value":     {with(3*head+2*queries+keys, nan...), "layer 1, KV head 1, value 0: a number that is not", "stat"},
		"infinite-key":  {with(2*queries+9*row, 0, 0x7c), "layer 0, KV head 0, key 9: a number that is not finite", ""},
		"zero-key":      {with(2*head+2*queries, zeros...), "layer 1, KV head 0, key 0: all numbers are 0", ""},
		"zero-query":    {with(2*head+row, zeros...), "layer 1, KV head 0, query 1: all numbers are 0", ""},
		"cut":           {good[:len(good)/2], "the file is cut off or damaged", ""},
		"cut-header":    {good[:begin/2], "the file is cut off within its header", ""},
		"empty":         {nil, "the file is empty", ""},
		"longer":        {append(slices.Clone(good), 1), "the file is cut off or damaged", ""},
		"head-less":     {stated(`"kv_heads":2`, `"kv_heads":1`), "its header states 2 heads of", ""},
		"other-size":    {stated(`"head_dim":16`, `"head_dim":32`), "its header states 4 heads of", ""},
		"absurd-size":   {stated(`"context":200`, `"context":9e9`), `its header: "context" is the JSON number 9e9`, ""},
		"uneven":        {stated(`"query_heads":4`, `"query_heads":5`), "5 query heads for 2 KV heads", ""},
		"no-number":     {stated(`"steps":20`, `"steps":""`), `its header: "steps" is the JSON string: want a whole`, ""},
	} {
		path := name + attention.Ending
		must.Do(t, os.WriteFile(path, c.content, 0o644))
		for command, args := range commands {
			args = append(slices.Clone(args), path)
			if command == "convert" {
				args = append(args, "out"+attention.Ending)
			}
			code, text := call(args...)
			if command == c.unread {
				if code != exitFine {
					t.Errorf("%s %s: %s, want no error, as it is not read", command, path, text)
				}
				continue
			}
			if code != exitWrongUse || strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "cachesim: "+path) ||
				!strings.Contains(text, c.want) {
				t.Errorf("%s %s: exit code %d, error %q, want %q", command, path, code, text, c.want)
			}
			if left := must.Get(filepath.Glob("*out*"))(t); len(left) > 0 {
				t.Errorf("%s %s: %q are left", command, path, left)
			}
		}
	}
}
