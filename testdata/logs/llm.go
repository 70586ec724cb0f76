package logs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// call is a request to a language model, with its answer.
type call struct {
	at           time.Time
	conversation int
	turns        []turn // the prompt: a system message, and the turns so far
	answer       string
	first, last  bool // of its conversation
}

// turn is a message of a call.
type turn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func (c call) text() string {
	var all []string
	for _, t := range c.turns {
		all = append(all, t.Content)
	}
	return strings.Join(all, "\n")
}

func tokens(text string) int { return len(strings.Fields(text)) }

// id is a name of a call or a conversation as servers make them.
func (c call) id(salt uint64) string {
	rng := rand.New(rand.NewPCG(uint64(c.at.UnixNano()), salt<<32|uint64(c.conversation)))
	return fmt.Sprintf("%016x%016x", rng.Uint64(), rng.Uint64())
}

var words = strings.Fields(`the a of to and in is that for it as was with be by on not he his but at are this have from
	or had an they which one you were her all she there would their we him been has when who will more no if out so said
	what up its about into than them can only other new some could time these two may then do first any my now such like
	our over man me even most made after also did many before must through back years where much your way well down
	should because each just those people mr how too little state good very make world still own see men work long get
	here between both life being under never day same another know while last might us great old year off come since
	against go came right used take three`)

// sentence is some words, with a mark at the end.
func sentence(rng *rand.Rand, length int) string {
	said := make([]string, length)
	for i := range said {
		said[i] = words[rng.IntN(len(words))]
	}
	return strings.Join(said, " ") + "."
}

// calls are conversations with three assistants, which begin at random times and take turns.
func calls() []call {
	rng := rand.New(rand.NewPCG(31, 1))
	assistants := make([]string, 3)
	for i := range assistants {
		assistants[i] = "You are a helpful assistant. " + sentence(rng, 80)
	}
	const conversations = 60
	waiting := make([]call, conversations)
	left := make([]int, conversations)
	for i := range waiting {
		waiting[i] = call{at: begin.Add(time.Duration(rng.IntN(1200)) * time.Second), conversation: i, first: true,
			turns: []turn{{"system", assistants[rng.IntN(3)]}, {"user", sentence(rng, 5+rng.IntN(40))}}}
		left[i] = 1 + rng.IntN(5)
	}
	var all []call
	for {
		next := -1
		for i := range waiting {
			if left[i] > 0 && (next < 0 || waiting[i].at.Before(waiting[next].at)) {
				next = i
			}
		}
		if next < 0 {
			return all
		}
		c := &waiting[next]
		left[next]--
		c.answer, c.last = sentence(rng, 10+rng.IntN(60)), left[next] == 0
		done := *c
		done.turns = append([]turn(nil), c.turns...)
		all = append(all, done)
		c.first = false
		c.turns = append(c.turns, turn{"assistant", c.answer}, turn{"user", sentence(rng, 5+rng.IntN(40))})
		c.at = c.at.Add(time.Duration(10+rng.IntN(90)) * time.Second)
	}
}

// callKind is a log of calls to a language model.
type callKind struct {
	file        string
	write       func(w *bytes.Buffer, calls []call)
	lengthsOnly bool // without contents
}

// eachCall makes a writer of a kind with a line or more for each call.
func eachCall(head string, line func(call) string) func(*bytes.Buffer, []call) {
	return func(w *bytes.Buffer, calls []call) { each(w, head, calls, line) }
}

// eachLast makes a writer of a kind with a line for each conversation, given by its last call.
func eachLast(line func(call) string) func(*bytes.Buffer, []call) {
	return func(w *bytes.Buffer, calls []call) {
		for _, c := range calls {
			if c.last {
				fmt.Fprintln(w, line(c))
			}
		}
	}
}

// object is a JSON object; encoding/json sorts its names.
type object map[string]any

