package commands

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/testdata/logs"
)

const repository = "../.."

// docCommand is a command shown on a page of the documentation.
type docCommand struct {
	page string
	line string // as the shell reads it, without the pipe that follows
}

// docPages returns the README and the pages of docs.
func docPages(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(repository, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages of docs: %v", len(pages), err)
	}
	return append([]string{filepath.Join(repository, "README.md")}, pages...)
}

// docCommands returns a page's commands: its indented or fenced lines that begin with cachesim.
func docCommands(t *testing.T, page string) (commands []docCommand) {
	t.Helper()
	text := must.Get(os.ReadFile(page))(t)
	fenced := false
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if !fenced && !strings.HasPrefix(line, "    ") {
			continue
		}
		for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
			i++
			line = strings.TrimSuffix(line, `\`) + lines[i]
		}
		line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
		if !strings.HasPrefix(line, "cachesim ") {
			continue
		}
		line, _, _ = strings.Cut(line, " | ")
		commands = append(commands, docCommand{filepath.Base(page), line})
	}
	return commands
}

// arguments splits the line as a shell does and removes the program's name, and the file for its output.
func (c docCommand) arguments(t *testing.T) []string {
	t.Helper()
	line, _, _ := strings.Cut(c.line, " > ")
	shell := exec.Command("sh", "-c", `cachesim() { printf '%s\n' "$@"; }; `+line)
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: a shell cannot read %q: %v: %s", c.page, c.line, err, out)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// TestDocCommandsExist parses every command in the README and docs as the program would: command, flags and number of
// arguments must be right.
func TestDocCommandsExist(t *testing.T) {
	count := 0
	for _, page := range docPages(t) {
		for _, c := range docCommands(t, page) {
			count++
			root, args := newRootCommand(), c.arguments(t)
			cmd, rest, err := root.Find(args)
			if cmd == root && !strings.HasPrefix(args[0], "-") { // a log
				cmd, rest, err = root.Find(append([]string{"run", "--brief"}, args...))
			}
			if err == nil {
				cmd.SetOut(io.Discard)
				cmd.SetErr(io.Discard)
				if err = cmd.ParseFlags(rest); err == nil {
					err = cmd.ValidateArgs(cmd.Flags().Args())
				}
			}
			if err != nil {
				t.Errorf("%s: %s: %v", c.page, c.line, err)
			}
		}
	}
	if count < 60 {
		t.Errorf("%d commands found in README and docs, want them all: there were 75", count)
	}
}

// notRun lists the commands that TestDocCommandsRun leaves out, with the reason.
var notRun = []struct {
	pattern *regexp.Regexp
	reason  string
}{
	{regexp.MustCompile(`--endpoint|sweep submit`), "needs a service or a cluster"},
	{regexp.MustCompile(`reproduce \S+-|sweep plan classic-block|adversary`), "takes minutes; CI runs the quick versions"},
	{regexp.MustCompile(`qqp|clinc|oasst|sgd-dev|sweep merge|block=1,tokenizer=`), "needs files that others publish, or " +
		"a sweep that has run"},
	{regexp.MustCompile(`--sample 0\.01|requests=30000000|^cachesim run (llm |'dlrm)|gen dialogue -n|gen dialogue ` +
		`--long|gen cluster -o|recommender\(nodes=1,epochs=80|run recommender |layer\.attention|--context 32768`),
		"takes long: it is about a large trace"},
	{regexp.MustCompile(`\bmine\b|--key /logo|import /etc/|~/\.(claude|codex)|^cachesim audit|lose=1@3600s`),
		"needs what a reader has: a policy, a key, a server, a log of hours that says what was found"},
	{regexp.MustCompile(`\b(my|best)\.expr|\bmy\.py|paper/|paper\.tar|experiments/\*`), "needs files that a reader " +
		"writes"},
	{regexp.MustCompile(`train --controller`), "trains for a minute; the training has tests of its own"},
	{regexp.MustCompile(`baseline/dialogue-semantic|baseline/demo|check baseline --tolerance`), "of a baseline with its " +
		"own tests"},
}

