package formats

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read/promptlogs"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// statistics is what a log is that counts requests instead of naming them, as servers and tools write by default.
type statistics struct {
	what    string
	lacks   string // what its lines do without
	stated  []observed
	lines   int    // of which it is
	instead string // how to log requests
	of      string // what the ratio is of; "" if the log states none
	latest  bool   // the last line states the ratio of all
}

// observed is what a line states: hits among all.
type observed struct{ hits, all float64 }

// Error says what the log is, what it states, and how to log requests.
func (l statistics) Error() string {
	text := "begins with " + l.what + ", which " + l.lacks
	if ratio, ok := l.ratio(l.stated); ok {
		text += fmt.Sprintf("; by its first %d lines %s of the %s hit", l.lines, ratio, l.of)
		if l.latest {
			text += ", as the last line states"
		}
		text += l.overTime()
	}
	return text + "; " + l.instead + "; if requests come later, name their format with --input-format"
}

// ratio returns the hit ratio of what some lines state.
func (l statistics) ratio(stated []observed) (text string, ok bool) {
	var sum observed
	for _, o := range stated {
		if l.latest {
			sum = observed{}
		}
		sum.hits += o.hits
		sum.all += o.all
	}
	return fmt.Sprintf("%.1f%%", 100*sum.hits/sum.all), sum.all > 0
}

// mostParts is how many hit ratios show how they changed.
const mostParts = 8

// overTime says how the hit ratio changed, in parts of as many lines.
func (l statistics) overTime() string {
	if len(l.stated) < 2 {
		return ""
	}
	var ratios []string
	parts := min(mostParts, len(l.stated))
	for k := range parts {
		if ratio, ok := l.ratio(l.stated[k*len(l.stated)/parts : (k+1)*len(l.stated)/parts]); ok {
			ratios = append(ratios, ratio)
		}
	}
	return " (in their order " + strings.Join(ratios, ", ") + ")"
}

// statisticsKind is a kind of log. A line that matches the pattern has statistics; observe reads them from the whole
// log.
type statisticsKind struct {
	what    string
	pattern *regexp.Regexp
	observe func(k *statisticsKind, log []byte) []observed
	of      string
	instead string
}

