package source

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

func TestParseServed(t *testing.T) {
	for word, want := range map[string]stream.Served{
		"HIT": stream.ServedHit, "hit": stream.ServedHit, "TCP_HIT": stream.ServedHit, "TCP_MEM_HIT": stream.ServedHit,
		"TCP_MEM_HIT/200": stream.ServedHit, "TCP_REFRESH_UNMODIFIED": stream.ServedHit, "RefreshHit": stream.ServedHit,
		"HIT-CLUSTER": stream.ServedHit, "true": stream.ServedHit, "hit, stale": stream.ServedHit, "1": stream.ServedHit,
		"TCP_IMS_HIT": stream.ServedHit, "STALE": stream.ServedHit, "REMOTE_HIT": stream.ServedHit,
		"CACHE_HIT": stream.ServedHit,
		"MISS":      stream.ServedMiss, "TCP_MISS": stream.ServedMiss, "MISS-WAIT": stream.ServedMiss,
		"EXPIRED": stream.ServedMiss, "TCP_CLIENT_REFRESH_MISS": stream.ServedMiss, "False": stream.ServedMiss,
		"0": stream.ServedMiss,
		"-": stream.ServedUnknown, "": stream.ServedUnknown, "BYPASS": stream.ServedPass, "PASS": stream.ServedPass,
		"dynamic": stream.ServedPass, "hit-for-pass": stream.ServedPass, "PRIVATE_NOSTORE": stream.ServedPass,
		"CACHE_NOCONFIG": stream.ServedPass, "UNCACHEABLE": stream.ServedPass, "pipe": stream.ServedPass,
		"Edge; fwd=bypass": stream.ServedPass, "Edge; fwd=bypass; stored": stream.ServedMiss,
		"Edge; fwd=uri-miss; stored": stream.ServedMiss,
		"TCP_TUNNEL":                 stream.ServedUnknown, "TCP_DENIED/403": stream.ServedUnknown,
		"REVALIDATED": stream.ServedHit, "REVALIDATE from h": stream.ServedHit, "INVALIDATE from h": stream.ServedMiss,
		"UPDATING": stream.ServedHit, "TCP_REFRESH_MISS": stream.ServedMiss,
		"TCP_REFRESH_MODIFIED": stream.ServedMiss, "TCP_REFRESH_FAIL_ERR": stream.ServedMiss,
		"TCP_REFRESH_FAIL_OLD": stream.ServedHit, "NONE_NONE": stream.ServedUnknown, "Error": stream.ServedUnknown,
		"HITPASS": stream.ServedPass, "PARTIAL_HIT": stream.ServedMiss, "MISS, HIT": stream.ServedHit,
		"hit, miss": stream.ServedMiss, "Edge; fwd=uri-miss": stream.ServedMiss, "Edge; hit": stream.ServedHit,
		strings.Repeat("miss ", 99) + "hit":                                      stream.ServedMiss,
		strings.Repeat("miss", 99) + strings.Repeat(" -", longestServed) + "hit": stream.ServedHit,
	} {
		if got := ParseServed([]byte(word)); got != want {
			t.Errorf("%q: %v, want %v", word, got, want)
		}
	}
	word := []byte("TCP_REFRESH_UNMODIFIED/304")
	if n := testing.AllocsPerRun(100, func() { ParseServed(word) }); n > 0 {
		t.Errorf("%v allocations per word", n)
	}
}
