package weblogs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
)

// RuleOptions are the options of every format of access logs.
func RuleOptions() []params.Param {
	return []params.Param{
		{Name: "query", Default: "keep", Doc: "the query of a URL in the key: keep it, drop it, or sort its " +
			"parameters, so that their order makes no difference; drop:NAMES keeps it without these parameters, joined by | " +
			"and with * for any letters (drop:utm_*|gclid), and drop:tracking without well-known ones that say where a " +
			"visitor came from; sort+drop:NAMES does both"},
		{Name: "host", Default: "keep", Choices: []string{"keep", "drop"}, Doc: "the host in the key, if the log has it: " +
			"keep it, or drop it where several hosts have the same objects"},
		{Name: "uncached", Default: "lookup", Choices: []string{"lookup", "load", "drop"}, Doc: "what requests are of " +
			"which the server's cache kept no copy (BYPASS, pass, dynamic, no-store): lookup, which hit if the object is " +
			"there, and load nothing; load, as others; or drop, which leaves them out"},
		{Name: "methods", Default: "GET+HEAD", Doc: "methods that read an object, joined by +, or all; PUT, POST, PATCH " +
			"and DELETE, if they are not named here, are writes"},
		{Name: "statuses", Default: "200+206+301+304+404", Doc: "statuses of responses that a cache would serve, joined " +
			"by +, such as 200 or 2xx; or all"},
		{Name: "tenant", Default: "", Doc: "whose objects a cache is divided among, or the label of --by: host, client, " +
			"method, status, path (without its query) or directory (the first of the path); by default none"},
	}
}

// methodList are the methods that read.
type methodList struct {
	names []string
	all   bool
}

func parseMethods(text string) (m methodList, err error) {
	if strings.EqualFold(text, "all") {
		return methodList{all: true}, nil
	}
	for name := range strings.SplitSeq(strings.ToUpper(text), "+") {
		if name = strings.TrimSpace(name); !isMethod([]byte(name)) {
			return m, fmt.Errorf("methods=%s: want names of methods joined by +, such as GET+HEAD, or all", text)
		}
		m.names = append(m.names, name)
	}
	return m, nil
}

// reads reports whether a method only reads an object. Even if all methods count, an unsafe one is a write.
func (m methodList) reads(method []byte) bool {
	if m.all {
		return !isUnsafe(method)
	}
	return slices.Contains(m.names, string(method))
}

// isMethod reports whether text can be a method: every registered one is a word of capital letters and hyphens.
func isMethod(text []byte) bool {
	const longest = 32
	return len(text) > 0 && len(text) <= longest && text[0] != '-' &&
		!slices.ContainsFunc(text, func(c byte) bool { return (c < 'A' || c > 'Z') && c != '-' && c != '_' })
}

// firstStatus and lastStatus bound the statuses of HTTP, RFC 9110 section 15.
const (
	firstStatus = 100
	lastStatus  = 599
)

// statusSet has the statuses that count.
type statusSet [lastStatus + 1]bool

func (s *statusSet) has(status int) bool { return status >= 0 && status <= lastStatus && s[status] }

func parseStatuses(text string) (*statusSet, error) {
	set := new(statusSet)
	if strings.EqualFold(text, "all") {
		for i := range set {
			set[i] = true
		}
		return set, nil
	}
	for word := range strings.SplitSeq(text, "+") {
		first, last, ok := statusRange(strings.ToLower(strings.TrimSpace(word)))
		if !ok {
			return nil, fmt.Errorf("statuses=%s: want statuses from %d to %d joined by +, such as 200+404 or 2xx, or all",
				text, firstStatus, lastStatus)
		}
		for status := first; status <= last; status++ {
			set[status] = true
		}
	}
	return set, nil
}

// statusRange returns the statuses that a word names: 404, or 4xx.
func statusRange(word string) (first, last int, ok bool) {
	class, isClass := strings.CutSuffix(word, "xx")
	n, err := strconv.Atoi(class)
	if first, last = n, n; isClass {
		first, last = n*100, n*100+99
	}
	return first, last, err == nil && first >= firstStatus && last <= lastStatus
}
