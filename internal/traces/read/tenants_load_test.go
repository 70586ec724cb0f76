package read_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// nobodys is a prompt without a tenant.
const nobodys = `{"input_length": 1024, "hash_ids": [1, 2]}` + "\n"

func writeTenantFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// requestsOf returns the requests as "tenant:key".
func requestsOf(t *traces.Trace) (list []string) {
	for _, o := range t.Objects {
		list = append(list, t.Tenants.Names[t.Tenants.Of[o]]+":"+t.Keys[o].String())
	}
	return list
}

func TestLoadTenants(t *testing.T) {
	table := writeTenantFile(t, "t.csv", "time,key,size,customer\n1,a,5,web\n2,a,6,db\n3,b,0,\n4,a,5,web\n")
	a := writeTenantFile(t, "a.txt", "1\n2\n3\n1\n")
	b := writeTenantFile(t, "b.txt", "1\n9\n")
	c := writeTenantFile(t, "c.csv", "time,key\n1,x\n5,y\n")
	d := writeTenantFile(t, "d.csv", "time,key\n2,x\n3,x\n")
	paths := writeTenantFile(t, "p.txt", "web/1\ndb/1\nweb/2\nplain\nweb/1\n")
	for name, test := range map[string]struct {
		paths []string
		opts  read.Selection
		want  string
	}{
		"column":   {[]string{table}, read.Selection{Tenants: "column(name=customer)"}, "web:a db:a -:b web:a"},
		"numbered": {[]string{table}, read.Selection{Tenants: "column(name=4)"}, "web:a db:a -:b web:a"},
		"option": {[]string{table}, read.Selection{Tenants: "column", Format: "csv:tenant=customer"},
			"web:a db:a -:b web:a"},
		"prefix": {[]string{paths}, read.Selection{Tenants: "prefix"},
			"web:web/1 db:db/1 web:web/2 -:plain web:web/1"},
		"bits": {[]string{a}, read.Selection{Tenants: "prefix(shift=1)"}, "0:1 1:2 1:3 0:1"},
		"files, spread": {[]string{a, b}, read.Selection{Tenants: "file"},
			"a.txt:1 b.txt:1 a.txt:2 a.txt:3 b.txt:9 a.txt:1"},
		"files, turns": {[]string{a, b}, read.Selection{Tenants: "file(mix=turns)"},
			"a.txt:1 b.txt:1 a.txt:2 b.txt:9 a.txt:3 a.txt:1"},
		"files, one after another": {[]string{a, b}, read.Selection{Tenants: "file(mix=none)"},
			"a.txt:1 a.txt:2 a.txt:3 a.txt:1 b.txt:1 b.txt:9"},
		"files by time": {[]string{c, d}, read.Selection{Tenants: "file", Merge: true}, "c.csv:x d.csv:x d.csv:x c.csv:y"},
		"a file twice":  {[]string{b, b}, read.Selection{Tenants: "file"}, "b.txt:1 b.txt#2:1 b.txt:9 b.txt#2:9"},
		"limit":         {[]string{a, b}, read.Selection{Tenants: "file", Limit: 3}, "a.txt:1 b.txt:1 a.txt:2"},
	} {
		got, err := read.Load(t.Context(), test.paths, read.Options{Selection: test.opts,
			Needs: traces.Needs{Keys: true, Sizes: true}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if list := strings.Join(requestsOf(got), " "); list != test.want {
			t.Errorf("%s: %s, want %s", name, list, test.want)
		}
		if got.Limited != (test.opts.Limit > 0) {
			t.Errorf("%s: limited %v", name, got.Limited)
		}
	}
}

// Leaving out requests of size 0 keeps the tenants of the others, and keys are kept only on request.
func TestTenantsWithoutZeroSizes(t *testing.T) {
	path := writeTenantFile(t, "t.csv", "key,size,tenant\na,5,web\nb,0,db\na,6,db\na,5,web\n")
	got := must.Get(read.Load(t.Context(), []string{path},
		read.Options{Selection: read.Selection{Tenants: "column"},
			Needs: traces.Needs{Sizes: true}}))(t)
	if got.Keys != nil {
		t.Error("keys are kept, though nobody asked for them")
	}
	if got.RequestSizes != nil && !slices.Equal(got.ObjectSizes, []int64{5, 0, 6}) {
		t.Errorf("sizes %v", got.ObjectSizes)
	}
	sized, zeros := got.WithoutZeroSizes()
	if zeros != 1 || !slices.Equal(sized.Objects, []uint32{0, 1, 0}) || !slices.Equal(sized.Tenants.Of, []uint32{0, 1}) {
		t.Errorf("%d left out, objects %v of %v", zeros, sized.Objects, sized.Tenants.Of)
	}
}

func TestLoadTenantsErrors(t *testing.T) {
	table := writeTenantFile(t, "t.csv", "time,key,customer\n1,a,web\n2,b,db\n")
	plain := writeTenantFile(t, "a.txt", "1\n2\n")
	texts := writeTenantFile(t, "b.txt", "x\ny\n")
	for name, test := range map[string]struct {
		paths []string
		opts  read.Selection
		want  string
	}{
		"no such column": {[]string{table}, read.Selection{Tenants: "column"}, `unknown column "tenant"`},
		"no columns":     {[]string{plain}, read.Selection{Tenants: "column"}, "has no named columns"},
		"one file":       {[]string{plain}, read.Selection{Tenants: "file"}, "need several files"},
		"file by file":   {[]string{plain, plain}, read.Selection{Tenants: "file", PerFile: true}, "share a cache"},
		"bits of a text": {[]string{texts}, read.Selection{Tenants: "prefix(shift=3)"}, `key "x" is not a number`},
		"no such way":    {[]string{plain}, read.Selection{Tenants: "files"}, `did you mean "file"`},
		"sample and limit": {[]string{plain, plain}, read.Selection{Tenants: "file", Limit: 1, SampleRate: 0.9},
			"sampled or limited, but not both"},
	} {
		_, err := read.Load(t.Context(), test.paths, read.Options{Selection: test.opts})
		must.Fail(t, err, test.want, name)
	}
}

// A column of Parquet holds texts or numbers.
func TestParquetTenants(t *testing.T) {
	type named struct {
		Key    int64  `parquet:"key"`
		Tenant string `parquet:"tenant"`
	}
	type numbered struct {
		Key    int64 `parquet:"key"`
		Tenant int32 `parquet:"tenant"`
	}
	type fraction struct {
		Key    int64   `parquet:"key"`
		Tenant float64 `parquet:"tenant"`
	}
	load := func(path string) (*traces.Trace, error) {
		return read.Load(t.Context(), []string{path}, read.Options{Selection: read.Selection{Tenants: "column"},
			Needs: traces.Needs{Keys: true}})
	}
	for rows, want := range map[string]string{
		tracetest.ParquetOf(t, []named{{1, "web"}, {1, "db"}, {2, ""}, {1, "web"}}): "web:1 db:1 -:2 web:1",
		tracetest.ParquetOf(t, []numbered{{1, 7}, {1, -7}, {1, 7}}):                 "7:1 -7:1 7:1",
		tracetest.ParquetOf(t, []fraction{{1, 7}, {2, 8}}):                          "7:1 8:2",
	} {
		got, err := load(writeTenantFile(t, "x.parquet", rows))
		if err != nil {
			t.Errorf("%s: %v", want, err)
		} else if list := strings.Join(requestsOf(got), " "); list != want {
			t.Errorf("%s, want %s", list, want)
		}
	}
	_, err := load(writeTenantFile(t, "x.parquet", tracetest.ParquetOf(t, []fraction{{1, 7.5}})))
	must.Fail(t, err, "tenant 7.5: want a text or a whole number")
}

// TestTenantsOfReads: a block belongs to the job that reads it, or to a directory of its file.
func TestTenantsOfReads(t *testing.T) {
	const reads = "job,path,offset,length\nb,/data/x/1,0,2000\na,/data/y/2,0,10\nb,/data/x/1,1500,9\n,c,0,1\na,/z,0,1\n"
	for rule, want := range map[string]string{
		"job": "b:/data/x/1#0 b:/data/x/1#1 a:/data/y/2#0 b:/data/x/1#1 -:c#0 a:/z#0",
		"directory": "/data:/data/x/1#0 /data:/data/x/1#1 /data:/data/y/2#0 /data:/data/x/1#1 .:c#0 " +
			"/:/z#0",
		"directory(depth=2)": "/data/x:/data/x/1#0 /data/x:/data/x/1#1 /data/y:/data/y/2#0 /data/x:/data/x/1#1 .:c#0 /:/z#0",
		"directory(depth=9)": "/data/x:/data/x/1#0 /data/x:/data/x/1#1 /data/y:/data/y/2#0 /data/x:/data/x/1#1 .:c#0 /:/z#0",
	} {
		got, err := read.Load(t.Context(), []string{"-"}, read.Options{Stdin: strings.NewReader(reads),
			Selection: read.Selection{Tenants: rule, Format: "reads:block=1"}, Needs: traces.Needs{Keys: true, Sizes: true}})
		if err != nil {
			t.Errorf("%s: %v", rule, err)
		} else if list := strings.Join(requestsOf(got), " "); list != want {
			t.Errorf("%s: got %s, want %s", rule, list, want)
		}
	}
	// Reads of no job, and those of a job of that name, are one tenant: metrics are named after it.
	const dashes = "job,path,offset,length\n-,/x,0,9\nb,/y,0,9\n,/z,0,9\n"
	for _, content := range []string{dashes, strings.Replace(dashes, "\n-,", "\n,", 1)} {
		got := must.Get(read.Load(t.Context(), []string{"-"}, read.Options{Stdin: strings.NewReader(content),
			Selection: read.Selection{Tenants: "job"}, Needs: traces.Needs{Keys: true}}))(t)
		if list := strings.Join(requestsOf(got), " "); list != "-:/x#0 b:/y#0 -:/z#0" || len(got.Tenants.Names) != 2 {
			t.Errorf("%q: got %s of %q", content, list, got.Tenants.Names)
		}
	}
	for rule, c := range map[string]struct{ content, want string }{
		"job": {"job,path,offset,length\na,/x,0,9\nb,/x,5,1\n",
			`block 0 of "/x" is read by two jobs, "a" and "b": write ` +
				"--tenant 'directory(depth=1)'"},
		"job()":              {"path,offset,length\n/x,0,9\n", "its reads have no jobs: write --tenant 'directory(depth=1)'"},
		"column(name=job)":   {reads, "holds reads of files, whose tenants are jobs or directories: write --tenant job"},
		"prefix":             {reads, "whose tenants are jobs or directories: write --tenant job"},
		"directory":          {"key\n1\n", "its requests are not reads of files, so they have no directory"},
		"directory(depth=0)": {reads, "depth=0: want a number from 1"},
	} {
		_, err := read.Load(t.Context(), []string{"-"}, read.Options{Stdin: strings.NewReader(c.content),
			Selection: read.Selection{Tenants: rule}})
		must.Fail(t, err, c.want, rule)
	}
}

// tenantsOfPrompts returns the tenant of each prompt.
func tenantsOfPrompts(t *traces.Trace) string {
	var list []string
	for _, number := range t.Tenants.OfPrompt {
		list = append(list, t.Tenants.Names[number])
	}
	return strings.Join(list, " ")
}

// TestTenantsOfPrompts: each prompt has the tenant that its object names, whatever blocks it shares with others.
func TestTenantsOfPrompts(t *testing.T) {
	mooncake := writeTenantFile(t, "m.jsonl", `{"input_length": 1024, "hash_ids": [1, 2], "user": "a\u0062", "x": 1}
{"input_length": 1024, "hash_ids": [1, 2], "user": 7, "meta": {"team": {"id": "red"}}}
{"input_length": 100, "hash_ids": [], "user": null}
{"input_length": 1024, "hash_ids": [1, 3], "user": "ab", "meta": {"team": 5}}
`)
	dotted := writeTenantFile(t, "dotted.jsonl", `{"input_length": 1024, "hash_ids": [1, 2], "llm.user": "a"}
{"input_length": 1024, "hash_ids": [1, 2], "llm": {"user": "b"}}
{"input_length": 1024, "hash_ids": [1, 2], "llm.user": "c", "llm": 5, "at": {"org.team": "red"}}
`)
	later := writeTenantFile(t, "later.jsonl", `{"timestamp": 5, "input_length": 1024, "hash_ids": [1, 2]}
{"timestamp": 9, "input_length": 1024, "hash_ids": [1, 2]}
`)
	sooner := writeTenantFile(t, "sooner.jsonl", `{"timestamp": 7, "input_length": 1024, "hash_ids": [1, 2]}`+"\n")
	chat := writeTenantFile(t, "chat.jsonl", ""+
		`{"timestamp": 2, "input": "a b c d", "output": "e", "session_id": 1, "org": "x"}
{"timestamp": 1, "input": "a b c d", "output": "e", "session_id": 2, "org": "y"}
`)
	openai := writeTenantFile(t, "openai.jsonl", `{"body": {"model": "m", "user": "x", "messages": [{"role": "user", `+
		`"content": "a longer text, of more than one block of tokens"}]}}
{"body": {"model": "m", "messages": [{"role": "user", "content": "a longer text, of more than one block of tokens"}]}}
`)
	array := writeTenantFile(t, "openai.json", `[{"model": "m", "user": "x", "messages": [{"role": "user", "content": `+
		`"hello"}]}, {"user": "y", "model": "m", "messages": [{"role": "user", "content": "hello"}]}]`)
	litellm := writeTenantFile(t, "litellm.jsonl", `{"startTime": 1, "call_type": "completion", "end_user": "x", `+
		`"prompt_tokens": 100, "completion_tokens": 3}
{"startTime": 2, "call_type": "completion", "end_user": "y", "prompt_tokens": 50, "completion_tokens": 3}
`)
	for name, test := range map[string]struct {
		paths   []string
		opts    read.Selection
		want    string
		objects []uint32
	}{
		"field": {[]string{mooncake}, read.Selection{Tenants: "column(name=user)"}, "ab 7 - ab",
			[]uint32{0, 1, 0, 1, 2, 0, 3}},
		"key with dots":        {[]string{dotted}, read.Selection{Tenants: "column(name=llm.user)"}, "a b c", nil},
		"key with dots within": {[]string{dotted}, read.Selection{Tenants: "column(name=at.org.team)"}, "- - red", nil},
		"nested": {[]string{mooncake}, read.Selection{Tenants: "column(name=meta.team.id)"},
			"- red - -", nil},
		"option": {[]string{mooncake}, read.Selection{Tenants: "column", Format: "mooncake:tenant=x"},
			"1 - - -", nil},
		"limit": {[]string{mooncake}, read.Selection{Tenants: "column(name=user)", Limit: 2}, "ab 7", nil},
		"salt": {[]string{mooncake}, read.Selection{Tenants: "column(name=user,salt=true)"}, "ab 7 - ab",
			[]uint32{0, 1, 2, 3, 4, 0, 5}},
		"files by time": {[]string{later, sooner}, read.Selection{Tenants: "file", Merge: true},
			"later.jsonl sooner.jsonl later.jsonl", []uint32{0, 1, 0, 1, 0, 1}},
		"files by time, salted": {[]string{later, sooner}, read.Selection{Tenants: "file(salt=true)", Merge: true},
			"later.jsonl sooner.jsonl later.jsonl", []uint32{0, 1, 2, 3, 0, 1}},
		"files": {[]string{later, sooner}, read.Selection{Tenants: "file(mix=none)"},
			"later.jsonl later.jsonl sooner.jsonl", nil},
		"chat, by time": {[]string{chat}, read.Selection{Tenants: "column(name=org)", Format: "chat:block=2"},
			"y x", nil},
		"openai":          {[]string{openai}, read.Selection{Tenants: "column(name=body.user)"}, "x -", nil},
		"openai in array": {[]string{array}, read.Selection{Tenants: "column(name=user)"}, "x y", nil},
		"litellm":         {[]string{litellm}, read.Selection{Tenants: "column(name=end_user)"}, "x y", nil},
	} {
		got, err := read.Load(t.Context(), test.paths, read.Options{Selection: test.opts,
			Needs: traces.Needs{Lengths: true}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if list := tenantsOfPrompts(got); list != test.want || got.Tenants.Of != nil {
			t.Errorf("%s: %s, want %s", name, list, test.want)
		}
		if test.objects != nil && !slices.Equal(got.Objects, test.objects) {
			t.Errorf("%s: blocks %v, want %v", name, got.Objects, test.objects)
		}
	}
}

// TestTenantsThatComeLate: a field that the beginning of a file lacks is none that all prompts lack.
func TestTenantsThatComeLate(t *testing.T) {
	path := writeTenantFile(t, "late.jsonl", strings.Repeat(nobodys, 5000)+
		`{"input_length": 1024, "hash_ids": [1, 2], "user": "a"}`+"\n")
	got := must.Get(read.Load(t.Context(), []string{path},
		read.Options{Selection: read.Selection{Tenants: "column(name=user)"}}))(t)
	if of := got.Tenants.OfPrompt; len(of) != 5001 || of[0] != 0 || of[4999] != 0 || of[5000] != 1 {
		t.Errorf("%d prompts have tenants, the last of them number %d", len(of), of[len(of)-1])
	}
	if !slices.Equal(got.Tenants.Names, []string{"-", "a"}) {
		t.Errorf("tenants %q", got.Tenants.Names)
	}
}

// TestSaltedTenantsAreAlone: with a salt, the prompts of a tenant have the blocks that they have in a trace of their
// own, and share none with other tenants; without one, blocks are those of the trace without tenants.
func TestSaltedTenantsAreAlone(t *testing.T) {
	folder := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		of := map[string][]string{} // lines by tenant
		for range rapid.IntRange(2, 12).Draw(t, "prompts") {
			ids := rapid.SliceOfN(rapid.IntRange(0, 2), 1, 4).Draw(t, "ids")
			tenant := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "tenant")
			line := fmt.Sprintf(`{"input_length": %d, "hash_ids": [%s], "user": %q}`, 512*len(ids),
				strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]"), tenant)
			lines, of[tenant] = append(lines, line), append(of[tenant], line)
		}
		load := func(lines []string, tenants string) *traces.Trace {
			path := filepath.Join(folder, "prompts.jsonl")
			must.Do(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
			return must.Get(read.Load(context.Background(), []string{path},
				read.Options{Selection: read.Selection{Tenants: tenants}}))(t)
		}
		plain, shared := load(lines, ""), load(lines, "column(name=user)")
		if !slices.Equal(plain.Objects, shared.Objects) || plain.NumObjects != shared.NumObjects {
			t.Fatalf("blocks %v with tenants that share them, %v without tenants", shared.Objects, plain.Objects)
		}
		salted := load(lines, "column(name=user,salt=true)")
		owner, objects := map[uint32]uint32{}, 0
		for number, name := range salted.Tenants.Names {
			alone := load(of[name], "")
			objects += alone.NumObjects
			numbers := map[uint32]uint32{}
			var got []uint32
			for prompt, tenant := range salted.Tenants.OfPrompt {
				if int(tenant) != number {
					continue
				}
				blocks, _ := salted.Group(prompt)
				for _, o := range blocks {
					if _, known := numbers[o]; !known {
						numbers[o] = uint32(len(numbers))
					}
					if other, taken := owner[o]; taken && other != tenant {
						t.Fatalf("block %d belongs to two tenants", o)
					}
					owner[o] = tenant
					got = append(got, numbers[o])
				}
			}
			if !slices.Equal(got, alone.Objects) {
				t.Fatalf("tenant %s has the blocks %v, alone %v", name, got, alone.Objects)
			}
		}
		if objects != salted.NumObjects {
			t.Fatalf("%d blocks, the tenants have %d", salted.NumObjects, objects)
		}
	})
}

func TestTenantsOfPromptsErrors(t *testing.T) {
	const good = `{"input_length": 1024, "hash_ids": [1, 2], "user": "a"}` + "\n"
	mooncake := writeTenantFile(t, "m.jsonl", good)
	object := writeTenantFile(t, "o.jsonl", good+`{"input_length": 1024, "hash_ids": [1, 2], "user": {"id": 1}}`+"\n")
	truth := writeTenantFile(t, "t.jsonl", `{"input_length": 1024, "hash_ids": [1, 2], "user": true}`+"\n")
	list := writeTenantFile(t, "l.jsonl", good+`{"input_length": 1024, "hash_ids": [1, 2], "user": ["a"]}`+"\n")
	blank := writeTenantFile(t, "b.jsonl", good+"\n\n")
	late := writeTenantFile(t, "late.jsonl", strings.Repeat(nobodys, 5000)+good)
	chat := writeTenantFile(t, "chat.jsonl", `{"timestamp": 2, "input": "a b", "output": "e", "session_id": 1}`+"\n")
	openai := writeTenantFile(t, "openai.jsonl", `{"messages": [{"role": "user", "content": "hello"}]}`+"\n")
	table := writeTenantFile(t, "t.csv", "key,tenant\na,x\n")
	for name, test := range map[string]struct {
		paths []string
		opts  read.Selection
		want  string
	}{
		"no such field, and blank lines": {[]string{blank}, read.Selection{Tenants: "column(name=usr)"},
			`tenant: unknown field "usr"; did you mean "user"? (exists: input_length, hash_ids, user)`},
		"none within a limit": {[]string{late}, read.Selection{Tenants: "column(name=user)", Limit: 100},
			"none of the 100 prompts within --limit has a tenant in the field user; raise the limit, or name another field"},
		"no name": {[]string{mooncake}, read.Selection{Tenants: "column(name=)"},
			"tenant column: name is empty"},
		"no name of a table": {[]string{table}, read.Selection{Tenants: "column(name=)"},
			"tenant column: name is empty"},
		"no such field": {[]string{mooncake}, read.Selection{Tenants: "column(name=usr)"},
			`tenant: unknown field "usr"; did you mean "user"? (exists: input_length, hash_ids, user)`},
		"none in a chat": {[]string{chat}, read.Selection{Tenants: "column(name=org)"}, `tenant: unknown field "org"`},
		"none in a request": {[]string{openai}, read.Selection{Tenants: "column(name=user)"},
			`tenant: unknown field "user"`},
		"object": {[]string{object}, read.Selection{Tenants: "column(name=user)"},
			"line 2: tenant: user is an object; want a text, a number or null, such as those of its fields: user.NAME"},
		"list": {[]string{list}, read.Selection{Tenants: "column(name=user)"},
			"tenant: user is no text and no number; want one of them, or null"},
		"truth": {[]string{truth}, read.Selection{Tenants: "column(name=user)"}, "tenant: user is no text and no number"},
		"keys": {[]string{mooncake}, read.Selection{Tenants: "prefix"},
			"prompts have no tenants by prefix; write --tenant " +
				"'column(name=user)' or --tenant file"},
		"mixed": {[]string{mooncake, mooncake}, read.Selection{Tenants: "file"},
			"prompts of several files are merged by time; add --merge, or write --tenant 'file(mix=none)'"},
		"salt of objects": {[]string{table}, read.Selection{Tenants: "column(salt=true)"}, "salt=true is of prompts"},
	} {
		_, err := read.Load(t.Context(), test.paths, read.Options{Selection: test.opts})
		must.Fail(t, err, test.want, name)
	}
}

// TestSharedKeysAreSaid: keys of several tenants are counted once, in a warning and in the tenants.
func TestSharedKeysAreSaid(t *testing.T) {
	text := "key,tenant\na,x\na,y\na,x\nb,x\nc,y\nc,z\nc,x\n"
	tr := tracetest.MustLoadText(t, text, read.Options{Selection: read.Selection{Tenants: "column"}})
	const want = "2 of 3 keys have several tenants, and are an object for each of them, so that none hits what another " +
		"has loaded; --by counts the hits of each in one cache instead"
	if tr.Tenants.Shared != 2 || !slices.Contains(tr.Warnings, want) {
		t.Errorf("%d keys, %q", tr.Tenants.Shared, tr.Warnings)
	}
	apart := tracetest.MustLoadText(t, "key,tenant\na,x\nb,y\na,x\n", read.Options{
		Selection: read.Selection{Tenants: "column"}})
	if apart.Tenants.Shared != 0 || len(apart.Warnings) > 0 {
		t.Errorf("without: %d keys, %q", apart.Tenants.Shared, apart.Warnings)
	}
}
