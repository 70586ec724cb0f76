package terminal

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Label returns a name as valid text of one line, for records. Names of files, jobs and users may have line breaks,
// control characters and bytes that are not UTF-8; these are escaped as in Go. In the header of a table a name on a
// line of its own could be a command to the runner of GitHub.
func Label(name string) string {
	if utf8.ValidString(name) {
		return InLine(name)
	}
	return strings.TrimSuffix(strings.TrimPrefix(strconv.Quote(name), `"`), `"`)
}
