// Package configuration reads the settings of a server from its configuration, or from what it says of itself. It
// returns them as lists of servers have them.
package configuration

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/servers"
)

// mostConfiguration is how much is read of a configuration, in bytes.
const mostConfiguration = 1 << 22

// settings are settings of one server that were found, by the names of its parameters.
type settings struct {
	server string
	memory string // the value of its memory; "" if it has none, 0 for no limit
	values map[string]string
}

// line is a setting as a program writes it: a pattern with the name and the value, and what it is here.
type line struct {
	pattern *regexp.Regexp
	server  string
	name    string // of the parameter; memory for that of the memory, "" for what only tells the server
	value   func(string) string
}

const memory = "memory"

// inBytes writes 16k as a number of bytes.
func inBytes(value string) string {
	n, err := redis().Unit(value)
	if err != nil {
		return value
	}
	return strconv.FormatInt(n, 10)
}

// inUnits writes 1048576 as 1m.
func inUnits(value string) string {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		return memcached().MemoryText(n)
	}
	return value
}

// inMegabytes writes 4194304 as 4.
func inMegabytes(value string) string {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return value
	}
	return strconv.FormatInt(n>>20, 10)
}

// inPages reads PostgreSQL's setting, in pages of 8 kB unless it has a unit.
func inPages(value string) string {
	if n, err := strconv.ParseInt(value, 10, 32); err == nil {
		return strconv.FormatInt(n*8192, 10)
	}
	return value
}

func asIs(value string) string { return value }

// isOn reads yes and no, 1 and 0; isOff is its opposite.
func isOn(value string) string {
	return strconv.FormatBool(slices.Contains([]string{"yes", "1", "2", "on"}, value))
}

func isOff(value string) string { return strconv.FormatBool(isOn(value) == "false") }

// versionOf returns the newest version of a server that is not newer than a text.
func versionOf(server string) func(string) string {
	k, _ := servers.Find(server)
	at := slices.IndexFunc(k.Params, func(p params.Param) bool { return p.Name == "version" })
	known := k.Params[at].Choices // the newest first
	return func(text string) string {
		for _, v := range known {
			if newer(text, v) {
				return v
			}
		}
		return known[len(known)-1]
	}
}

func redis() servers.Kind     { k, _ := servers.Find("redis"); return k }
func memcached() servers.Kind { k, _ := servers.Find("memcached"); return k }

// newer reports whether version a is b or newer; both are major.minor.
func newer(a, b string) bool {
	var majorA, minorA, majorB, minorB int
	fmt.Sscanf(a, "%d.%d", &majorA, &minorA)
	fmt.Sscanf(b, "%d.%d", &majorB, &minorB)
	return majorA > majorB || majorA == majorB && minorA >= minorB
}

func of(pattern, server, name string, value func(string) string) line {
	return line{regexp.MustCompile(`(?i)^\s*` + pattern), server, name, value}
}

