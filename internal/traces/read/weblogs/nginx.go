package weblogs

import (
	"regexp"
	"strings"
)

// nginxFields are the variables of nginx that say something about a request. All others are skipped, since modules and
// configurations add variables at will. https://nginx.org/en/docs/varindex.html
var nginxFields = map[string]field{
	"request": requestLine, "request_uri": target, "uri": path, "document_uri": path, "args": query,
	"query_string": query, "request_method": method, "host": host, "http_host": host, "server_name": serverName,
	"remote_addr": client, "realip_remote_addr": client, "http_x_real_ip": client, "status": status,
	"body_bytes_sent": bodyBytes, "bytes_sent": allBytes, "time_local": stamp, "time_iso8601": stamp,
	"msec": seconds, "upstream_cache_status": served, "srcache_fetch_status": served,
	"sent_http_x_cache": served, "sent_http_x_cache_status": served, "sent_http_cf_cache_status": served,
	"upstream_http_x_cache": served, "upstream_http_x_cache_status": served, "upstream_http_cf_cache_status": served,
	"sent_http_cache_status": served, "upstream_http_cache_status": served,
	"sent_http_cache_control": cacheControl, "upstream_http_cache_control": cacheControl,
}

// nginxVariable is a name of a variable: $name or ${name}.
var nginxVariable = regexp.MustCompile(`\$(?:\{(\w+)\}|(\w+))`)

// nginxParts cuts what log_format of nginx describes into parts. fields says what its variables are.
func nginxParts(format string, fields map[string]field) []part {
	parts, _ := cutParts(format, nginxVariable, func(match []string) ([]part, error) {
		name := match[1] + match[2]
		return []part{{name: "$" + name, field: fields[name]}}, nil
	})
	return parts
}

// cutParts cuts a description of lines into what a pattern finds, and the literals between.
func cutParts(format string, pattern *regexp.Regexp, found func(match []string) ([]part, error)) (parts []part,
	err error) {
	end := 0
	for _, at := range pattern.FindAllStringSubmatchIndex(format, -1) {
		match := make([]string, len(at)/2)
		for i := range match {
			if at[2*i] >= 0 {
				match[i] = format[at[2*i]:at[2*i+1]]
			}
		}
		more, err := found(match)
		if err != nil {
			return nil, err
		}
		parts = append(append(parts, part{literal: format[end:at[0]]}), more...)
		end = at[1]
	}
	return append(parts, part{literal: format[end:]}), nil
}

// Pieces of a log_format directive as its page in a configuration has it. The texts in quotes are one text.
var (
	nginxDirective = regexp.MustCompile(`^log_format\s+\S+\s+(?:escape=\w+\s+)?`)
	nginxJoint     = regexp.MustCompile(`'\s+'`)
	nginxEscapes   = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\'`, `'`, `\t`, "\t")
)

// nginxText returns the text that a pasted log_format describes: without the directive around it, without the quotes
// of its lines, and with escapes of the configuration resolved.
func nginxText(format string) string {
	text := strings.TrimSpace(nginxDirective.ReplaceAllString(strings.TrimSpace(format), ""))
	if inside, ok := strings.CutPrefix(strings.TrimSuffix(text, ";"), "'"); ok {
		text = strings.TrimSuffix(strings.TrimSpace(inside), "'")
	}
	return nginxEscapes.Replace(nginxJoint.ReplaceAllString(text, ""))
}