// shorter has smaller values of what the pages generate in the size of a real trace.
var shorter = strings.NewReplacer("requests=1000000", "requests=20000", "-n 1000000", "-n 20000",
	"gen cluster --jobs 9+13+14+16", "gen cluster --scale 0.005 --jobs 9+13+14+16",
	"'cluster(jobs=9)'", "'cluster(jobs=9,scale=0.02)'", "jobs=9+13+14+16,scale=0.02", "jobs=9+13+14+16,scale=0.005",
	"gen recommender --dataset", "gen recommender --requests 1000 --users 2000 --dataset",
	"gen recommender --hot", "gen recommender --requests 1000 --users 2000 --hot",
	"gen recommender --requests 1000", "gen recommender --requests 1000 --users 2000",
	"recommender(dataset=taobao,", "recommender(requests=1000,users=2000,dataset=taobao,",
	"sweep example -o", "sweep example --quick -o")

// TestDocCommandsRun runs the commands in the README and docs that a reader with a trace can run, each page in a folder
// of its own. It first creates traces with the names that the pages use. Values may be smaller, so that it soon ends.
func TestDocCommandsRun(t *testing.T) {
	brief.Long(t, "replays for half a minute")
	onlyOnce(t)
	traces := docTraces(t)
	var ran atomic.Int64
	t.Cleanup(func() {
		if ran.Load() < 40 {
			t.Errorf("%d commands ran, want most of them", ran.Load())
		}
	})
	for _, page := range docPages(t) {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must.Do(t, os.CopyFS(dir, os.DirFS(traces)))
			for _, c := range docCommands(t, page) {
				if reason := c.leftOut(); reason != "" {
					t.Logf("%s: not run: it %s", c.line, reason)
					continue
				}
				ran.Add(1)
				c.line = shorter.Replace(c.line)
				c.run(t, dir)
			}
		})
	}
}

// TestDocCommandsHit runs, as they are printed, the commands that make a log of prompts for a reader without one, and
// those that replay it: every result must have hits.
func TestDocCommandsHit(t *testing.T) {
	if testing.Short() {
		t.Skip("replays prompts of 2,000 conversations")
	}
	onlyOnce(t)
	dir := t.TempDir()
	made, replayed := 0, 0
	docs := filepath.Join(repository, "docs")
	for _, c := range append(docCommands(t, filepath.Join(docs, "language-models.md")),
		docCommands(t, filepath.Join(docs, "prompts.md"))...) {
		switch {
		case !strings.Contains(c.line, "llm.jsonl"):
		case strings.HasPrefix(c.line, "cachesim gen llm "):
			c.run(t, dir)
			made++
		default:
			c.checkHits(t, dir)
			replayed++
		}
	}
	if made != 2 || replayed < 3 {
		t.Errorf("the pages make %d logs and replay %d times, want 2 and at least 3", made, replayed)
	}
}

// checkHits runs a command and requires that each of its results has hits, but for the one without a cache.
func (c docCommand) checkHits(t *testing.T, dir string) {
	t.Helper()
	c.line += " --format json"
	out := c.run(t, dir)
	cached := regexp.MustCompile(`(?m)^.*"policy":"no-cache".*$`).ReplaceAllString(out, "")
	if !strings.Contains(cached, `"hits":`) || regexp.MustCompile(`"hits":0\b`).MatchString(cached) {
		t.Errorf("%s: a result without hits:\n%s", c.line, out)
	}
}

// pagesOfPrompts are the pages whose commands replay prompts of language models.
var pagesOfPrompts = []string{"language-models.md", "prompts.md", "kv-memory.md", "tiers.md", "routers.md",
	"policies-engines.md"}

