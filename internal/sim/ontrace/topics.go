package ontrace

import (
	"strings"

	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/queries"
)

// Topics returns the topic label of each object, -1 if it has none: the trace's or, if its objects are not queries
// with labels, the prefix of the key. It returns nil if there are no topics.
func Topics(t *traces.Trace) []int32 {
	if queries.Of(t.Kind) != nil && queries.Of(t.Kind).Topics != nil {
		return queries.Of(t.Kind).Topics
	}
	numbers := map[string]int32{}
	topics := make([]int32, len(t.Keys))
	for o, key := range t.Keys {
		prefix, _, ok := strings.Cut(key.Text, ":") // the tenant or, of a path, the folder
		if slash := strings.LastIndexByte(key.Text, '/'); slash >= 0 {
			prefix, ok = key.Text[:slash], true
		}
		if !ok {
			topics[o] = -1
			continue
		}
		number, ok := numbers[prefix]
		if !ok {
			number = int32(len(numbers))
			numbers[prefix] = number
		}
		topics[o] = number
	}
	if len(numbers) == 0 {
		return nil
	}
	return topics
}