// statisticsKinds are kinds of logs. Requests of vLLM without their prompts come last, since statistics say more.
var statisticsKinds = []statisticsKind{
	{"statistics of vLLM", regexp.MustCompile(`Avg prompt throughput: .*Prefix cache hit rate: ([0-9.]+)%`), shares,
		"tokens", "start the server with --enable-log-requests and VLLM_LOGGING_LEVEL=DEBUG"},
	{"statistics of SGLang", regexp.MustCompile(`(?:Prefill|Decode) batch\b.*?(?:#new-token: ([0-9]+), ` +
		`#cached-token: ([0-9]+)|token usage)`), missesAndHits, "tokens",
		"start the server with --log-requests --log-requests-level 3"},
	{"statistics of LMCache", regexp.MustCompile(`Total tokens ([0-9]+), LMCache hit tokens: ([0-9]+)`), allAndHits,
		"tokens",
		"log the requests of the engine in front of it: vLLM's --enable-log-requests with VLLM_LOGGING_LEVEL=DEBUG"},
	{"statistics of llama.cpp's server", regexp.MustCompile(`slot .*\| task ([0-9]+) \| (?:new prompt, .*` +
		`(?:task\.n_tokens|n_prompt_tokens) = ([0-9]+)|.*(?:memory_seq_rm|kv cache rm) \[([0-9]+), end\))`), tasks,
		"tokens", "with -v llama-server logs the bodies of requests behind `request:`: " +
			"sed -n 's/.* request:  {/{/p' LOG | cachesim run -; or " + inFront},
	{"statistics of Ollama", regexp.MustCompile(`msg="loading cache slot" .*\bprompt=([0-9]+) used=([0-9]+)`), allAndHits,
		"tokens", inFront},
	{"events of a cache of vLLM or SGLang (BlockStored, BlockRemoved)", regexp.MustCompile(
		`"type": ?"Block(?:Stored|Removed)"|\["Block(?:Stored|Removed)"|\bBlock(?:Stored|Removed)\(block_hashes=`),
		noneStated, "", "start vLLM with --enable-log-requests and VLLM_LOGGING_LEVEL=DEBUG, or SGLang with --log-requests " +
			"--log-requests-level 3"},
	{"statistics of a Redis server (INFO)", regexp.MustCompile(`^keyspace_(?:hits|misses):([0-9]+)`),
		namedCounts("keyspace_hits:", "keyspace_misses:"), "requests", "record its requests with redis-cli MONITOR"},
	{"statistics of memcached (stats)", regexp.MustCompile(`^STAT get_(?:hits|misses) ([0-9]+)`),
		namedCounts("STAT get_hits ", "STAT get_misses "), "requests",
		"record its requests with watch fetchers mutations"},
	{"statistics of Varnish (varnishstat)", regexp.MustCompile(`^MAIN\.cache_(?:hit|miss)\s+([0-9]+)`),
		namedCounts("MAIN.cache_hit ", "MAIN.cache_miss "), "requests", "record its requests with varnishncsa"},
	{"statistics of nginx (stub_status)", regexp.MustCompile(`^Active connections: [0-9]+`), noneStated, "",
		"log its requests with access_log"},
	{"statistics of ZFS (arcstat)", regexp.MustCompile(`^\s*time\s.*\bread\s.*(?:\barcsz\b|\bmiss%|\bhit%)`), arcstatReads,
		"reads", "it logs no requests; record those of its disks with blktrace, or of its clients with strace"},
	{"statistics of memory and processors (vmstat)", regexp.MustCompile(`^procs -+memory`), noneStated, "",
		"record requests with blktrace"},
	{"statistics of devices (iostat)", regexp.MustCompile(`^Device:?\s.*(?:tps|r/s)`), noneStated, "",
		"record requests with blktrace"},
	{"requests of vLLM", regexp.MustCompile(`Received request [^ ]+: params: `), noneStated, "",
		"start the server with --enable-log-requests and VLLM_LOGGING_LEVEL=DEBUG, which logs prompts"},
	{"requests of Ollama", regexp.MustCompile(`\[GIN\] .* POST +"/(?:api/(?:generate|chat)|v1/(?:chat/)?completions)"`),
		noneStated, "", inFront + "; with OLLAMA_DEBUG=1 it logs how many of their tokens hit"},
	{"requests of TGI", regexp.MustCompile(`(?:generate|completions|generate_stream)\{.*queue_time=.*` +
		`text_generation_router`), noneStated, "", inFront},
}

// inFront says how to log the prompts of servers whose own logs cannot be read for them.
const inFront = "log its requests in a proxy in front of it as JSON lines with messages or prompt, as LiteLLM does"

// lacks says what statistics of a kind do without.
func (k *statisticsKind) lacks() string {
	if strings.HasPrefix(k.what, "requests") {
		return "have no prompts at this level"
	}
	return "name no requests"
}

// statisticsOf returns what a log that begins with head is; false if no line of it has statistics.
func statisticsOf(head []byte) (statistics, bool) {
	for i := range statisticsKinds {
		k := &statisticsKinds[i]
		for line := range bytes.Lines(head) {
			if k.pattern.Match(bytes.TrimRight(line, "\r\n")) {
				stated := k.observe(k, head)
				return statistics{what: k.what, lacks: k.lacks(), stated: stated, lines: bytes.Count(head, []byte("\n")),
					instead: k.instead, of: k.of, latest: i == 0}, true
			}
		}
	}
	return statistics{}, false
}

// promptFields are the names of fields that have prompts, or conversations.
var promptFields = []string{"messages", "prompt", "input", "input_ids", "prompt_token_ids", "contents", "hash_ids",
	"input_length", "conversation", "conversations", "text"}