// lines are what configurations and statistics say. Those of INFO come first: they name the server. Only Import needs
// them compiled.
var lines = sync.OnceValue(func() []line {
	return []line{
		of(`valkey_version:(\S+)`, "valkey", "version", versionOf("valkey")),
		of(`redis_version:(\S+)`, "redis", "version", versionOf("redis")),
		of(`maxmemory[: ]\s*"?([0-9][0-9a-z]*)`, "redis", memory, asIs),
		of(`maxmemory[-_]policy[: ]\s*"?([a-z-]+)`, "redis", "policy", asIs),
		of(`maxmemory-samples\s+([0-9]+)`, "redis", "samples", asIs),
		of(`lfu-log-factor\s+([0-9]+)`, "redis", "lfu-log-factor", asIs),
		of(`lfu-decay-time\s+([0-9]+)`, "redis", "lfu-decay-time", asIs),
		of(`(?:dbfilename|rdbcompression|appendonly|tcp-backlog|databases)\s+(\S+)`, "redis", "", asIs),
		of(`STAT (?:limit_maxbytes|maxbytes) ([0-9]+)`, "memcached", memory, func(v string) string { return v + "b" }),
		of(`STAT growth_factor ([0-9.]+)`, "memcached", "f", asIs),
		of(`STAT chunk_size ([0-9]+)`, "memcached", "n", asIs),
		of(`STAT item_size_max ([0-9]+)`, "memcached", "I", inUnits),
		of(`STAT cas_enabled (\S+)`, "memcached", "C", isOff),
		of(`STAT slab_automove (\S+)`, "memcached", "automove", isOn),
		of(`STAT lru_segmented (\S+)`, "memcached", "no_modern", isOff),
		of(`STAT extstore_limit_maxbytes ([0-9]+)`, "memcached", fileBytes, asIs),
		of(`STAT extstore_pages_free ([0-9]+)`, "memcached", filePagesFree, asIs),
		of(`STAT extstore_pages_used ([0-9]+)`, "memcached", filePagesUsed, asIs),
		of(`STAT ext_page_size ([0-9]+)`, "memcached", pageSize, inMegabytes),
		of(`STAT ext_wbuf_size ([0-9]+)`, "memcached", "ext_wbuf_size", inMegabytes),
		of(`STAT ext_drop_unread (\S+)`, "memcached", "ext_drop_unread", isOn),
		of(`STAT ext_item_size ([0-9]+)`, "memcached", "ext_item_size", asIs),
		of(`STAT ext_item_age ([0-9]+)`, "memcached", "ext_item_age", asIs),
		of(`STAT ext_low_ttl ([0-9]+)`, "memcached", "ext_low_ttl", asIs),
		of(`STAT ext_recache_rate ([0-9]+)`, "memcached", "ext_recache_rate", asIs),
		of(`STAT ext_compact_under ([0-9]+)`, "memcached", "ext_compact_under", asIs),
		of(`STAT ext_drop_under ([0-9]+)`, "memcached", "ext_drop_under", asIs),
		of(`STAT ext_max_sleep ([0-9]+)`, "memcached", "ext_max_sleep", asIs),
		of(`STAT ext_max_frag ([0-9.]+)`, "memcached", "ext_max_frag", asIs),
		of(`STAT slab_automove_freeratio ([0-9.]+)`, "memcached", "slab_automove_freeratio", asIs),
		of(`innodb_buffer_pool_size[\s=]+"?([0-9]+[kmgtKMGT]?)`, "innodb", memory, asIs),
		of(`innodb_page_size[\s=]+"?([0-9]+[kK]?)`, "innodb", "page_size", inBytes),
		of(`innodb_old_blocks_pct[\s=]+"?([0-9]+)`, "innodb", "old_blocks_pct", asIs),
		of(`innodb_old_blocks_time[\s=]+"?([0-9]+)`, "innodb", "old_blocks_time", asIs),
		of(`(\[mysqld\]|innodb_\w+)`, "innodb", "", asIs),
		of(`shared_buffers\s*=\s*'?([0-9]+ *(?:[kmgt]?b)?)`, "postgresql", memory, inPages),
		of(`block_size\s*=\s*'?([0-9]+)`, "postgresql", "block_size", asIs),
		of(`.*\bmax_size=([0-9]+[kmgKMG]?)`, "nginx", memory, asIs),
		of(`.*\bkeys_zone=[^:\s]+:([0-9]+[kmgKMG]?)`, "nginx", "keys_zone", asIs),
		of(`.*\binactive=([0-9a-z]+)`, "nginx", "inactive", asIs),
		of(`.*\bmanager_files=([0-9]+)`, "nginx", "manager_files", asIs),
		of(`proxy_cache_min_uses\s+([0-9]+)`, "nginx", "min_uses", asIs),
		of(`cache_mem\s+([0-9]+ *[kmg]?b?)`, "squid", memory, asIs),
		of(`memory_replacement_policy\s+(lru|heap +\S+)`, "squid", "policy", asIs),
		of(`maximum_object_size_in_memory\s+([0-9]+ *[kmg]?b)`, "squid", "max_in_memory", asIs),
		of(`.*-s\s*(?:\w+=)?malloc,([0-9]+[kmgt]?)`, "varnish", memory, asIs),
		of(`.*\blru_interval[ =]+([0-9.]+)`, "varnish", "lru_interval", asIs),
		of(`.*\bnuke_limit[ =]+([0-9]+)`, "varnish", "nuke_limit", asIs),
		of(`.*\bdefault_grace[ =]+([0-9.]+)`, "varnish", "grace", asIs),
		of(`.*\bdefault_keep[ =]+([0-9.]+)`, "varnish", "keep", asIs),
		of(`.*\bshortlived[ =]+([0-9.]+)`, "varnish", "shortlived", asIs),
	}
})