// TestDocCommandsOnRealPrompts runs the commands of the pages about language models, as they are printed, on published
// prompts and lengths: they must succeed, and every replay must have hits.
func TestDocCommandsOnRealPrompts(t *testing.T) {
	if testing.Short() {
		t.Skip("replays for half a minute")
	}
	real := map[string]string{ // by the names on the pages
		"prompts.jsonl.zst":               tracesOf(t, "llm/mooncake-conversation.jsonl.zst")[0],
		"AzureLLMInferenceTrace_conv.csv": tracesOf(t, "llm/AzureLLMInferenceTrace_conv.csv")[0],
	}
	onlyOnce(t)
	ran := 0
	for _, page := range pagesOfPrompts {
		dir := t.TempDir()
		for name, path := range real {
			must.Do(t, os.WriteFile(filepath.Join(dir, name), must.Get(os.ReadFile(path))(t), 0o644))
		}
		for _, c := range docCommands(t, filepath.Join(repository, "docs", page)) {
			switch {
			case strings.Contains(c.line, "AzureLLM"), strings.HasPrefix(c.line, "cachesim stat prompts."),
				strings.HasPrefix(c.line, "cachesim sweep mooncake"):
				c.run(t, dir)
			case strings.Contains(c.line, "prompts.jsonl.zst"):
				c.checkHits(t, dir)
			default:
				continue // of another log
			}
			ran++
		}
	}
	if ran < 22 {
		t.Errorf("%d commands ran, want those of all pages: there were 22", ran)
	}
}

func (c docCommand) leftOut() (reason string) {
	for _, n := range notRun {
		if n.pattern.MatchString(c.line) {
			return n.reason
		}
	}
	return ""
}

// run runs the command as a user in dir would and returns what it prints; it must succeed.
func (c docCommand) run(t *testing.T, dir string) (stdout string) {
	t.Helper()
	shell := exec.Command("sh", "-c", c.line)
	shell.Dir = dir
	shell.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, ".cache"))
	var out, stderr bytes.Buffer
	shell.Stdout, shell.Stderr = &out, &stderr
	if err := shell.Run(); err != nil {
		t.Errorf("%s: %v: %s", c.line, err, &stderr)
	}
	return out.String()
}

// docTraces creates a folder of small traces with the names that the pages use.
func docTraces(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, generator := range map[string]string{
		"trace.zst":          "zipf(requests=4000,objects=500)",
		"day1.zst":           "zipf(requests=6000,objects=500)",
		"day2.zst":           "zipf(requests=6000,objects=500,seed=2)",
		"in.csv.gz":          "zipf(requests=2000,objects=300)",
		"queries.jsonl.zst":  "dialogue(requests=2000,topics=30,dim=64,capacity=100)",
		"prompts.jsonl.zst":  "llm(conversations=10,prompts=40)",
		"testdata/trace.zst": "zipf(requests=4000,objects=500)",
		"requests.parquet":   "recommender(nodes=1,epochs=2,users=500,shards=20000,rate=20)",
		"book.attention":     "attention(layers=2,context=1500,steps=20)",
	} {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		args := []string{"gen", generator, "-o", path}
		if strings.HasSuffix(name, "trace.zst") || strings.HasPrefix(name, "day") {
			args = append(args, "--output-format", "oraclegeneral", "--size", "lognormal(mean=16384,sigma=1)")
		}
		var stderr bytes.Buffer
		if code := run(args, nil, &stderr, &stderr); code != exitFine {
			t.Fatalf("%v: exit code %d: %s", args, code, &stderr)
		}
	}
	must.Do(t, os.Rename(filepath.Join(dir, "book.attention"), filepath.Join(dir, "book"))) // recognised by its content
	must.Do(t, logs.Write(dir))
	for log, name := range map[string]string{"nginx-access.log": "access.log", "redis-monitor.log": "monitor.log"} {
		must.Do(t, os.Rename(filepath.Join(dir, log), filepath.Join(dir, name)))
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "vllm.log"), must.Get(os.ReadFile(filepath.Join(dir, "vllm-0.10.log")))(t),
		0o644))
	docFiles(t, dir)
	docRuns(t, dir)
	return dir
}

// docBlock returns the fenced block of a page that begins with start, without its fences.
func docBlock(t *testing.T, page, start string) string {
	t.Helper()
	text := must.Get(os.ReadFile(page))(t)
	at := bytes.Index(text, []byte(start))
	if at < 0 {
		t.Fatalf("%s has no block that begins with %q", page, start)
	}
	_, block, _ := strings.Cut(string(text[at:]), "\n")
	block, _, _ = strings.Cut(block, "```")
	return block
}

