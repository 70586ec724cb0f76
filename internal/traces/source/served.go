package source

import (
	"bytes"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// servedWords say what a server found in its own cache, in lower case. It is a hit if the body came from the cache,
// even if the origin was asked whether it is still valid, and a miss if it came from the origin. Sources: the
// documentation of nginx's $upstream_cache_status, Squid's result codes, CloudFront's x-edge-result-type, Cloudflare's
// CacheCacheStatus, Fastly's fastly_info.state, Azure's cacheStatus and Apache's cache-status.
var servedWords = map[string]stream.Served{
	"hit": stream.ServedHit, "true": stream.ServedHit, "1": stream.ServedHit, "yes": stream.ServedHit,
	"stale": stream.ServedHit, "updating": stream.ServedHit, "revalidated": stream.ServedHit,
	"refreshhit": stream.ServedHit, "refresh_unmodified": stream.ServedHit, "memory_hit": stream.ServedHit,
	"remote_hit": stream.ServedHit, "originshieldhit": stream.ServedHit, "partial_hit": stream.ServedHit,

	"miss": stream.ServedMiss, "false": stream.ServedMiss, "0": stream.ServedMiss, "no": stream.ServedMiss,
	"expired": stream.ServedMiss, "refresh_miss": stream.ServedMiss, "refresh_modified": stream.ServedMiss,
	"client_refresh_miss": stream.ServedMiss, "swapfail_miss": stream.ServedMiss, "invalidated": stream.ServedMiss,
}

// ParseServed returns what a word such as HIT, TCP_MEM_HIT, Miss or false says about the cache of the server, and
// ServedUnknown if it says nothing: "-", and BYPASS and others for requests that passed by the cache. Case does not
// matter, nor does a prefix TCP_ or UDP_, nor what follows a slash, a comma or a blank, as in TCP_MISS/200.
func ParseServed(word []byte) stream.Served {
	const longest = 40
	if i := bytes.IndexAny(word, "/,; "); i > 0 {
		word = word[:i]
	}
	if len(word) > longest {
		return stream.ServedUnknown
	}
	var buffer [longest]byte
	lower := buffer[:0]
	for _, c := range word {
		if c >= 'A' && c <= 'Z' {
			c |= ' '
		}
		lower = append(lower, c)
	}
	for _, prefix := range []string{"tcp_", "udp_", "cache_"} {
		lower = bytes.TrimPrefix(lower, []byte(prefix))
	}
	if served, ok := servedWords[string(lower)]; ok {
		return served
	}
	return servedLike(lower)
}

// servedLike judges by the beginning or the end of a word that is made of several.
func servedLike(word []byte) stream.Served {
	for _, like := range []struct {
		begins, ends string
		is           stream.Served
	}{{"hit-", "_hit", stream.ServedHit}, {"miss-", "_miss", stream.ServedMiss}} {
		if bytes.HasPrefix(word, []byte(like.begins)) || bytes.HasSuffix(word, []byte(like.ends)) {
			return like.is
		}
	}
	return stream.ServedUnknown
}
