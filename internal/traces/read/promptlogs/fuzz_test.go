package promptlogs_test

import (
	"testing"

	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// FuzzPrompts reads every format of prompts.
func FuzzPrompts(f *testing.F) {
	tracetest.FuzzAll(f, []string{"agent", "chat:history=added,block=2",
		"mooncake", "aibrix:block=2", "bailian",
		"conversations:block=2", "conversations:block=2,template=gemma", "lengths", "litellm:block=2",
		"openai:block=2", "openai:block=2,template=llama-3", "sglang:block=2", "vllm:block=2"},
		aibrixMoment("5", `"abcdefgh"`, "null")+aibrixMoment("7", `[{"content":`+
			`"x"}]`, `"y"`),
		`[[["abcdefgh",3,4,null]],[],[["a",1,2]]]`,
		`[{"Timestamp":1,"Requests":[{"Prompt":[1,2],"Prompt Length":3,"Output Length":null}]}]`,
		twoChats,
		"["+shareGPT("abcd")+"]",
		lmsys("ab", `"timestamp":"2023-04-09 00:00:17",`, `,"timestamp":null`)+lmsys("cd", "", `,"timestamp":6`),
		smallAzure,
		smallBurst,
		litellmCall(`"startTime":5,"messages":"[{\"content\":\"abcdefgh\"}]"`),
		"["+litellmCall(`"startTime":"2026-03-01 12:00:00","session_id":"ff","messages":{"prompt":[[1,2]]},`+
			`"cache_hit":false`)+
			`,{"startTime":5,"prompt_tokens":3,"response":{"choices":[{"text":"a"}]},"model_parameters":{"tools":[{"a":`+
			`"bcd"}]}}]`,
		`{"model":"m","instructions":"s","input":[{"role":"user","content":[{"type":"input_text","text":"abcdefgh"}]},`+
			`{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"function_call_output","output":"x"}]}`,
		`[{"request":{"input":"abcdefgh"},"response":{"id":"resp_1","output":[{"type":"reasoning"}]}},`+
			`{"input":"x","previous_response_id":"resp_1"}]`,
		`{"model":"m","system":"s","messages":[{"role":"user","content":[{"type":"tool_result","content":[{"text":"x"}]}]},`+
			`{"role":"assistant","content":[{"type":"tool_use","input":{"a":1}}]}]}`,
		`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"abcdefgh"},{"type":"image_url"}]}]}`,
		`[{"prompt":["abc","de"],"usage":{"completion_tokens":3}},{"prompt":[1,2,3]},{"prompt":[[1],[2,3]]}]`,
		`{"custom_id":"a","body":{"messages":[{"role":"assistant","tool_calls":[{"x":1}]}]},"response":{"status_code":500}}`,
		sglangText("1", "text=\"it's\", input_ids=[[1, 2], [3]]")+
			"Finish: obj=GenerateReqInput(rid='1'), out={'meta_info': {'completion_tokens': 3}}\n",
		sglangJSON("1", `"text": ["ab", "c"], "input_ids": [1, "...", [2]]`),
		"INFO 12-06 14:09:27 logger.py:37] Received request a: prompt: 'it\\'s', "+
			"params: P(a=1), "+
			"prompt_token_ids: [1, 2, 3], x\nGenerated response a: output: \"x\", output_token_ids: [1]\n",
		"DEBUG 01-01 00:00:00 Request b details: prompt: None, prompt_token_ids: [5, 6]\n",
		`{"block_size":1,"requests":[{"t":1e9,"in":1,"hash_ids":[1]}]}`,
		smallChat,
		threePrompts,
		addedRows,
		`{"input_length":1,"hash_ids":[18446744073709551615,-9223372036854775808]}`,
		`{"session_id":"é\u00e9"}`)
}
