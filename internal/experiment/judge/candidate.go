package judge

import (
	"os"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/policies"
)

// Candidate reads what a search writes: the path of a file with an expression for rank, or of a WebAssembly module
// (.wasm), a policy as other commands name it, or an expression.
func Candidate(text string) (policies.Spec, error) {
	text = strings.TrimSpace(text)
	if strings.HasSuffix(text, ".wasm") {
		return own("wasm", "file", text)
	}
	if info, err := os.Stat(text); err == nil && info.Mode().IsRegular() || strings.HasSuffix(text, ".expr") {
		return own("rank", "file", text)
	}
	name, _, _ := strings.Cut(text, "(")
	if _, known := policies.Registry.Find(strings.TrimSpace(name)); known {
		return policies.Registry.Parse(text)
	}
	return own("rank", "evict", text)
}

func own(policy, param, value string) (policies.Spec, error) {
	return policies.Registry.Parse(policy + "(" + param + "=" + params.Quote(value) + ")")
}
