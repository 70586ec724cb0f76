package weblogs_test

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// TestMessagesOfServers: what servers write beside their requests to the same place is no damaged line.
func TestMessagesOfServers(t *testing.T) {
	const (
		access  = `10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1" 200 5 "-" "-"`
		haproxy = `Feb  6 12:14:14 lb haproxy[1]: 10.0.0.1:3 [06/Feb/2025:12:14:14.655] in static/srv1 10/0/30/69/109 ` +
			`200 5 - - ---- 1/1/1/1/0 0/0 "GET /a HTTP/1.1"`
		envoy = `[2025-04-15T20:17:00.310Z] "GET /a HTTP/2" 200 - 0 5 100 99 "10.0.0.1" "curl" "cc21" "example.com" "h:80"`
	)
	for name, c := range map[string]struct{ request, format, messages string }{
		"nginx": {access, "access", "/docker-entrypoint.sh: Configuration complete; ready for start up\n" +
			"10-listen-on-ipv6-by-default.sh: info: Enabled listen on IPv6 in /etc/nginx/conf.d/default.conf\n" +
			`2026/03/01 12:00:01 [error] 29#29: *1 open() "/a" failed, request: "GET /a HTTP/1.1", host: "e.com"`},
		"Apache": {access, "access", "[Sun Mar 01 12:00:00.123456 2026] [mpm_event:notice] [pid 1:tid 140] AH00489: x\n" +
			"[Fri Sep 09 10:42:29 2011] [error] [client 10.0.0.1] File does not exist: /a"},
		"HAProxy": {haproxy, "haproxy", "Feb  6 12:14:14 lb haproxy[1]: Server static/srv1 is DOWN, reason: timeout.\n" +
			"Feb  6 12:14:14 lb haproxy[1]: 10.0.0.1:3 [06/Feb/2025:12:14:14.655] in/1: SSL handshake failure\n" +
			"Feb  6 12:12:51 lb haproxy[1]: 10.0.0.1:3 [06/Feb/2025:12:12:51.443] in bck/srv1 0/0/5007 212 -- 0/0/0/0/3 0/0"},
		"Envoy": {envoy, "envoy", "[2026-03-01 12:00:00.123][1][info][main] [source/server/server.cc:404] starting\n" +
			"2026-03-01T12:00:00.123456Z\tinfo\tEnvoy proxy is ready"},
	} {
		log := c.messages + "\n" + c.request + "\n" + c.messages + "\n" + c.request + "\n"
		trace := tracetest.MustLoadText(t, log, read.Options{})
		r := trace.Readings[0]
		if want := int64(2 * (1 + strings.Count(c.messages, "\n"))); r.Format != c.format || len(trace.Objects) != 2 ||
			!strings.Contains(r.LeftOutText(), "with messages of the server") || r.LeftOut != want {
			t.Errorf("%s: %d requests in format %s, %s; want 2 in format %s, %d messages", name, len(trace.Objects), r.Format,
				r.LeftOutText(), c.format, want)
		}
	}
}
