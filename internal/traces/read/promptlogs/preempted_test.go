package promptlogs_test

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// TestPreemptionsAreSaid: a log whose engine preempted requests says so in its header, since no replay does.
func TestPreemptionsAreSaid(t *testing.T) {
	vllm := "INFO 12-06 14:09:27 [logger.py:39] Received request cmpl-1-0: prompt: 'Once upon', params: " +
		"SamplingParams(n=1), prompt_token_ids: [1, 2, 3], lora_request: None.\n"
	sglang := sglangText("1", "text='Once upon a time'")
	stats := "INFO 12-06 14:09:28 [loggers.py:248] Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation " +
		"throughput: 1.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs, %GPU KV cache usage: 99.0%, Prefix hit rate: 1%\n"
	for _, test := range []struct {
		log  string
		want string
	}{
		{vllm + strings.Replace(stats, "%", "Preemptions: 4, ", 1), "1 row left out (of preemptions, after which"},
		{vllm + strings.Replace(stats, "%", "", 1), "1 row left out (other lines)"},
		{vllm + "WARNING 12-06 14:09:28 scheduler.py:1057] Sequence group 0 is preempted by PreemptionMode.RECOMPUTE mode " +
			"because there is not enough KV cache space.\n", "1 row left out (of preemptions, after which"},
		{sglang + "[2026-03-01 12:00:04] KV cache pool is full. Retract requests. #retracted_reqs: 1, " +
			"#new_tokens_gained: 7\n", "1 row left out (of preemptions, after which"},
	} {
		tr := tracetest.MustLoadText(t, test.log, read.Options{Needs: traces.Needs{Kind: true}})
		said := tr.Readings[0].LeftOutText()
		if !strings.Contains(said, test.want) {
			t.Errorf("%s: want %q", said, test.want)
		}
	}
}
