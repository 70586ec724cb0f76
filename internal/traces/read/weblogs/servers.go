package weblogs

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// server is a format whose lines always have the same layout, or one of a few.
type server struct {
	name, summary, example, carries, detection string
	layouts                                    []serverLayout
	padded, quotable                           bool   // as in layout
	key                                        string // what the key is, if it is not host and path
}

// serverLayout is a layout, written as log_format of nginx.
type serverLayout struct {
	about  string // "" if the server has only one
	format string
}

// serverFields are the variables in layouts of servers: those of nginx, and some of others.
var serverFields = map[string]field{
	"request": requestLine, "request_uri": target, "request_method": method, "host": host, "remote_addr": client,
	"status": status, "body_bytes_sent": bodyBytes, "bytes_sent": allBytes, "time_local": stamp,
	"time_iso8601": stamp, "msec": seconds,
	"result_and_status": resultStatus, "operation": s3Operation, "object_size": objectBytes,
	"s3_status": s3Status,
}

var servers = []server{
	{
		name:    "squid",
		summary: "access logs of Squid in its own format",
		example: "1286536309.131    209 10.0.0.1 TCP_MISS/200 1234 GET http://example.com/a.png - HIER_DIRECT/192.0.2.1 " +
			"image/png",
		carries:   "key (host and path), time, size, operation, hits of the server, client",
		detection: "a time in seconds, and a result such as TCP_MISS/200",
		padded:    true,
		layouts: []serverLayout{{"", "$msec $elapsed $remote_addr $result_and_status $bytes_sent $request_method " +
			"$request_uri $user $hierarchy/$peer $type"}},
	},
	{
		name:    "haproxy",
		summary: "HTTP logs of HAProxy (option httplog, option httpslog), with or without the prefix of syslog",
		example: `Feb  6 12:14:14 lb haproxy[14389]: 10.0.0.1:33317 [06/Feb/2025:12:14:14.655] http-in static/srv1 ` +
			`10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "GET /a.png HTTP/1.1"`,
		carries:   "key (path, and host of HTTP/2), time, size, operation",
		detection: "an accept date, five timers and four flags, before a request in quotes",
		layouts: []serverLayout{{"", `$prefix [$time_local] $frontend $backend/$server $tq/$tw/$tc/$tr/$tt $status ` +
			`$bytes_sent $cookie $set_cookie $flags $actconn/$feconn/$beconn/$srvconn/$retries ` +
			`$queues_and_headers "$request"`}},
	},
	{
		name:    "envoy",
		summary: "access logs of Envoy and Istio in their default formats",
		example: `[2025-04-15T20:17:00.310Z] "GET /a.png HTTP/2" 200 - 0 226 100 99 "10.0.0.1" "curl/8.5.0" ` +
			`"cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "example.com" "10.0.2.1:80"`,
		carries:   "key (host and path), time, size, operation",
		detection: "an RFC 3339 time in brackets, a request in quotes, a status and flags",
		layouts: []serverLayout{
			{"", `[$time_iso8601] "$request" $status $flags $bytes_received $body_bytes_sent $duration $service_time ` +
				`"$forwarded_for" "$user_agent" "$request_id" "$host" "$upstream"`},
			{"Istio", `[$time_iso8601] "$request" $status $flags $details $termination "$failure" $bytes_received ` +
				`$body_bytes_sent $duration $service_time "$forwarded_for" "$user_agent" "$request_id" "$host" "$upstream" ` +
				`$cluster $local $downstream $remote $server_name $route`},
		},
	},
	{
		name:    "traefik",
		summary: "access logs of Traefik in its common format",
		example: `10.0.0.1 - - [10/Oct/2025:13:55:36 +0000] "GET /a.png HTTP/1.1" 200 2326 "-" "curl/8.5.0" 12 ` +
			`"web@docker" "http://10.0.2.1:80" 3ms`,
		carries:   "key (path), time, size, operation, client",
		detection: "the combined format, with a number, a router, a server and a duration such as 3ms after it",
		layouts: []serverLayout{{"", `$remote_addr - $user [$time_local] "$request" $status $body_bytes_sent "$referer" ` +
			`"$user_agent" $count "$router" "$server" ${duration}ms`}},
	},
	{
		name:    "alb",
		summary: "access logs of AWS load balancers: Application Load Balancer and Classic Load Balancer",
		example: `https 2025-07-02T22:23:00.186641Z app/lb/50dc6c495c0c9188 10.0.0.1:2817 10.0.2.1:80 0.000 0.001 0.000 ` +
			`200 200 34 366 "GET https://example.com:443/a.png HTTP/1.1" "curl/8.5.0" - -`,
		carries:   "key (host and path), time, size, operation, client",
		detection: "an RFC 3339 time, the name of a load balancer, three times, two statuses and a request in quotes",
		layouts: []serverLayout{
			{"Application Load Balancer", `$type $time_iso8601 $elb $remote_addr $target $t1 $t2 $t3 $status ` +
				`$target_status $received $bytes_sent "$request" "$user_agent" $ssl_cipher $ssl_protocol`},
			{"Classic Load Balancer", `$time_iso8601 $elb $remote_addr $backend $t1 $t2 $t3 $status $backend_status ` +
				`$received $bytes_sent "$request"`},
		},
	},
	{
		name:    "s3",
		summary: "server access logs of Amazon S3",
		example: `79a59df900b9 photos [06/Feb/2025:00:00:38 +0000] 10.0.0.1 arn:aws:iam::1:user/a 3E57427F3EXAMPLE ` +
			`REST.GET.OBJECT a.png "GET /photos/a.png HTTP/1.1" 200 - 2326 2326 41 28 "-" "curl/8.5.0" -`,
		carries:   "key (bucket and key), time, size, operation, client",
		detection: "an owner, a bucket, a time in brackets, and an operation such as REST.GET.OBJECT",
		quotable:  true,
		key:       "bucket and key",
		layouts: []serverLayout{{"", `$owner $host [$time_local] $remote_addr $requester $request_id $operation ` +
			`$request_uri $request_line $s3_status $error $body_bytes_sent $object_size`}},
	},
}

