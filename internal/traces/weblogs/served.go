package weblogs

import (
	"bytes"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// longestServed is the longest text that can say what a cache found; of a longer one only the end is looked at.
const longestServed = 64

// servedWords say what the server's own cache found, in lower case. The first word that the text contains decides. The
// body came from the cache where it was only checked with the origin (revalidated), or was stale. A request that the
// server did not look up in its cache (bypass, pass, dynamic) is neither a hit nor a miss.
var servedWords = []struct {
	word   []byte
	served stream.Served
}{
	{[]byte("fwd="), stream.ServedMiss},             // Cache-Status, RFC 9211
	{[]byte("pass"), stream.ServedUnknown},          // also bypass, hitpass
	{[]byte("partial"), stream.ServedMiss},          // Azure: the origin sent the rest
	{[]byte("miss"), stream.ServedMiss},             // also TCP_REFRESH_MISS
	{[]byte("expired"), stream.ServedMiss},          // nginx and Cloudflare: the origin sent it again
	{[]byte("fail_err"), stream.ServedMiss},         // Squid: TCP_REFRESH_FAIL_ERR
	{[]byte("unmodified"), stream.ServedHit},        // Squid: TCP_REFRESH_UNMODIFIED
	{[]byte("refresh_modified"), stream.ServedMiss}, // Squid
	{[]byte("hit"), stream.ServedHit},               // also RefreshHit, TCP_MEM_HIT, REMOTE_HIT
	{[]byte("stale"), stream.ServedHit},             // nginx and Cloudflare
	{[]byte("updating"), stream.ServedHit},          // likewise: stale, while it is updated
	{[]byte("revalidated"), stream.ServedHit},       // likewise
	{[]byte("refresh_fail"), stream.ServedHit},      // Squid: the old object was sent
}

// Served returns what a text of a log says that the server's own cache found: "HIT", "TCP_MEM_HIT", "RefreshHit",
// "EXPIRED", in any case. Of several caches, as in "MISS, HIT", the last is the one that wrote the log.
// The words are those of $upstream_cache_status (nginx, module http_upstream), the result codes of Squid (wiki,
// SquidLogs), x-edge-result-type (Amazon CloudFront), fastly_info.state (Fastly), CacheCacheStatus (Cloudflare),
// cacheStatus (Azure Front Door), Varnish:hitmiss (varnishncsa), and Cache-Status (RFC 9211).
func Served(text []byte) stream.Served {
	if at := bytes.LastIndexByte(text, ','); at >= 0 {
		text = text[at+1:]
	}
	if len(text) > longestServed {
		text = text[len(text)-longestServed:]
	}
	var buffer [longestServed]byte
	lower := buffer[:len(text)]
	for i, c := range text {
		lower[i] = lowerCase(c)
	}
	for i := range servedWords {
		if bytes.Contains(lower, servedWords[i].word) {
			return servedWords[i].served
		}
	}
	return stream.ServedUnknown
}

func lowerCase(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}
