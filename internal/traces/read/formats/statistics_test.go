package formats

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/traces/source"
)

// Each kind of log, with what it states, worked out by hand.
func TestStatisticsAreRecognised(t *testing.T) {
	for _, test := range []struct{ log, want string }{
		{"INFO [loggers.py:127] Engine 000: Avg prompt throughput: 5110.4 tokens/s, Avg generation " +
			"throughput: 980.2 tokens/s, Running: 120 reqs, GPU KV cache usage: 88.1%, Prefix cache hit rate: 0.3%\n" +
			"INFO 10-02 09:14:21 [loggers.py:127] Engine 000: Avg prompt throughput: 4990.7 tokens/s, Avg generation " +
			"throughput: 1010.9 tokens/s, Running: 124 reqs, GPU KV cache usage: 79.5%, Prefix cache hit rate: 28.4%\n",
			"statistics of vLLM, which name no requests; by its first 2 lines 28.4% of the tokens hit, as the last line " +
				"states (in their order 0.3%, 28.4%); start the server with --enable-log-requests"},
		{"[2025-10-02 09:14:11 TP0] Prefill batch. #new-seq: 1, #new-token: 4096, #cached-token: 0, token usage: 0.00, \n" +
			"[2025-10-02 09:14:21 TP0] Prefill batch. #new-seq: 1, #new-token: 384, #cached-token: 3712, token usage: 0.01\n" +
			"[2025-10-02 09:14:22 TP0] Decode batch. #running-req: 1, #token: 4100, token usage: 0.01\n",
			"SGLang, which name no requests; by its first 3 lines 45.3% of the tokens hit (in their order 0.0%, 90.6%); " +
				"start the server"},
		{"[2025-10-02 09:14:11,101] LMCache INFO: Reqid: a, Total tokens 700, LMCache hit tokens: 512, need to load: -176\n" +
			"[2025-10-02 09:14:12,101] LMCache INFO: Reqid: b, Total tokens 900, LMCache hit tokens: 768, need to load: 256\n",
			"LMCache, which name no requests; by its first 2 lines 80.0% of the tokens hit"},
		{"    time  read  miss  miss%  arcsz     c\n10:01:02    12     1      8    31G   32G\n" +
			"10:01:04  2.1K   310     14    31G   32G\n10:01:06  3.3K   150      4    32G   32G\n",
			"ZFS (arcstat), which name no requests; by its first 4 lines 91.5% of the reads hit"},
		{"# Stats\r\nkeyspace_hits:300\r\nkeyspace_misses:100\r\n", "75.0% of the requests hit; record its requests"},
		{"STAT get_hits 1\r\nSTAT get_misses 3\r\n", "by its first 2 lines 25.0% of the requests hit"},
		{"MAIN.cache_hit       9  0.00 Cache hits\nMAIN.cache_miss   1  0.1 Cache misses\n", "90.0% of the requests hit"},
		{"Active connections: 291 \nserver accepts handled requests\n", "(stub_status), which name no requests; log its"},
		{"procs -----------memory---------- ---swap--\n r  b   swpd   free\n", "(vmstat), which name no requests"},
		{"Device             tps    kB_read/s\nsda  1.0 2.0\n", "(iostat), which name no requests; record requests"},
		{"INFO 10-02 09:14:11 [logger.py:43] Received request cmpl-1-0: params: SamplingParams(n=1), lora_request: None.\n",
			"begins with requests of vLLM, which have no prompts at this level; start the server with " +
				"--enable-log-requests and VLLM_LOGGING_LEVEL=DEBUG"},
		{`{"level":"INFO","message":"Received request cmpl-1-0: params: SamplingParams(n=1), lora_request: None."}` + "\n",
			"begins with requests of vLLM"},
		{"", ""},
		{"time,key,size\n1,read,2\n", ""},
		{"time read miss\n1 a 0\n", ""},
		{"10.0.0.1 - - [02/Oct/2025:09:14:11 +0000] \"GET /miss HTTP/1.1\" 200 1\n", ""},
	} {
		log, ok := statisticsOf([]byte(test.log))
		if ok != (test.want != "") || ok && !strings.Contains(log.Error(), test.want) {
			t.Errorf("%q: %t, %q; want %q", test.log, ok, log, test.want)
		}
	}
}

// FuzzStatistics: nothing that a file may contain ends the program, and a recognised log says what to do.
func FuzzStatistics(f *testing.F) {
	f.Add([]byte("    time  read  miss\n10:01:02 12 1\n1 2\n"))
	f.Add([]byte("keyspace_hits:300\nkeyspace_misses:1e999K\n"))
	f.Add([]byte("Prefill batch. #new-token: 99999999999999999999, #cached-token: 1\n"))
	f.Fuzz(func(t *testing.T, head []byte) {
		if log, ok := statisticsOf(head); ok && (log.what == "" || log.instead == "") {
			t.Errorf("%q: %+v", head, log)
		}
	})
}

// TestUsageIsRecognised: lines with what an API found in its cache and without prompts are no requests.
func TestUsageIsRecognised(t *testing.T) {
	const first = `{"object":"chat.completion","model":"m","usage":{"prompt_tokens":300,"prompt_tokens_details":` +
		`{"cached_tokens":0}}}` + "\n"
	for log, want := range map[string]string{
		first + strings.ReplaceAll(first, `_tokens":0`, `_tokens":150`): "which come without prompts; by its first 2 lines " +
			"25.0% of the tokens hit (in their order 0.0%, 50.0%); log the requests beside them",
		`{"type":"usage","input_tokens":4,"cache_read_input_tokens":12,"cache_creation_input_tokens":0}` + "\n": "75.0% of",
		first + `{"messages":[],"usage":{"prompt_tokens":300,"cached_tokens":0}}` + "\n":                        "",
		first + "x\n":                          "",
		`{"usage":{"prompt_tokens":1}}` + "\n": "",
		"":                                     "",
	} {
		l, ok := usageOf(source.NewHead([]byte(log), true))
		if ok != (want != "") || ok && !strings.Contains(l.Error(), want) {
			t.Errorf("%q: %t, %q; want %q", log, ok, l, want)
		}
	}
}
