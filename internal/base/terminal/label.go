package terminal

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Label returns a name as valid text of one line, for records: line breaks, control characters and bytes that are not
// UTF-8, which names of files, jobs and users may have, are escaped as in Go. Tables of records have names in their
// headers, where a line of its own could be a command to the runner of GitHub.
func Label(name string) string {
	if utf8.ValidString(name) {
		return InLine(name)
	}
	return strings.TrimSuffix(strings.TrimPrefix(strconv.Quote(name), `"`), `"`)
}
