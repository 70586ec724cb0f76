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
		{"0.58.345.135 I slot launch_slot_: id  1 | task 7 | processing task, is_child = 0\n" +
			"slot   operator(): id  1 | task 7 | new prompt, n_ctx_slot = 4096, n_keep = 4, task.n_tokens = 1000\n" +
			"slot   operator(): id  1 | task 7 | cached n_tokens = 0, memory_seq_rm [0, end)\n" +
			"slot   operator(): id  1 | task 7 | cached n_tokens = 512, memory_seq_rm [512, end)\n" +
			"slot update_slots: id  0 | task 8 | new prompt, n_ctx_slot = 65024, n_keep = 0, n_prompt_tokens = 1000\n" +
			"slot update_slots: id  0 | task 8 | kv cache rm [900, end)\n",
			"statistics of llama.cpp's server, which name no requests; by its first 6 lines 45.0% of the tokens hit (in their " +
				"order 0.0%, 90.0%); with -v llama-server logs the bodies of requests"},
		{"time=2026-06-03T14:21:06.039+02:00 level=DEBUG source=cache.go:151 msg=\"loading cache slot\" id=0 cache=53 " +
			"prompt=62 used=0 remaining=62\ntime=2026-06-03T14:21:06.046+02:00 level=DEBUG source=cache.go:151 " +
			"msg=\"loading cache slot\" id=0 cache=62 prompt=64 used=60 remaining=4\n",
			"statistics of Ollama, which name no requests; by its first 2 lines 47.6% of the tokens hit"},
		{"[GIN] 2025/10/03 - 13:22:32 | 200 |   2.10313825s |             ::1 | POST     \"/api/generate\"\n",
			"requests of Ollama, which have no prompts at this level; log its requests in a proxy"},
		{"[GIN] 2025/10/03 - 13:22:32 | 200 |   2.1s |  ::1 | POST     \"/api/users\"\n", ""},
		{"2024-12-10T21:50:03.478010Z  INFO chat_completions{total_time=\"735.200735ms\" validation_time=\"955.594µs\" " +
			"queue_time=\"73.176µs\" seed=\"None\"}: text_generation_router::server: router/src/server.rs:407: Success\n",
			"requests of TGI, which have no prompts"},
		{`{"ts": 1.5, "events": [{"type": "BlockStored", "block_hashes": [1, 2], "parent_block_hash": null}]}` + "\n",
			"events of a cache of vLLM or SGLang (BlockStored, BlockRemoved), which name no requests; start vLLM with"},
		{`[1.5, [["BlockRemoved", [1, 2]]], 0]` + "\n", "events of a cache of vLLM"},
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
	f.Add([]byte("slot | task 1 | new prompt, task.n_tokens = 5\nslot | task 1 | kv cache rm [9, end)\n"))
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
