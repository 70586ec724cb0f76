package policies

import "strings"

// program is a name that users know from a program, with the policy that stands for it.
type program struct {
	names  string // separated by spaces
	policy string
	what   string // what the program does
}

// programs are names by which users ask for the policy of a program or of a setting.
var programs = []program{
	{"keydb dragonfly", "redis", "it has Redis' commands, and other memory"},
	{"allkeys-lru allkeys-lfu allkeys-random volatile-lru volatile-lfu volatile-random volatile-ttl noeviction",
		"'redis(policy=allkeys-lfu)', with the name in the place of allkeys-lfu", "it is a setting of Redis"},
	{"groupcache golang-lru apache-httpd lru-cache cachetools-lru", "lru", "it evicts what was used longest ago"},
	{"rocksdb", "lru", "RocksDB's LRUCache is lru, its HyperClockCache near to clock"},
	{"zfs", "arc", "the ARC of ZFS"},
	{"postgresql postgres", "clock", "PostgreSQL sweeps its buffers and counts uses"},
	{"innodb mysql mariadb", "slru", "InnoDB inserts pages in the middle of its list"},
	{"vllm-apc automatic-prefix-caching", "vllm", "the prefix cache of vLLM"},
	{"sglang radix radixattention", "sglang-lru", "the radix cache of SGLang"},
	{"lmcache", "lmcache-lru", "the default of LMCache"},
	{"trtllm tensorrt", "tensorrt-llm", "the block cache of TensorRT-LLM"},
	{"min optimal optimum", "opt", "Belady's optimum"},
}

// standIn says which policy stands for a program; "" if the name is none of one.
func standIn(name string) string {
	for _, p := range programs {
		for known := range strings.FieldsSeq(p.names) {
			if strings.EqualFold(known, name) {
				return "write " + p.policy + ", which stands for it: " + p.what
			}
		}
	}
	return ""
}

func init() { Registry.Advise = standIn }
