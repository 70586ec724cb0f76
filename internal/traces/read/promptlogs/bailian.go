package promptlogs

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// bailianFormat has the fields of mooncake, and others that tell it apart. That its times are seconds and its blocks
// have 16 tokens is stated by its authors, not in the files.
var bailianFormat = source.Format{
	Name: bailianName,
	Options: []params.Param{
		{Name: "block", Default: 16, Min: 1, Max: maxBlockTokens, Doc: "tokens in a block"},
		{Name: "time-unit", Default: "s", Choices: timeUnits, Doc: "unit of timestamp"},
		shareParam(),
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