// space reads varnishstat: the bytes that malloc has given and those that are left are its size.
var space = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*SMA\.s0\.g_(?:bytes|space)\s+([0-9]+)`)
})

// Import reads the settings of a server from its configuration (redis.conf, nginx.conf, squid.conf, my.cnf,
// postgresql.conf, the command line of varnishd) or from what it says of itself (INFO, stats settings, param.show,
// varnishstat), and returns it as servers.ParseList reads it, with what a user should know of the text.
func Import(r io.Reader, name string) (server string, notes []string, err error) {
	s := settings{values: map[string]string{}}
	var malloc int64
	text := bufio.NewScanner(io.LimitReader(r, mostConfiguration))
	text.Buffer(nil, mostConfiguration)
	for text.Scan() {
		row := text.Text()
		if strings.HasPrefix(strings.TrimSpace(row), "#") {
			continue
		}
		if m := space().FindStringSubmatch(row); m != nil && s.is("varnish") {
			n, _ := strconv.ParseInt(m[1], 10, 64)
			malloc += n
			s.memory = strconv.FormatInt(malloc, 10)
		}
		s.read(row)
	}
	if err := text.Err(); err != nil {
		return "", nil, fmt.Errorf("%s: %w; want a configuration or statistics of a server", name, err)
	}
	if s.server == "" {
		return "", nil, fmt.Errorf("%s: has no settings of a server; want redis.conf, INFO of Redis or Valkey, stats "+
			"settings of memcached, nginx.conf, squid.conf, my.cnf, postgresql.conf, or param.show, varnishstat or the "+
			"command line of varnishd", name)
	}
	return s.text(name)
}

// is reports whether settings of a server belong to what was found so far. Valkey has those of Redis.
func (s *settings) is(server string) bool {
	if s.server == "" || s.server == "redis" && server == "valkey" {
		s.server = server
	}
	return s.server == server || s.server == "valkey" && server == "redis"
}

func (s *settings) read(row string) {
	for _, l := range lines() {
		m := l.pattern.FindStringSubmatch(row)
		if m == nil || s.server == "valkey" && l.name == "version" && l.server == "redis" || !s.is(l.server) {
			continue
		}
		switch value := l.value(m[1]); l.name {
		case "":
		case memory:
			s.memory = value
		default:
			s.values[l.name] = value
		}
	}
}

// text returns the server with the settings that differ from the defaults.
func (s *settings) text(name string) (server string, notes []string, err error) {
	k, _ := servers.Find(s.server)
	if k.Name == memcached().Name {
		notes = s.addFile()
	}
	var all []string
	if s.memory == "" || strings.Trim(s.memory, "0b") == "" {
		notes = append(notes, "states no limit of its memory: say what it has, as --capacity")
	} else {
		value := s.memory
		if n, err := k.Unit(value); err == nil {
			value = k.MemoryText(n)
		}
		all = append(all, k.Memory+"="+value)
	}
	for _, p := range k.Params {
		written, ok := s.values[p.Name]
		if !ok {
			continue
		}
		value := strings.Join(strings.Fields(written), "-")
		parsed, err := p.Parse(value)
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", name, err)
		}
		if parsed != p.Default {
			all = append(all, params.Format([]params.Param{p}, params.Values{p.Name: parsed}))
		}
	}
	if len(all) == 0 {
		return k.Name, notes, nil
	}
	server = k.Name + "(" + strings.Join(all, ",") + ")"
	if _, err := servers.ParseList(server); err != nil {
		return "", nil, errors.New(name + ": " + err.Error())
	}
	return server, notes, nil
}
