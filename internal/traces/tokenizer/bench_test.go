package tokenizer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/processor"
)

// benchFile is the tokenizer.json that CACHESIM_TOKENIZER names, or one with the splits of DeepSeek 3 and no merges.
func benchFile(b *testing.B) []byte {
	if name := os.Getenv("CACHESIM_TOKENIZER"); name != "" {
		return must.Get(os.ReadFile(name))(b)
	}
	var splits []string
	for _, pattern := range []string{`\p{N}{1,3}`, "[一-龥\u3040-ゟ゠-ヿ]+", patterns["deepseek-3"]} {
		splits = append(splits, fmt.Sprintf(`{"type": "Split", "pattern": {"Regex": %s}, "behavior": "Isolated"}`,
			must.Get(json.Marshal(pattern))(b)))
	}
	return []byte(small(fmt.Sprintf(`"pre_tokenizer": {"type": "Sequence", "pretokenizers": [%s, {"type": "ByteLevel",
		"add_prefix_space": false, "use_regex": false}]},`, strings.Join(splits, ", "))))
}

// BenchmarkEncode cuts the pages of the documentation, each of their lines, lines of new words, and Chinese letters
// without blanks.
func BenchmarkEncode(b *testing.B) {
	var pages strings.Builder
	for _, name := range must.Get(filepath.Glob("../../../docs/*.md"))(b) {
		pages.Write(must.Get(os.ReadFile(name))(b))
	}
	rng := rand.New(rand.NewPCG(3, 5))
	var words, chinese []string
	for range 20_000 {
		var line []byte
		for range 40 {
			line = append(line, "     eeeeaaooiittnnssrrhlldcumfpgwybvk"[rng.IntN(37)])
		}
		letters := make([]rune, 20)
		for i := range letters {
			letters[i] = '一' + rune(rng.ExpFloat64()*500)
		}
		words, chinese = append(words, string(line)), append(chinese, string(letters)+"。")
	}
	tokenizer := must.Get(Parse(benchFile(b)))(b)
	for name, texts := range map[string][]string{"long": {pages.String()}, "lines": strings.Split(pages.String(), "\n"),
		"words": words, "chinese": {strings.Join(chinese, "")}} {
		b.Run(name, func(b *testing.B) {
			before, size := processor.Time(), 0
			var tokens []uint64
			for b.Loop() {
				for _, text := range texts {
					tokens = must.Get(tokenizer.Encode(tokens[:0], text))(b)
					size += len(text)
				}
			}
			b.ReportMetric(float64(size)/1e6/cmp.Or((processor.Time()-before).Seconds(), 1), "MB/s")
		})
	}
}
