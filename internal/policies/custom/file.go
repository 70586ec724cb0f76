package custom

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/formula"
)

// admitLabel begins the line from which on a file has the expression of admit.
var admitLabel = regexp.MustCompile(`(?m)^[ \t]*admit[ \t]*:`)

// readFile returns the expressions of a file. That of admit keeps its place in the file, for the sake of errors.
func readFile(path string) (evict, admit string, err error) {
	f, err := filestate.Open(path)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	const most = 2*formula.Longest + 100
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return "", "", err
	}
	if len(text) > most {
		return "", "", fmt.Errorf("%s is longer than %d bytes; want two expressions of at most %d", path, most,
			formula.Longest)
	}
	evict = strings.TrimPrefix(string(text), "\ufeff") // as editors on Windows write
	if at := admitLabel.FindStringIndex(evict); at != nil {
		before := regexp.MustCompile(`[^\n]`).ReplaceAllString(evict[:at[1]], " ")
		evict, admit = evict[:at[0]], before+evict[at[1]:]
	}
	return evict, admit, nil
}
