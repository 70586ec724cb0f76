package weblogs

import (
	"bytes"
	"regexp"
	"strings"
)

// messages is what is left out of a log in which a server also writes other things than requests.
const messages = "with messages of the server"

// isMessage reports whether a line that is no request is a message of a server: containers, and HAProxy everywhere,
// write them to the same place as the log of requests.
func isMessage(line []byte) bool {
	return messageStart.Match(line) ||
		bytes.Contains(line, []byte("haproxy[")) && haproxyTag.Match(line) && !haproxyRequest.Match(line)
}

// messageStart is how messages begin. Their lines are written by nginx (error_log), Apache (ErrorLog), Envoy, Istio,
// and the scripts that start the image of nginx.
var messageStart = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`\d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[[a-z]+\] \d+#`,
	`\[[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ [\d:.]+ \d{4}\] \[`,
	`\[\d{4}-\d\d-\d\d [\d:.]+\]\[\d+\]\[`,
	`\d{4}-\d\d-\d\dT[\d:.]+Z\t(?:debug|info|warn|error)\t`,
	`[\w/-]+\.sh: `,
}, "|") + `)`)

// HAProxy logs requests with the date of their arrival and, in quotes, what was asked for. Other lines tell of servers
// that go up and down, of handshakes that failed, and of TCP connections.
var (
	haproxyTag     = regexp.MustCompile(`\bhaproxy\[\d+\]: `)
	haproxyRequest = regexp.MustCompile(`\[\d\d/[A-Z][a-z]{2}/\d{4}:[\d:.]+\] .*"`)
)

// firstRequests returns the first lines on which detection looks: at most mostLooked, without messages.
func firstRequests(lines [][]byte) (first [][]byte) {
	for _, line := range lines {
		if len(first) == mostLooked {
			break
		}
		if !isMessage(line) {
			first = append(first, line)
		}
	}
	return first
}
