package gen

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/traces/compress"
)

// maxFileName is the longest name of a names file, in bytes.
const maxFileName = 4096

// readNames reads names, one per line, and sorts them into the order of a listing.
func readNames(path string) (names []string, err error) {
	file, err := filestate.Open(path)
	if err != nil {
		return nil, fmt.Errorf("names: %w", err)
	}
	defer file.Close()
	var closers []func() error
	defer func() {
		for _, closer := range slices.Backward(closers) {
			closer()
		}
	}()
	content, err := compress.Decompress(func(f func() error) { closers = append(closers, f) }, path, file)
	if err != nil {
		return nil, fmt.Errorf("names: %w", err)
	}
	lines := bufio.NewScanner(content)
	lines.Buffer(nil, maxFileName)
	for n := 1; lines.Scan(); n++ {
		name, err := fileName(bytes.TrimSpace(lines.Bytes()))
		switch {
		case err != nil:
			return nil, fmt.Errorf("names: %s line %d: %w", path, n, err)
		case name != "":
			names = append(names, name)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("names: %s after %d names: %w; want one name per line, of at most %d bytes", path, len(names),
			err, maxFileName)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("names: %s is empty; want one name per line", path)
	}
	slices.Sort(names)
	for i := range len(names) - 1 {
		if names[i] == names[i+1] {
			return nil, fmt.Errorf("names: %s names %.60q twice", path, names[i])
		}
	}
	return names, nil
}

// fileName returns the path of a file below its data set, "class/file". The images of ImageNet are also listed as
// "class_number.JPEG", which names the class, too.
func fileName(line []byte) (string, error) {
	if len(line) == 0 {
		return "", nil
	}
	class, file, inClass := bytes.Cut(line, []byte("/"))
	if inClass {
		if len(class) == 0 || len(file) == 0 || bytes.ContainsAny(file, "/") {
			return "", fmt.Errorf("%.60q: want class/file, or class_number.JPEG", line)
		}
		return string(line), nil
	}
	if class, _, inClass = bytes.Cut(line, []byte("_")); !inClass || len(class) == 0 {
		return "", fmt.Errorf("%.60q: no class; want class/file, or class_number.JPEG", line)
	}
	return string(class) + "/" + string(line), nil
}

// classesOf returns the directories of sorted names.
func classesOf(names []string) []string {
	var classes []string
	for _, name := range names {
		class, _, _ := strings.Cut(name, "/")
		if len(classes) == 0 || classes[len(classes)-1] != class {
			classes = append(classes, class)
		}
	}
	return classes
}
