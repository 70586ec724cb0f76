package promptlogs

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// bailianFormat has the fields of mooncake, and others that tell it apart. That its times are seconds and its blocks
// have 16 tokens is stated by its authors, not in the files.
var bailianFormat = source.Format{
	Name: bailianName,
	Summary: "LLM prompts as JSON lines, as mooncake, with times in seconds and blocks of 16 tokens (Qwen-Bailian " +
		"traces, ATC 2025)",
	Example: `{"chat_id": 159, "parent_chat_id": 55, "timestamp": 61.114, "input_length": 35, "output_length": 132, ` +
		`"type": "text", "turn": 2, "hash_ids": [1089, 1090, 1091]}`,
	Carries:   "prompts: blocks, lengths, time, session",
	Detection: `as mooncake, with "chat_id" and "parent_chat_id"`,
	Options: []params.Param{
		{Name: "block", Default: 16, Min: 1, Max: maxBlockTokens, Doc: "tokens in a block"},
		{Name: "time-unit", Default: "s", Choices: timeUnits, Doc: "unit of timestamp"},
		tenantParam(),
	},
	JSON:   true,
	Detect: source.CertainIf(looksLikeBailian),
	Open:   openLines(bailianName),
}

const bailianName = "bailian"

func looksLikeBailian(head source.Head) bool {
	return source.LooksLikeJSON(head, "input_length", "hash_ids", "chat_id", "parent_chat_id")
}
