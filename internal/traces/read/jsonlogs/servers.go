package jsonlogs

import (
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/read/weblogs"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// server is a format of access logs whose fields have fixed paths.
type server struct {
	name, summary, example string
	// needs are lists of paths; a log has at least one of each.
	needs [][]string
	// fields has the paths for each role, the best first.
	fields map[role][]string
	// looked is the path of whether the cache was asked, for a server that says nothing else of a miss.
	looked string
}

// role is what a field says of a request.
type role uint8

const (
	target role = iota // a path with its query, or a URL
	line               // a request line: GET /a HTTP/1.1
	query
	method
	host
	client
	status
	size
	clock
	timeOfDay    // of a server that logs only the date
	cacheControl // the header of the response, which says how long it stays fresh
	served
	looked // whether the server asked its cache
	roles
)

var servers = []server{
	{
		// https://caddyserver.com/docs/caddyfile/directives/log, and the header of RFC 9211, which cache handlers add.
		name:    "caddy",
		summary: "access logs of Caddy",
		example: `{"level":"info","ts":1646861401.52,"logger":"http.log.access","msg":"handled request","request":` +
			`{"method":"GET","host":"example.com","uri":"/logo.png"},"size":10900,"status":200}`,
		needs: [][]string{{".request.uri"}, {".request.host"}, {".status"}},
		fields: map[role][]string{
			target: {".request.uri"}, method: {".request.method"}, host: {".request.host"},
			client: {".request.client_ip", ".request.remote_ip"}, status: {".status"}, size: {".size"}, clock: {".ts"},
			cacheControl: {".resp_headers.Cache-Control[0]"},
			served:       {".resp_headers.Cache-Status[0]", ".resp_headers.X-Cache[0]"},
		},
	},
	{
		// https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/zone/http_requests/
		name:    "cloudflare",
		summary: "HTTP requests of Cloudflare's Logpush, with times as RFC 3339, in seconds or in nanoseconds",
		example: `{"CacheCacheStatus":"hit","ClientRequestHost":"example.com","ClientRequestMethod":"GET",` +
			`"ClientRequestURI":"/logo.png","EdgeResponseBytes":10900,"EdgeResponseStatus":200,` +
			`"EdgeStartTimestamp":"2026-03-01T12:00:00Z"}`,
		needs: [][]string{{".ClientRequestURI", ".ClientRequestPath"}},
		fields: map[role][]string{
			target: {".ClientRequestURI", ".ClientRequestPath"}, method: {".ClientRequestMethod"},
			host: {".ClientRequestHost"}, client: {".ClientIP"}, status: {".EdgeResponseStatus"},
			size:  {".EdgeResponseBodyBytes", ".EdgeResponseBytes"},
			clock: {".EdgeStartTimestamp", ".EdgeEndTimestamp"}, served: {".CacheCacheStatus"},
		},
	},
	{
		// https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html
		name:    "cloudfront-json",
		summary: "standard logs (v2) of Amazon CloudFront in JSON, with the names of the fields of the W3C",
		example: `{"date":"2026-03-01","time":"12:00:00","sc-bytes":"10900","c-ip":"10.0.0.1","cs-method":"GET",` +
			`"cs(Host)":"d111.cloudfront.net","cs-uri-stem":"/logo.png","sc-status":"200","cs-uri-query":"-",` +
			`"x-edge-result-type":"Hit","x-host-header":"example.com"}`,
		needs: [][]string{{".cs-uri-stem"}, {".sc-status"}},
		fields: map[role][]string{
			target: {".cs-uri-stem"}, query: {".cs-uri-query"}, method: {".cs-method"},
			host: {".x-host-header", `."cs(Host)"`}, client: {".c-ip"}, status: {".sc-status"}, size: {".sc-bytes"},
			clock: {".date"}, timeOfDay: {".time"}, served: {".x-edge-result-type"},
		},
	},
	{
		// https://www.fastly.com/documentation/guides/integrations/logging-endpoints/: the example of a JSON log.
		name:    "fastly",
		summary: "Fastly's real-time logs, with the fields of its JSON examples",
		example: `{"timestamp":"2026-03-01T12:00:00+0000","client_ip":"10.0.0.1","host":"example.com","url":"/logo.png",` +
			`"request_method":"GET","response_state":"HIT","response_status":200,"response_body_size":10900,` +
			`"fastly_server":"cache-fra-1","fastly_is_edge":true}`,
		needs: [][]string{{".url"}, {".fastly_server", ".fastly_is_edge", ".response_state"}},
		fields: map[role][]string{
			target: {".url"}, method: {".request_method", ".request"}, host: {".host"}, client: {".client_ip"},
			status: {".response_status", ".status"}, size: {".response_body_size", ".resp_body_size"},
			clock: {".timestamp", ".time_start"}, served: {".response_state", ".cache_status"},
		},
	},
	{
		// https://cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry#HttpRequest
		name:    "google-cdn",
		summary: "requests to load balancers and the CDN of Google Cloud, exported from Cloud Logging",
		example: `{"httpRequest":{"cacheHit":true,"cacheLookup":true,"requestMethod":"GET","requestUrl":` +
			`"https://example.com/logo.png","responseSize":"10900","status":200},"timestamp":"2026-03-01T12:00:00Z"}`,
		needs: [][]string{{".httpRequest.requestUrl"}},
		fields: map[role][]string{
			target: {".httpRequest.requestUrl"}, method: {".httpRequest.requestMethod"}, client: {".httpRequest.remoteIp"},
			status: {".httpRequest.status"}, size: {".httpRequest.responseSize"},
			clock: {".timestamp", ".receiveTimestamp"}, served: {".httpRequest.cacheHit"},
		},
		looked: ".httpRequest.cacheLookup",
	},
	{
		// https://learn.microsoft.com/azure/frontdoor/monitor-front-door and .../cdn/monitoring-and-access-log
		name:    "azure-cdn",
		summary: "access logs of Azure Front Door and Azure CDN",
		example: `{"time":"2026-03-01T12:00:00.0000000Z","category":"FrontDoorAccessLog","properties":{"httpMethod":"GET",` +
			`"requestUri":"https://example.com:443/logo.png","responseBytes":"10900","httpStatusCode":"200",` +
			`"cacheStatus":"HIT"}}`,
		needs: [][]string{{".properties.requestUri"}, {".properties.httpMethod", ".properties.httpStatusCode"}},
		fields: map[role][]string{
			target: {".properties.requestUri"}, method: {".properties.httpMethod"},
			client: {".properties.clientIp", ".properties.socketIp"}, status: {".properties.httpStatusCode"},
			size: {".properties.responseBytes"}, clock: {".time"}, served: {".properties.cacheStatus"},
		},
	},
	{
		// https://doc.traefik.io/traefik/reference/install-configuration/observability/logs-and-accesslogs/
		name:    "traefik-json",
		summary: "access logs of Traefik in JSON",
		example: `{"ClientHost":"10.0.0.1","DownstreamContentSize":10900,"DownstreamStatus":200,"RequestHost":` +
			`"example.com","RequestMethod":"GET","RequestPath":"/logo.png","StartUTC":"2026-03-01T12:00:00Z"}`,
		needs: [][]string{{".RequestPath"}, {".DownstreamStatus", ".OriginStatus", ".RequestMethod"}},
		fields: map[role][]string{
			target: {".RequestPath"}, method: {".RequestMethod"}, host: {".RequestHost", ".RequestAddr"},
			client: {".ClientHost"}, status: {".DownstreamStatus", ".OriginStatus"},
			size:  {".DownstreamContentSize", ".OriginContentSize"},
			clock: {".StartUTC", ".time", ".StartLocal"}, cacheControl: {".downstream_Cache-Control"},
			served: {".downstream_X-Cache", ".downstream_Cache-Status"},
		},
	},
	{
		// https://www.envoyproxy.io/docs/envoy/latest/configuration/observability/access_log/usage, with the names that
		// Istio's EnvoyFilter and Envoy's own examples use for the fields of json_format.
		name:    "envoy-json",
		summary: "access logs of Envoy and Istio in JSON, with their usual names",
		example: `{"authority":"example.com","bytes_sent":10900,"method":"GET","path":"/logo.png","response_code":200,` +
			`"start_time":"2026-03-01T12:00:00.000Z"}`,
		needs: [][]string{{".path"}, {".response_code"}, {".start_time", ".bytes_sent", ".authority"}},
		fields: map[role][]string{
			target: {".path"}, method: {".method"}, host: {".authority"},
			client: {".x_forwarded_for", ".downstream_remote_address"}, status: {".response_code"}, size: {".bytes_sent"},
			clock: {".start_time"},
		},
	},
}

// Formats are those that this package reads.
var Formats = append([]source.Format{jsonlFormat, accessFormat}, serverFormats()...)

func serverFormats() []source.Format {
	formats := make([]source.Format, len(servers))
	for i := range servers {
		formats[i] = servers[i].format()
	}
	return formats
}

func (s *server) format() source.Format {
	var needs []string
	for _, paths := range s.needs {
		needs = append(needs, strings.Join(paths, " or "))
	}
	f := accessLog(s.name, s.summary, s.example, func(first *survey) *fields { return s.choose(first) })
	f.Detection = "JSON lines with " + strings.Join(needs, ", ")
	f.Detect = func(head source.Head, _ string) source.Confidence {
		if s.detects(head) {
			return source.Certain
		}
		return source.No
	}
	return f
}

// detects reports whether the first lines have what the server's logs need. They may be of other events, too.
func (s *server) detects(head source.Head) bool {
	if source.NoTextTrace(head) == "" {
		return false // no JSON
	}
	scanner := newScanner()
	var slots [][]int
	for _, paths := range s.needs {
		var either []int
		for _, p := range paths {
			either = append(either, scanner.add(mustPath(p)))
		}
		slots = append(slots, either)
	}
	for _, line := range head.Lines {
		has := func(slot int) bool { k := scanner.values[slot].kind; return k == text || k == number }
		if scanner.scan(line) == nil &&
			!slices.ContainsFunc(slots, func(either []int) bool { return !slices.ContainsFunc(either, has) }) {
			return true
		}
	}
	return false
}

// choose returns the paths that the first lines have; nil without one of the target.
func (s *server) choose(first *survey) *fields {
	f := new(fields)
	for r, paths := range s.fields {
		for _, p := range paths {
			if first.field(p) != nil && f.paths[r] == nil {
				f.paths[r] = mustPath(p)
			}
		}
	}
	if s.looked != "" { // fields that are only there if they are true
		f.paths[served], f.paths[looked] = mustPath(s.fields[served][0]), mustPath(s.looked)
	}
	if f.paths[target] == nil {
		return nil
	}
	return f
}

// mustPath reads a path that is part of the program.
func mustPath(text string) path {
	p, err := parsePath(text)
	if err != nil {
		panic("jsonlogs: " + err.Error())
	}
	return p
}

// accessLog makes a format of access logs, whose requests follow the rules of package weblogs.
func accessLog(name, summary, example string, choose func(*survey) *fields) source.Format {
	return source.Format{
		Name: name, Summary: summary, Example: example, JSON: true,
		Carries: "key (host and path), time, size, operation, hits of the server, client, as far as the log has them",
		Options: weblogs.RuleOptions(), Writes: stream.WritesInvalidate,
		Open: openAccess(name, choose),
	}
}
