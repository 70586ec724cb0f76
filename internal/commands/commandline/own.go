package commandline

import (
	"fmt"
	"strings"
)

// OwnPolicy returns the specification of a policy that a user names by its file: my.expr, my.wasm.
func OwnPolicy(text string) string {
	for suffix, policy := range ownFiles {
		if strings.HasSuffix(text, suffix) && !strings.Contains(text, "(") {
			return fmt.Sprintf("%s(file=%s)", policy, text)
		}
	}
	return text
}

// ownFiles are the policies that files with these names are for.
var ownFiles = map[string]string{".expr": "rank", ".wasm": "wasm"}