func inJSON(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

func (c call) usage() object {
	return object{"prompt_tokens": tokens(c.text()), "completion_tokens": tokens(c.answer),
		"total_tokens": tokens(c.text()) + tokens(c.answer)}
}

// inPython is a text as Python prints it.
func inPython(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`).Replace(text) + "'"
}

// wordNumbers are the words of the prompt as numbers, as a tokenizer makes them.
func (c call) wordNumbers() (ids []int) {
	for _, word := range strings.Fields(c.text()) {
		id := 1
		for _, b := range []byte(word) {
			id = (id*31 + int(b)) % 32000
		}
		ids = append(ids, id)
	}
	return ids
}

// blocksOf numbers the blocks of a prompt, of so many words, by everything up to their ends.
func blocksOf(ids map[string]int, words []string, size int) (blocks []int) {
	for at := 0; at < len(words); at += size {
		prefix := strings.Join(words[:min(at+size, len(words))], " ")
		if _, known := ids[prefix]; !known {
			ids[prefix] = len(ids)
		}
		blocks = append(blocks, ids[prefix])
	}
	return blocks
}

// litellm adds what all of LiteLLM's logs have.
func (c call) litellm(entry object) object {
	entry["call_type"], entry["status"], entry["model"] = "acompletion", "success", "gpt-4o"
	entry["prompt_tokens"], entry["completion_tokens"] = tokens(c.text()), tokens(c.answer)
	return entry
}

func seconds(at time.Time) float64 { return float64(at.UnixMilli()) / 1e3 }

var callKinds = []callKind{
	// LiteLLM, "What gets logged": the StandardLoggingPayload, as a callback writes it.
	{file: "litellm-callback.jsonl", write: eachCall("", func(c call) string {
		return inJSON(c.litellm(object{"id": "chatcmpl-" + c.id(3), "trace_id": c.id(4), "startTime": seconds(c.at),
			"endTime": seconds(c.at.Add(2 * time.Second)), "messages": c.turns,
			"response": object{"choices": []object{{"message": turn{"assistant", c.answer}}}}}))
	})},
	// LiteLLM, "Spend tracking": rows of the spend logs, with store_prompts_in_spend_logs.
	{file: "spend-logs.json", write: func(w *bytes.Buffer, calls []call) {
		all := make([]object, len(calls))
		for i, c := range calls {
			all[i] = c.litellm(object{"request_id": "chatcmpl-" + c.id(5), "api_key": c.id(6) + c.id(7), "spend": 0.0001,
				"session_id": fmt.Sprintf("%x", 0x1e5000+c.conversation), "startTime": c.at.Format(time.RFC3339Nano),
				"endTime": c.at.Add(2 * time.Second).Format(time.RFC3339Nano), "messages": object{},
				"proxy_server_request": object{"model": "gpt-4o", "messages": c.turns}, "cache_hit": "False"})
		}
		w.WriteString(inJSON(all) + "\n")
	}},
	// vLLM 0.10, vllm/entrypoints/logger.py, with --enable-log-requests and --enable-log-outputs.
	{file: "vllm-0.10.log", write: eachCall("INFO 03-01 11:58:03 [api_server.py:1805] vLLM API server version 0.10.2\n",
		func(c call) string {
			at := c.at.Format("01-02 15:04:05")
			return fmt.Sprintf("INFO %s [logger.py:43] Received request chatcmpl-%s: prompt: %s, params: SamplingParams(n=1, "+
				"max_tokens=512), prompt_token_ids: None, prompt_embeds shape: None, lora_request: None.\nINFO: 10.0.0.1:60198 - "+
				`"POST /v1/chat/completions HTTP/1.1" 200 OK`+"\nINFO %s [logger.py:71] Generated response chatcmpl-%s: output: "+
				"%s, output_token_ids: None, finish_reason: stop", at, c.id(8), inPython(c.text()), at, c.id(8),
				inPython(c.answer))
		})},
	// vLLM 0.4, vllm/engine/async_llm_engine.py, which prints token ids.
	{file: "vllm-0.4.log", write: eachCall("", func(c call) string {
		return fmt.Sprintf("INFO %s async_llm_engine.py:436] Received request cmpl-%s-0: prompt: %s, sampling_params: "+
			"SamplingParams(n=1, max_tokens=16), prompt_token_ids: %s, lora_request: None.", c.at.Format("01-02 15:04:05"),
			c.id(9), inPython(c.text()), strings.ReplaceAll(fmt.Sprint(c.wordNumbers()), " ", ", "))
	})},
	// SGLang 0.5.7, python/sglang/srt/utils/request_logger.py, with --log-requests-level 3; later ones print no dates.
	{file: "sglang.log", write: eachCall("[2026-03-01 11:58:03] server_args=ServerArgs(log_requests=True)\n",
		func(c call) string {
			request := fmt.Sprintf("obj=GenerateReqInput(rid='%s', text=%s, input_ids=None, sampling_params={'temperature': "+
				"1.0, 'max_new_tokens': 512}, stream=False)", c.id(10), inPython(c.text()))
			at := c.at.Format("2006-01-02 15:04:05")
			return fmt.Sprintf("[%s] Receive: %s\n[%s TP0] Prefill batch. #new-seq: 1\n[%s] Finish: %s, out={'text': %s, "+
				"'meta_info': {'id': '%s', 'prompt_tokens': %d, 'completion_tokens': %d, 'e2e_latency': 0.5}}", at, request, at,
				at, request, inPython(c.answer), c.id(10), tokens(c.text()), tokens(c.answer))
		})},
	// SGLang 0.5.23, likewise, with --log-requests-format json.
	{file: "sglang-requests.jsonl", write: eachCall("", func(c call) string {
		at, obj := c.at.Format("2006-01-02T15:04:05.000000"), inJSON(object{"rid": c.id(11), "session_id": nil, "text": nil,
			"input_ids": c.wordNumbers(), "image_data": nil})
		return fmt.Sprintf(`{"timestamp": "%s", "event": "request.received.openai", "obj": %s}`+"\n"+
			`{"timestamp": "%s", "event": "request.received", "rid": "%s", "obj": %s}`+"\n"+
			`{"timestamp": "%s", "event": "request.finished", "rid": "%s", "obj": %s, "out": {"meta_info": `+
			`{"completion_tokens": %d, "e2e_latency": 0.5}}}`, at, inJSON(object{"model": "m", "messages": c.turns}), at,
			c.id(11), obj, at, c.id(11), obj, tokens(c.answer))
	})},
	// ShareGPT: conversations as an array.
	{file: "ShareGPT_V3_cleaned.json", write: func(w *bytes.Buffer, calls []call) {
		var all []object
		for _, c := range calls {
			if !c.last {
				continue
			}
			var turns []object
			for _, t := range append(c.turns, turn{"assistant", c.answer}) {
				from := map[string]string{"system": "system", "user": "human", "assistant": "gpt"}[t.Role]
				turns = append(turns, object{"from": from, "value": t.Content})
			}
			all = append(all, object{"id": c.id(12)[:7], "conversations": turns})
		}
		w.WriteString(inJSON(all) + "\n")
	}},
	// LMSYS-Chat-1M, as JSON lines.
	{file: "lmsys-chat-1m.jsonl", write: eachLast(func(c call) string {
		return inJSON(object{"conversation_id": c.id(13), "model": "vicuna-13b", "turn": len(c.turns) / 2,
			"language": "English", "conversation": append(c.turns, turn{"assistant", c.answer}), "redacted": false})
	})},
	// WildChat-1M, as JSON lines.
	{file: "wildchat-1m.jsonl", write: eachLast(func(c call) string {
		return inJSON(object{"conversation_hash": c.id(14), "model": "gpt-4", "turn": len(c.turns) / 2,
			"language": "English", "conversation": append(c.turns, turn{"assistant", c.answer}),
			"timestamp": c.at.Format("2006-01-02T15:04:05+00:00")})
	})},
	// vllm-project/aibrix, benchmarks/generator/workload_generator: requests of each moment.
	{file: "workload.jsonl", write: eachCall("", func(c call) string {
		return inJSON(object{"timestamp": c.at.Sub(begin).Milliseconds(), "requests": []object{{"prompt": c.text(),
			"prompt_length": tokens(c.text()), "output_length": tokens(c.answer), "session_id": c.conversation}}})
	})},
	// kvcache-ai/Mooncake, FAST25-release: blocks of 512 tokens, here of words.
	{file: "toolagent_trace.jsonl", write: func(w *bytes.Buffer, calls []call) {
		ids := map[string]int{}
		each(w, "", calls, func(c call) string {
			all := strings.Fields(strings.Repeat(c.text()+" ", 8))
			return inJSON(object{"timestamp": c.at.Sub(begin).Milliseconds(), "input_length": len(all),
				"output_length": tokens(c.answer), "hash_ids": blocksOf(ids, all, 512)})
		})
	}},
	// alibaba-edu/qwen-bailian-usagetraces-anon: blocks of 16 tokens, times in seconds.
	{file: "qwen_traceA_blksz_16.jsonl", write: func(w *bytes.Buffer, calls []call) {
		ids := map[string]int{}
		each(w, "", calls, func(c call) string {
			all := strings.Fields(c.text())
			turn, parent := len(c.turns)/2, -1
			if turn > 1 {
				parent = c.conversation*10 + turn - 1
			}
			return inJSON(object{"chat_id": c.conversation*10 + turn, "parent_chat_id": parent, "type": "text",
				"timestamp": seconds(c.at) - seconds(begin), "input_length": len(all), "output_length": tokens(c.answer),
				"turn": turn, "hash_ids": blocksOf(ids, all, 16)})
		})
	}},
	// Azure/AzurePublicDataset: the LLM inference traces of 2023.
	{file: "AzureLLMInferenceTrace_conv.csv", lengthsOnly: true, write: eachCall("TIMESTAMP,"+
		"ContextTokens,GeneratedTokens\n", func(c call) string {
		return fmt.Sprintf("%s,%d,%d", c.at.Format("2006-01-02 15:04:05.0000000"), tokens(c.text()), tokens(c.answer))
	})},
	// HPMLL/BurstGPT: the traces with sessions; requests to the API have none.
	{file: "BurstGPT_1.csv", lengthsOnly: true, write: eachCall("Timestamp,Session ID,Elapsed time,Model,"+
		"Request tokens,Response tokens,Total tokens,Log Type\n", func(c call) string {
		session, kind := fmt.Sprint("Conversation-", c.conversation), "Conversation log"
		if c.conversation%3 == 0 {
			session, kind = "", "API log"
		}
		in, out := tokens(c.text()), tokens(c.answer)
		return fmt.Sprintf("%d,%s,1.5,ChatGPT,%d,%d,%d,%s", int(c.at.Sub(begin).Seconds()), session, in, out, in+out, kind)
	})},
	// OpenAI, API reference: requests to /v1/chat/completions, as gateways log them with the answers.
	{file: "chat-requests.jsonl", write: eachCall("", func(c call) string {
		return inJSON(object{
			"timestamp": c.at.Format(time.RFC3339),
			"request":   object{"model": "llama-3.1-8b", "messages": c.turns},
			"response": object{"id": "chatcmpl-" + c.id(1), "created": c.at.Unix(), "usage": c.usage(),
				"choices": []object{{"index": 0, "message": turn{"assistant", c.answer}}}},
		})
	})},
	// OpenAI, Batch API: the input file.
	{file: "batch-input.jsonl", write: eachCall("", func(c call) string {
		return inJSON(object{"custom_id": c.id(2), "method": "POST", "url": "/v1/chat/completions",
			"body": object{"model": "llama-3.1-8b", "messages": c.turns}})
	})},
	// OpenAI, API reference: requests to /v1/completions, as an array.
	{file: "completions.json", write: func(w *bytes.Buffer, calls []call) {
		all := make([]object, len(calls))
		for i, c := range calls {
			all[i] = object{"model": "llama-3.1-8b", "prompt": c.text(), "created": c.at.Unix(), "usage": c.usage()}
		}
		w.WriteString(inJSON(all) + "\n")
	}},
}
