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
func nginxParts(format string, fields map[string]field) (parts []part) {
	end := 0
	for _, at := range nginxVariable.FindAllStringSubmatchIndex(format, -1) {
		from, to := at[2], at[3]
		if from < 0 {
			from, to = at[4], at[5]
		}
		name := format[from:to]
		parts = append(parts, part{literal: format[end:at[0]]}, part{name: "$" + name, field: fields[name]})
		end = at[1]
	}
	return append(parts, part{literal: format[end:]})
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
