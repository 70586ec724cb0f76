package quote

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Label returns a name as valid text, for records: bytes that are not UTF-8, which names of files and jobs may have,
// are escaped as in Go.
func Label(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(strconv.Quote(name), `"`), `"`)
}