// usageOf returns what a log is whose lines count the tokens of prompts that were found in a cache, without the
// prompts; false if it is another one.
func usageOf(head source.Head) (statistics, bool) {
	l := statistics{what: "numbers of tokens that a server or an API found in its cache", lacks: "come without prompts",
		instead: "log the requests beside them, with messages or prompt, to replay them", of: "tokens",
		lines: len(head.Lines)}
	for _, line := range source.WithoutBlankEnd(head.Lines) {
		s, u, has := &source.JSONScanner{Text: line}, prompts.Usage{}, false
		err := s.Object(func(key []byte) error {
			has = has || slices.Contains(promptFields, string(key))
			return promptlogs.ReadUsage(&u, key, s)
		})
		if err != nil || has {
			return l, false
		}
		if m, _ := u.Measured(math.MaxInt32); m.Known && m.Tokens > 0 {
			l.stated = append(l.stated, observed{float64(m.Cached), float64(m.Tokens)})
		}
	}
	return l, len(l.stated) > 0
}

// matches calls f with the groups of each line that matches.
func (k *statisticsKind) matches(log []byte, f func(groups []string)) {
	for line := range bytes.Lines(log) {
		if m := k.pattern.FindSubmatch(bytes.TrimRight(line, "\r\n")); m != nil {
			groups := make([]string, len(m)-1)
			for i := range groups {
				groups[i] = string(m[i+1])
			}
			f(groups)
		}
	}
}

// shares are the percentages that lines state.
func shares(k *statisticsKind, log []byte) (stated []observed) {
	k.matches(log, func(groups []string) { stated = append(stated, observed{countIn(groups[0]), 100}) })
	return stated
}

func missesAndHits(k *statisticsKind, log []byte) (stated []observed) {
	k.matches(log, func(groups []string) {
		if misses, hits := countIn(groups[0]), countIn(groups[1]); misses+hits > 0 {
			stated = append(stated, observed{hits, hits + misses})
		}
	})
	return stated
}

func allAndHits(k *statisticsKind, log []byte) (stated []observed) {
	k.matches(log, func(groups []string) { stated = append(stated, observed{countIn(groups[1]), countIn(groups[0])}) })
	return stated
}

// tasks are prompts of llama.cpp's server: each states its tokens, and then where what was in the cache ends, which
// comes again with every batch.
func tasks(k *statisticsKind, log []byte) (stated []observed) {
	tokens := map[string]float64{} // of tasks for which the second has not come
	k.matches(log, func(groups []string) {
		if groups[1] != "" {
			tokens[groups[0]] = countIn(groups[1])
		} else if all := tokens[groups[0]]; all > 0 {
			stated = append(stated, observed{min(all, countIn(groups[2])), all})
			delete(tokens, groups[0])
		}
	})
	return stated
}

// namedCounts returns the last counts with two names.
func namedCounts(hitName, missName string) func(*statisticsKind, []byte) []observed {
	return func(_ *statisticsKind, log []byte) []observed {
		var hits, misses float64
		for line := range strings.Lines(string(log)) {
			line = strings.Join(strings.Fields(line), " ")
			if text, ok := strings.CutPrefix(line, hitName); ok {
				hits = countIn(text)
			} else if text, ok := strings.CutPrefix(line, missName); ok {
				misses = countIn(text)
			}
		}
		return []observed{{hits, hits + misses}}
	}
}

// arcstatReads are the columns read and miss.
func arcstatReads(k *statisticsKind, log []byte) (stated []observed) {
	var columns []string
	for line := range strings.Lines(string(log)) {
		fields := strings.Fields(line)
		if slices.Contains(fields, "read") {
			columns = fields
			continue
		}
		at := func(name string) float64 {
			if i := slices.Index(columns, name); i >= 0 && i < len(fields) {
				return countIn(fields[i])
			}
			return 0
		}
		if read := at("read"); read > 0 {
			stated = append(stated, observed{read - at("miss"), read})
		}
	}
	return stated
}

func noneStated(*statisticsKind, []byte) []observed { return nil }

// countIn reads a count such as 12 or 2.1K; 0 if it is none.
func countIn(text string) float64 {
	text, _, _ = strings.Cut(strings.TrimSpace(text), " ")
	unit := 1.0
	if at := strings.IndexAny(text, "KMGT"); at > 0 && at == len(text)-1 {
		unit = map[byte]float64{'K': 1e3, 'M': 1e6, 'G': 1e9, 'T': 1e12}[text[at]]
		text = text[:at]
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return x * unit
}
