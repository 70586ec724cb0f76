package promptlogs

import "testing"

func TestTokens(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, " \t\n\u00a0": 0, "don't": 3, "x_1": 3, "ein Ärger": 2, "日本語": 1, "a\u0301b": 1, "...": 3, "\xff\xfe": 2,
		"🙂": 1,
	} {
		chain := blockChain{size: 4}
		chain.add([]byte(text))
		if chain.tokens != want {
			t.Errorf("%q has %d tokens, want %d", text, chain.tokens, want)
		}
	}
}
