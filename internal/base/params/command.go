package params

import (
	"fmt"
	"os"
	"strings"
)

// Words divides a command into its words, at blanks outside of single or double quotes. There is no shell: nothing else
// has a meaning.
func Words(command string) (words []string, err error) {
	var word strings.Builder
	open, begun := rune(0), false // the quote that is open; a word has begun
	for _, c := range command {
		switch {
		case open != 0 && c == open:
			open = 0
		case open != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			open, begun = c, true
		case strings.ContainsRune(" \t\r\n", c):
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			begun = true
			word.WriteRune(c)
		}
	}
	if open != 0 {
		return nil, fmt.Errorf("command %q: a quote %c is not closed; add another one", command, open)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// filesOf returns the words of a command that are paths of files.
func filesOf(command string) (paths []string) {
	words, err := Words(command)
	if err != nil {
		return nil // whoever runs it says so
	}
	for _, word := range words {
		if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
			paths = append(paths, word)
		}
	}
	return paths
}

// withFiles replaces the words that are paths of files. Quotes stay where they are.
func withFiles(command string, other func(path string) string) string {
	for _, path := range filesOf(command) {
		command = strings.ReplaceAll(command, path, other(path))
	}
	return command
}