// docFiles adds the other files that pages use: an experiment, a baseline, embeddings and records.
func docFiles(t *testing.T, dir string) {
	t.Helper()
	must.Do(t, os.CopyFS(filepath.Join(dir, "examples/wasm"), os.DirFS(filepath.Join(repository, "examples/wasm"))))
	demo := must.Get(os.ReadFile(filepath.Join(testdataDir, "demo.oracleGeneral.zst")))(t)
	must.Do(t, os.WriteFile(filepath.Join(dir, "testdata", "demo.oracleGeneral.zst"), demo, 0o644))
	experiment := must.Get(os.ReadFile(filepath.Join(repository, "configs", "example.yaml")))(t)
	nightly := docBlock(t, filepath.Join(repository, "docs", "regression.md"), "```yaml\nname: nightly\n")
	must.Do(t, os.WriteFile(filepath.Join(dir, "nightly.yaml"), []byte(nightly), 0o644))
	proxy := docBlock(t, filepath.Join(repository, "docs", "formats.md"), "```\nname: proxy\n")
	must.Do(t, os.WriteFile(filepath.Join(dir, "proxy.yaml"), []byte(proxy), 0o644))
	const requests = "1735725845000 10.0.0.1 GET http://a.example/x 120 MISS\n" +
		"1735725845120 10.0.0.2 GET http://a.example/y 80\n" +
		"1735725846400 10.0.0.1 GET http://a.example/x 120 HIT\n"
	must.Do(t, os.WriteFile(filepath.Join(dir, "proxy.log"), []byte(requests), 0o644))
	short := bytes.Replace(experiment, []byte("requests=200000"), []byte("requests=10000"), 1)
	for _, name := range []string{"experiment.yaml", "my.yaml"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), short, 0o644))
	}
	var queries strings.Builder
	for i := range 300 {
		fmt.Fprintf(&queries, `{"time":%d,"id":"q%d","text":"where is the nearest %s in %s?"}`+"\n", i, i,
			[]string{"bakery", "station", "pharmacy", "museum", "school"}[i%5], []string{"Bern", "Rome", "Oslo"}[i%7%3])
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "queries.jsonl"), []byte(queries.String()), 0o644))
	var lookups strings.Builder
	for i := range 500 {
		for k := range 3 + i%5 {
			fmt.Fprintf(&lookups, "%d ", i*k%211)
		}
		lookups.WriteString("\n")
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "lookups.txt.zst"), []byte(lookups.String()), 0o644))
	tenants := map[string]string{"keys.txt": "web/a\nweb/b\ndb/a\nweb/a\ndb/a\ndb/c\nweb/b\nweb/a\n",
		"requests.csv": "key,customer,caller\na,web,x\nb,db,y\na,web,y\nc,web,x\nb,db,x\n",
		"web.csv":      "key\na\nb\na\n", "db.csv": "key\nc\nd\nc\n", "memkeys.txt": "key,size\nproduct:1,475\n",
		"app.log":         `{"ts":1772366401,"size":9,"request":{"host":"a","uri":"/b"}}` + "\n",
		"worker.log":      "2026-03-01 12:00:00 INFO fetched a.png 17\n",
		"nginx.log":       "10.0.0.1 [10/Oct/2000:13:55:36 -0700] \"GET /a.png HTTP/1.1\" 200 2326\n",
		"log_format.conf": "log_format main '$remote_addr [$time_local] \"$request\" '\n  '$status $body_bytes_sent';\n",
		"apache.log":      "h.example 10.0.0.1 [10/Oct/2000:13:55:36 -0700] \"GET /a.png\" 200 2326 HIT\n",
		"trace.bin":       strings.Repeat("\x01\x00\x00\x00ABCDEFGH\x10\x00\x00\x00", 9),
		"orm-busy.trace":  strings.Repeat("\x00\x00\x00\x07", 9),
		"ratings.dat":     "1::10::7::5\n1::20::8::6\n2::10::7::6\n2::20::9::9\n1::30::5::9\n"}
	prompts := ""
	for i, user := range []string{"acme", "bolt", "acme"} {
		prompts += fmt.Sprintf(`{"timestamp":%d,"input_length":1536,"user":%q,"model":"m%d","hash_ids":[1,2,3]}`+"\n",
			9*i, user, i%2)
		tenants["batch.jsonl"] += fmt.Sprintf(`{"custom_id":"%d","method":"POST","url":"/v1/chat/completions","body":`+
			`{"model":"m","user":%q,"messages":[{"role":"user","content":%q}]}}`+"\n", i, user, strings.Repeat("hello ", 40))
	}
	for _, name := range []string{"teams", "eu", "us", "prompts"} {
		tenants[name+".jsonl"] = prompts
	}
	tenants["s3-logs/2026/11/01/a.gz"] = string(must.Get(os.ReadFile(filepath.Join(dir, "apache-common.log")))(t))
	for name, text := range tenants {
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for rank := range 2 {
		var reads strings.Builder
		reads.WriteString("[\n" + `{"name":"FH","cat":"dftracer","ph":"M","args":{"name":"/data/0","value":0}}` + "\n")
		for i := range 200 {
			fmt.Fprintf(&reads, `{"name":"pread","cat":"POSIX","pid":%d,"ts":%d,`, rank, i*1000)
			fmt.Fprintf(&reads, `"args":{"fd":3,"fhash":%d,"ret":4096,"offset":%d}}`+"\n", i%20, i*7%10<<22)
		}
		reads.WriteString("]\n")
		path := filepath.Join(dir, "logs", fmt.Sprintf("rank%d.pfw.gz", rank))
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(reads.String()), 0o644))
	}
	reads := "ts,rank,filename,offset,nbytes\n0,0,/data/a,0,4096\n5,1,/data/b,0,4096\n9,0,/data/a,4096,4096\n"
	must.Do(t, os.WriteFile(filepath.Join(dir, "trace.csv"), []byte(reads), 0o644))
	trace := filepath.Join(dir, "trace.zst")
	for _, args := range [][]string{
		{"gen", "cluster(jobs=9+14,scale=0.001,epochs=2,arrivals=1)", "-o", filepath.Join(dir, "reads.csv"), "--listing",
			filepath.Join(dir, "data.csv.zst")},
		{"embed", filepath.Join(dir, "queries.jsonl"), "-o", filepath.Join(dir, "queries.npy")},
		{"run", trace, "--policy", "lru,opt", "-o", filepath.Join(dir, "out")},
		{"run", trace, "--policy", "lru,opt", "-o", filepath.Join(dir, "baseline")},
		{"train", trace, "-o", filepath.Join(dir, "model.txt")},
	} {
		var stderr bytes.Buffer
		if code := run(args, nil, &stderr, &stderr); code != exitFine {
			t.Fatalf("%v: exit code %d: %s", args, code, &stderr)
		}
	}
}

// docRuns adds runs to compare, and results of other simulators.
func docRuns(t *testing.T, dir string) {
	t.Helper()
	for _, out := range []string{"old/day1", "old/day2", "new/day1", "new/day2", "newer/day1", "runs/day1", "runs/day2",
		"main/day1", "branch/day1", "ours/trace"} {
		args := []string{"run", filepath.Join(dir, filepath.Base(out)+".zst"), "--policy", "fifo,lru,s3fifo", "--capacity",
			"100", "-o", filepath.Join(dir, out), "--quiet"}
		var stderr bytes.Buffer
		if code := run(args, nil, io.Discard, &stderr); code != exitFine {
			t.Fatalf("%v: exit code %d: %s", args, code, &stderr)
		}
	}
	must.Do(t, os.MkdirAll(filepath.Join(dir, "libcachesim", "result"), 0o755))
	for name, text := range map[string]string{
		"libcachesim/result/trace.zst": "result/trace.zst LRU cache size 100, 4000 req, miss ratio 0.5\n",
		"hit_rate_100.csv":             "Policy,Hit Rate,Hits,Misses,Requests\nlinked.Lru,50.00,2000,2000,4000\n",
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
}
