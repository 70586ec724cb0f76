package judge

import (
	"os"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/policies"
)

// Candidate reads what a search writes: the path of a file with an expression for rank, a policy as other commands name
// it, or an expression.
func Candidate(text string) (policies.Spec, error) {
	text = strings.TrimSpace(text)
	if info, err := os.Stat(text); err == nil && info.Mode().IsRegular() || strings.HasSuffix(text, ".expr") {
		return rank("file", text)
	}
	name, _, _ := strings.Cut(text, "(")
	if _, known := policies.Registry.Find(strings.TrimSpace(name)); known {
		return policies.Registry.Parse(text)
	}
	return rank("evict", text)
}

func rank(param, value string) (policies.Spec, error) {
	return policies.Registry.Parse("rank(" + param + "=" + params.Quote(value) + ")")
}
