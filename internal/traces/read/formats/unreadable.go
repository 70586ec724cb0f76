package formats

import (
	"bytes"
	"regexp"
)

// unreadable is a kind of log that no format reads, with what to do instead. It is one where a line matches.
type unreadable struct {
	what    string
	pattern *regexp.Regexp
	instead string
}

// Error says what the log is, and what to do instead.
func (u unreadable) Error() string { return "is " + u.what + "; " + u.instead }

var unreadables = []unreadable{
	{"a debug log of memcached (-vv), which has neither times nor the sizes of what is read",
		regexp.MustCompile(`^<\d+ (?:gets?|gats?|set|add|replace|append|prepend|cas|incr|decr|touch|delete|m[gsdan]) \S|` +
			`^<\d+ (?:server listening|new [a-z-]+ client connection)`),
		"log its requests with both: send it watch fetchers mutations, as in (echo watch fetchers mutations; cat) | " +
			"nc HOST 11211 > memcached.log; to count objects in this one, of which each get of several keys has the first: " +
			"--input-format 'regex:unmatched=skip,pattern=^<\\d+ (?<op>get|set|add|replace|append|prepend|incr|decr|delete)s? " +
			"(?<key>\\S+)'"},
	{"a log of OpenTelemetry spans, with prompts in gen_ai.input.messages",
		regexp.MustCompile(`^\{.*"gen_ai\.input\.messages"`),
		"no format reads it; its prompts: jq -c '" + promptsOfSpans + "' FILE | cachesim run - --input-format openai"},
}

// promptsOfSpans is a program for jq that writes the prompts of spans as requests with messages: of spans by
// themselves, whose attributes are an object, or in the JSON of OTLP, where they are a list.
const promptsOfSpans = `(.resourceSpans[]?.scopeSpans[]?.spans[]?, (select(.resourceSpans|not)))|` +
	`((.startTimeUnixNano|values|tonumber/1e9)//.start_time//.startTime) as $t|` +
	`(.attributes//.|if type=="array" then [.[]|{(.key):(.value|.stringValue//.intValue//.doubleValue)}]|add else . end)` +
	`|select(.["gen_ai.input.messages"])|{time:$t,model:.["gen_ai.request.model"],` +
	`session_id:.["gen_ai.conversation.id"],messages:[.["gen_ai.input.messages"]|if type=="string" then fromjson else . ` +
	`end|.[]|{role,content:([.parts[]?|.content|strings]|join("\n"))}],response:{usage:{` +
	`prompt_tokens:.["gen_ai.usage.input_tokens"],cached_tokens:.["gen_ai.usage.cache_read.input_tokens"]}}}`

// unreadableOf returns what a log that begins with head is; false if no line of it tells.
func unreadableOf(head []byte) (unreadable, bool) {
	for _, u := range unreadables {
		for line := range bytes.Lines(head) {
			if u.pattern.Match(bytes.TrimRight(line, "\r\n")) {
				return u, true
			}
		}
	}
	return unreadable{}, false
}