// Formats are the formats of access logs.
var Formats = append([]source.Format{accessFormat, w3cFormat, gcsFormat}, serverFormats()...)

func serverFormats() []source.Format {
	formats := make([]source.Format, len(servers))
	for i := range servers {
		formats[i] = servers[i].traceFormat()
	}
	return formats
}

func (s *server) traceFormat() source.Format {
	compiled := sync.OnceValue(s.compile)
	return source.Format{
		Name: s.name, Summary: s.summary, Example: s.example, Carries: s.carries, Detection: s.detection,
		Options: RuleOptions(), Writes: stream.WritesInvalidate,
		Detect: func(head source.Head, _ string) source.Confidence {
			if _, fit := bestLayout(compiled(), head.Lines); fit {
				return source.Certain
			}
			return source.No
		},
		Open: func(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
			head, err := src.Head()
			if err != nil {
				return nil, stream.Fields{}, err
			}
			i, fit := bestLayout(compiled(), head.Lines)
			if !fit {
				return nil, stream.Fields{}, src.Errorf("%w", s.foreign(compiled()[0], head.Lines))
			}
			return openLayout(src, opts, compiled()[i], description{s.layouts[i].about, s.key})
		},
	}
}

func (s *server) compile() []*layout {
	layouts := make([]*layout, len(s.layouts))
	for i, l := range s.layouts {
		compiled, err := newLayout(nginxParts(l.format, serverFields))
		if err != nil {
			panic(fmt.Sprintf("weblogs: layout of %s: %v", s.name, err)) // it is part of the program
		}
		compiled.padded, compiled.quotable = s.padded, s.quotable
		layouts[i] = compiled
	}
	return layouts
}

// foreign says how the first line that is not in the usual layout of a server differs from it.
func (s *server) foreign(usual *layout, lines [][]byte) error {
	p := parser{layout: usual}
	for _, line := range lines {
		if err := p.parse(line); err != nil {
			return fmt.Errorf("not in the format of %s (%.80q: %w); if the server has a format of its own, describe it as "+
				"log_format of nginx would: --input-format 'access:format=$remote_addr ... \"$request\" $status ...'", s.name,
				line, err)
		}
	}
	return fmt.Errorf("not in the format of %s: no whole line within %d bytes", s.name, source.HeadLen)
}

// bestLayout returns the layout that most of the first lines have, and whether at least half of them do. Of several it
// is the last.
func bestLayout(layouts []*layout, lines [][]byte) (best int, fit bool) {
	lines = firstRequests(source.WithoutBlankEnd(lines))
	most := 0
	for i, l := range layouts {
		p, fitting := parser{layout: l}, 0
		for _, line := range lines {
			if p.begins(line) {
				fitting++
			}
		}
		if fitting > 0 && fitting >= most {
			best, most = i, fitting
		}
	}
	return best, most > 0 && 2*most >= len(lines)
}

// begins reports whether a line has all fields of the layout, before whatever else.
func (p *parser) begins(line []byte) bool {
	_, err := p.take(line, p.layout.steps)
	return err == nil && !bytes.HasPrefix(line, []byte("#"))
}
