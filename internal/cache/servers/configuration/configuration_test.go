package configuration_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/servers"
	"github.com/cachesim/cachesim/internal/cache/servers/configuration"
	"github.com/cachesim/cachesim/internal/policies"
)

// TestImport: settings as configurations and statistics have them.
func TestImport(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"# maxmemory 1gb\nmaxmemory 8gb\nmaxmemory-policy allkeys-lfu\nmaxmemory-samples 10\n",
			"redis(maxmemory=8gb,policy=allkeys-lfu,samples=10)"},
		{"redis_version:7.0.15\nmaxmemory:8388608\nmaxmemory_policy:volatile-ttl\n",
			"redis(maxmemory=8mb,policy=volatile-ttl,version=7.0)"},
		{"redis_version:7.2.4\nserver_name:valkey\nvalkey_version:8.1.1\nmaxmemory:1000000\n",
			"valkey(maxmemory=1000000,version=8.1)"},
		{"STAT version 1.6.18\r\nSTAT limit_maxbytes 67108864\r\n",
			"memcached(m=64m)"},
		{"STAT maxbytes 1073741824\nSTAT item_size_max 1048576\nSTAT growth_factor 1.08\nSTAT slab_automove 0\n" +
			"STAT cas_enabled no\n",
			"memcached(m=1g,f=1.08,C=true,automove=false)"},
		{"proxy_cache_path /c levels=1:2 keys_zone=one:10m max_size=10g inactive=60m;\nproxy_cache_min_uses 2;\n",
			"nginx(max_size=10g,inactive=60m,min_uses=2,keys_zone=10m)"},
		{"cache_mem 256 MB\nmemory_replacement_policy heap GDSF\n",
			"squid(cache_mem=256m,policy=heap-GDSF)"},
		{"ExecStart=/usr/sbin/varnishd -a :80 -s malloc,1g -p nuke_limit=100\n",
			"varnish(malloc=1g,nuke_limit=100)"},
		{"[mysqld]\ninnodb_buffer_pool_size = 2G\ninnodb_page_size=8k\ninnodb_old_blocks_pct = 20\n",
			"innodb(innodb_buffer_pool_size=2g,page_size=8192,old_blocks_pct=20)"},
		{"innodb_buffer_pool_size\t134217728\n", "innodb(innodb_buffer_pool_size=128m)"},
		{"#shared_buffers = 1GB\nshared_buffers = 128MB\t\t# min 128kB\n", "postgresql(shared_buffers=128m)"},
		{"shared_buffers = 16384\n", "postgresql(shared_buffers=128m)"},
		{"SMA.s0.g_bytes  1048576 .\nSMA.s0.g_space 3145728 .\n",
			"varnish(malloc=4m)"},
	} {
		got, notes, err := configuration.Import(strings.NewReader(c.text), "f")
		if got != c.want || len(notes) > 0 || err != nil {
			t.Errorf("%q:\n%s, %v, %v, want\n%s", c.text, got, notes, err, c.want)
		}
	}
	unlimited := []string{"states no limit of its memory: say what it has, as --capacity"}
	got, notes, err := configuration.Import(strings.NewReader("redis_version:8.4.0\nmaxmemory:0\n"), "f")
	if got != "redis" || !slices.Equal(notes, unlimited) || err != nil {
		t.Errorf("without a limit: %s, %q, %v", got, notes, err)
	}
	got, notes, err = configuration.Import(strings.NewReader("port 6379\nappendonly no\n# maxmemory <bytes>\n"), "f")
	if got != "redis" || !slices.Equal(notes, unlimited) || err != nil {
		t.Errorf("a configuration as it comes: %s, %q, %v", got, notes, err)
	}
	_, _, err = configuration.Import(strings.NewReader("hello\n"), "f")
	must.Fail(t, err, "f: has no settings of a server")
	_, _, err = configuration.Import(strings.NewReader("maxmemory 1gb\nmaxmemory-samples 1000000\n"), "f")
	must.Fail(t, err, "samples")
}

// TestImportedFile: stats, then stats settings, of memcached 1.6.18.
func TestImportedFile(t *testing.T) {
	const settings = "STAT maxbytes 33554432\nSTAT ext_item_size 512\nSTAT ext_item_age 4294967295\nSTAT ext_low_ttl 0\n" +
		"STAT ext_recache_rate 100\nSTAT ext_wbuf_size 4194304\nSTAT ext_compact_under 2\nSTAT ext_drop_under 2\n" +
		"STAT ext_max_sleep 1000000\nSTAT ext_max_frag 0.80\nSTAT slab_automove_freeratio 0.010\nSTAT ext_drop_unread no\n"
	const file = "STAT extstore_page_allocs 0\nSTAT extstore_pages_free 7\nSTAT extstore_pages_used 1\n" +
		"STAT extstore_limit_maxbytes 536870912\n"
	const limit = "STAT extstore_limit_maxbytes 536870912\n"
	noPages := "STAT extstore_pages_free 0\nSTAT extstore_pages_used 0\n" + limit
	plain := strings.ReplaceAll(settings, "_under 2", "_under 0")
	const server = "memcached(m=32m,ext_path=extstore:512m,"
	for _, c := range []struct{ text, want, note string }{
		{file + settings, server + "ext_recache_rate=100)", ""},
		{limit + settings, server + "ext_recache_rate=100)", "the pages of its file are: 64 MB, as memcached comes"},
		{noPages + settings, server + "ext_recache_rate=100)", "the pages of its file are: 64 MB, as memcached comes"},
		{noPages + "STAT maxbytes 33554432\n", strings.TrimSuffix(server, ",") + ")", "the pages of its file are: 64 MB"},
		{limit + "STAT ext_page_size 8388608\n" + strings.ReplaceAll(settings, "_under 2", "_under 16"),
			server + "ext_page_size=8,ext_recache_rate=100)", ""},
		{settings, "memcached(m=32m)", "has extstore, and does not say how large its file is: without ext_path=FILE:SIZE " +
			"and ext_page_size it is left out, with ext_recache_rate=100,ext_compact_under=2,ext_drop_under=2; import"},
		{strings.ReplaceAll(limit, "536870912", "67108864") + settings, "memcached(m=32m)",
			"does not say how large the pages of its file of 64 MB are"},
		{strings.ReplaceAll(plain, "_rate 100", "_rate 2000"), "memcached(m=32m)", ""},
	} {
		got, notes, err := configuration.Import(strings.NewReader(c.text), "f")
		note := strings.Join(notes, "\n")
		if got != c.want || err != nil || (note == "") != (c.note == "") || !strings.Contains(note, c.note) {
			t.Errorf("%s\n%s, %v, want %s\n%q, want %q", c.text, got, err, c.want, note, c.note)
		}
		must.Get(policies.Registry.Parse(must.Get(servers.ParseList(got))(t).Policies[0]))(t)
	}
}

func FuzzImport(f *testing.F) {
	f.Add("maxmemory 8gb\n")
	f.Add("SMA.s0.g_bytes 99999999999999999999\nSTAT maxbytes 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		server, _, err := configuration.Import(strings.NewReader(text), "f")
		if err != nil {
			return
		}
		must.Get(servers.ParseList(server))(t)
	})
}
