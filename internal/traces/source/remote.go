package source

import (
	"fmt"
	"strings"
)

// remoteTools write what a URL names to standard output, by its scheme. %s is the URL, or for az:// the container and
// the blob. Sources: aws s3 cp help, gcloud storage cat --help, az storage blob download --help (without --file it
// writes to standard output), hdfs dfs -help cat, curl(1).
var remoteTools = map[string]string{
	"s3": "aws s3 cp %s -", "s3a": "aws s3 cp %s -", "gs": "gcloud storage cat %s",
	"az":   "az storage blob download --container-name %s --name %s --output none",
	"hdfs": "hdfs dfs -cat %s", "http": "curl -sSL %s", "https": "curl -sSL %s", "ftp": "curl -sS %s",
}

// CheckLocal refuses the URL of a file that is elsewhere, and says which pipe reads it.
func CheckLocal(path string) error {
	scheme, rest, isURL := strings.Cut(path, "://")
	tool, known := remoteTools[strings.ToLower(scheme)]
	if !isURL || !known {
		return nil
	}
	words := []any{shellWord(path)}
	switch scheme {
	case "az":
		container, blob, _ := strings.Cut(rest, "/")
		words = []any{shellWord(container), shellWord(blob)}
	case "s3a":
		words = []any{shellWord("s3://" + rest)}
	}
	return fmt.Errorf("%s: want a file or a pipe, not a URL: %s | cachesim run -", path, fmt.Sprintf(tool, words...))
}

// shellWord quotes a word for a shell, if it needs that.
func shellWord(word string) string {
	plain := func(c rune) bool {
		return c >= '0' && c <= '9' || c|' ' >= 'a' && c|' ' <= 'z' || strings.ContainsRune("/:._-+,@%=", c)
	}
	if word != "" && strings.IndexFunc(word, func(c rune) bool { return !plain(c) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
