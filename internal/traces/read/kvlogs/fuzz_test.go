package kvlogs_test

import (
	"testing"

	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// FuzzStores reads every log of a store.
func FuzzStores(f *testing.F) {
	tracetest.FuzzAll(f, []string{"redis", "memcached", "mcrouter"},
		"OK\n1700000000.107412 [0 127.0.0.1:60866] \"mget\" \"a\" \"b\"\n",
		"7 [3 [::1]:1] \"set\" \"\\x00\\\"\" \"\" \"EXAT\" \"9\"\n",
		"7 [0 x] \"bitop\" \"or\" \"a\" \"b\"\n",
		"OK\nts=7.5 gid=1 type=item_get key=a%3A1 status=not_found clsid=0\n"+
			"ts=2.1 gid=3 type=item_store key=a status=stored cmd=set ttl=60 clsid=1 cfd=9 size=5\n",
		"ts=1.0 gid=5 type=proxy_req elapsed=9 type=104 code=8 status=0 be=h:1 detail=x req=set a 0 2592010 5\n",
		tracetest.ExampleOf(f, "mcrouter"),
		"I20260229 00:00:60.5 1 L.h:6] request key: a response: found responseLength: 1 user ip: ::1\n")
}
