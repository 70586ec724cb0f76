package source

import (
	"bytes"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// longestServed is the longest text that can say what a cache found; of a longer one only the end is looked at.
const longestServed = 64

// servedWords say what the server's own cache found, in lower case. The first word that the text contains decides. The
// body came from the cache where it was only checked with the origin (revalidated), or was stale. A response that the
// server did not keep (bypass, pass, dynamic, no-store) went past its cache.
var servedWords = []struct {
	word   []byte
	served stream.Served
}{
	{[]byte("; stored"), stream.ServedMiss}, // Cache-Status, RFC 9211
	{[]byte("fwd=bypass"), stream.ServedPass},
	{[]byte("fwd="), stream.ServedMiss},
	{[]byte("pass"), stream.ServedPass},             // also bypass, hitpass, hit-for-pass
	{[]byte("pipe"), stream.ServedPass},             // Varnish
	{[]byte("dynamic"), stream.ServedPass},          // Cloudflare: not eligible
	{[]byte("uncacheable"), stream.ServedPass},      // Azure, and Varnish in X-Cache headers
	{[]byte("nocache"), stream.ServedPass},          // Azure: CONFIG_NOCACHE
	{[]byte("noconfig"), stream.ServedPass},         // Azure: CACHE_NOCONFIG
	{[]byte("nostore"), stream.ServedPass},          // Azure: PRIVATE_NOSTORE
	{[]byte("partial"), stream.ServedMiss},          // Azure: the origin sent the rest
	{[]byte("miss"), stream.ServedMiss},             // also TCP_REFRESH_MISS
	{[]byte("invalidate"), stream.ServedMiss},       // also "invalidated", and Apache's X-Cache
	{[]byte("expired"), stream.ServedMiss},          // nginx and Cloudflare: the origin sent it again
	{[]byte("fail_err"), stream.ServedMiss},         // Squid: TCP_REFRESH_FAIL_ERR
	{[]byte("unmodified"), stream.ServedHit},        // Squid: TCP_REFRESH_UNMODIFIED
	{[]byte("refresh_modified"), stream.ServedMiss}, // Squid
	{[]byte("hit"), stream.ServedHit},               // also RefreshHit, TCP_MEM_HIT, REMOTE_HIT
	{[]byte("stale"), stream.ServedHit},             // nginx and Cloudflare
	{[]byte("updating"), stream.ServedHit},          // likewise: stale, while it is updated
	{[]byte("revalidate"), stream.ServedHit},        // likewise "revalidated", and Apache's X-Cache
	{[]byte("refresh_fail"), stream.ServedHit},      // Squid: the old object was sent
}

// ParseServed returns what the server found in its own cache, from a text such as HIT, TCP_MEM_HIT/200, RefreshHit,
// EXPIRED or false in upper or lower case; ServedUnknown for others, such as "-". The last cache in "MISS, HIT" is the
// one that wrote the log.
//
// Sources: the documentation of nginx's $upstream_cache_status, Squid's result codes, x-edge-result-type of CloudFront,
// CacheCacheStatus of Cloudflare, fastly_info.state of Fastly, cacheStatus of Azure Front Door, Varnish:hitmiss of
// varnishncsa, cache-status of Apache, and the header Cache-Status (RFC 9211).
func ParseServed(text []byte) stream.Served {
	if at := bytes.LastIndexByte(text, ','); at >= 0 {
		text = text[at+1:]
	}
	text = TrimBlanks(text)
	if len(text) > longestServed {
		text = text[len(text)-longestServed:]
	}
	var buffer [longestServed]byte
	lower := appendLower(buffer[:0], text)
	switch string(lower) {
	case "true", "yes", "1":
		return stream.ServedHit
	case "false", "no", "0":
		return stream.ServedMiss
	}
	for i := range servedWords {
		if bytes.Contains(lower, servedWords[i].word) {
			return servedWords[i].served
		}
	}
	return stream.ServedUnknown
}
