package custom

import (
	"fmt"
	"io"
	"strings"

	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/formula"
)

// admitLabel begins the line from which on a file has the expression of admit.
const admitLabel = "admit:"

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
	evict, admit, found := strings.Cut(string(text), "\n"+admitLabel)
	if found {
		admit = strings.Repeat("\n", strings.Count(evict, "\n")+1) + strings.Repeat(" ", len(admitLabel)) + admit
	}
	return evict, admit, nil
}
