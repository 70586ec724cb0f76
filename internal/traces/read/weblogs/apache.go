package weblogs

import (
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
)

// apacheFields are the directives of Apache's module log_config that say something about a request, without modifiers.
// varnishncsa has the same. All others are skipped. https://httpd.apache.org/docs/2.4/mod/mod_log_config.html
var apacheFields = map[string]field{
	"r": requestLine, "U": path, "q": query, "m": method, "V": host, "v": serverName, "h": client, "a": client,
	"s": status, "b": bodyBytes, "B": bodyBytes, "O": allBytes,

	"{host}i": host, "{x-cache}o": served, "{x-cache-status}o": served, "{cf-cache-status}o": served,
	"{cache-status}o": served, "{cache-status}e": served, "{varnish:hitmiss}x": served, "{varnish:handling}x": served,
	"{cache-control}o": cacheControl,

	"{sec}t": seconds, "{msec}t": milliseconds, "{usec}t": microseconds, "{msec_frac}t": fraction,
	"{usec_frac}t": fraction,
}

// apacheDirective is %, modifiers (of statuses, of redirected requests), a name in braces, and a letter. ^ begins
// directives of two letters.
var apacheDirective = regexp.MustCompile(`%(?:%|[!\d,]*[<>]?(\{[^}]*\})?(\^[A-Za-z]{2}|[A-Za-z]))`)

// apacheParts returns the parts that a directive writes.
func apacheParts(match []string) ([]part, error) {
	whole, braces, letters := match[0], match[1], match[2]
	switch {
	case whole == "%%":
		return []part{{literal: "%"}}, nil
	case letters != "t":
		return []part{{name: whole, field: apacheFields[strings.ToLower(braces)+letters]}}, nil
	}
	format := strings.TrimSuffix(strings.TrimPrefix(braces, "{"), "}")
	for _, when := range []string{"begin:", "end:"} {
		format = strings.TrimPrefix(format, when)
	}
	if format == "" || format == "begin" || format == "end" {
		return []part{{literal: "["}, {name: whole, field: stamp}, {literal: "]"}}, nil
	}
	if known := apacheFields["{"+format+"}t"]; known != ignored {
		return []part{{name: whole, field: known}}, nil
	}
	layout, err := newStrftime(format)
	if err != nil {
		return nil, err
	}
	return []part{{name: whole, field: layout.field(), time: layout}}, nil
}

// Pieces of a LogFormat directive as a configuration has it: the name of the directive, and the nickname at its end.
var (
	apacheDirectiveName = regexp.MustCompile(`(?i)^\s*LogFormat\s+`)
	apacheNickname      = regexp.MustCompile(`"\s+[\w-]+\s*$`)
	apacheEscapes       = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\t`, "\t")
)

// apacheText returns the text that a pasted LogFormat describes: without the directive, the quotes and the nickname
// around it, and with escapes of the configuration resolved.
func apacheText(format string) string {
	text := strings.TrimSpace(apacheDirectiveName.ReplaceAllString(format, ""))
	quoted := strings.HasPrefix(text, `"`) && (strings.Contains(text, `\"`) || strings.Count(text, `"`) == 2)
	if quoted {
		text = apacheNickname.ReplaceAllString(text, `"`)
		text = strings.TrimSuffix(text[1:], `"`)
	}
	return apacheEscapes.Replace(text)
}

// nicknames are what Apache, Debian and nginx call the formats that nearly all servers use.
var nicknames = map[string]string{
	"common":         `%h %l %u %t "%r" %>s %b`,
	"combined":       `%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"`,
	"vhost_common":   `%v %h %l %u %t "%r" %>s %b`,
	"vhost_combined": `%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"`,
}

// compile compiles the format that a user pasted: a nickname, nginx's log_format or Apache's LogFormat.
func compile(format string) (*layout, error) {
	if last := lastCompiled.Load(); last != nil && last.format == format {
		return last.layout, nil
	}
	l, err := compileNew(format)
	if err == nil {
		lastCompiled.Store(&compiled{format, l})
	}
	return l, err
}

// lastCompiled is the last format that was compiled: thousands of files that are read together have the same.
var lastCompiled atomic.Pointer[compiled]

type compiled struct {
	format string
	layout *layout
}

func compileNew(format string) (*layout, error) {
	if known, ok := nicknames[strings.ToLower(strings.TrimSpace(format))]; ok {
		format = known
	}
	var parts []part
	var err error
	switch {
	case nginxVariable.MatchString(format):
		parts = nginxParts(nginxText(format), nginxFields)
	case apacheDirective.MatchString(format):
		parts, err = cutParts(apacheText(format), apacheDirective, apacheParts)
	default:
		err = fmt.Errorf("it has no fields: want what log_format of nginx or LogFormat of Apache says, such as " +
			"'$remote_addr [$time_local] \"$request\" $status $body_bytes_sent', or common, combined, vhost_common or " +
			"vhost_combined")
	}
	if err != nil {
		return nil, err
	}
	return newLayout(parts)
}
