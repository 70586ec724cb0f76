package traces

import (
	"fmt"
	"strings"
)

// mostNamed is the number of files of which the name of a trace has all names.
const mostNamed = 3

// NameOf returns the name of a trace that is read from files with these names: all of them, "a.log+b.log", or their
// number with the first and the last, "168 files, www-00 to www-23.log.gz".
func NameOf(files []string) string {
	if len(files) <= mostNamed {
		return strings.Join(files, "+")
	}
	first, last := files[0], files[len(files)-1]
	// The first name goes without the endings that it has in common with the last.
	if dot := strings.IndexByte(first, '.'); dot > 0 && strings.HasSuffix(last, first[dot:]) {
		first = first[:dot]
	}
	return fmt.Sprintf("%d files, %s to %s", len(files), first, last)
}
