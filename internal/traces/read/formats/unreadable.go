package formats

import (
	"bytes"
	"regexp"
)

// unreadable is a kind of log that no format reads, with what to do instead. It is one where a line matches.
type unreadable struct {
	what    string
	begins  string // a line that matches; most others need not be tried
	pattern *regexp.Regexp
	instead string
}

// Error says what the log is, and what to do instead.
func (u unreadable) Error() string { return "is " + u.what + "; " + u.instead }

var unreadables = []unreadable{
	{"a debug log of memcached (-vv), which has neither times nor the sizes of what is read", "<",
		regexp.MustCompile(`^<\d+ (?:gets?|gats?|set|add|replace|append|prepend|cas|incr|decr|touch|delete|m[gsdan]) \S|` +
			`^<\d+ (?:server listening|new [a-z-]+ client connection)`),
		"log its requests with both: send it watch fetchers mutations, as in (echo watch fetchers mutations; cat) | " +
			"nc HOST 11211 > memcached.log; to count objects in this one, of which each get of several keys has the first: " +
			"--input-format 'regex:unmatched=skip,pattern=^<\\d+ (?<op>get|set|add|replace|append|prepend|incr|decr|delete)s? " +
			"(?<key>\\S+)'"},
}

// unreadableOf returns what a log that begins with head is; false if no line of it tells.
func unreadableOf(head []byte) (unreadable, bool) {
	for _, u := range unreadables {
		for line := range bytes.Lines(head) {
			if bytes.HasPrefix(line, []byte(u.begins)) && u.pattern.Match(bytes.TrimRight(line, "\r\n")) {
				return u, true
			}
		}
	}
	return unreadable{}, false
}
