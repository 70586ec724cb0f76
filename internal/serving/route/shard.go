package route

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var shardEntry = Entry{
	Name: "shard", Summary: "the node of the next point on the ring of Varnish's shard director; with warmup, now and " +
		"then that which would take its place",
	Source: "vmod_directors_shard_dir.c, vmod_directors_shard_cfg.c of Varnish 7.1; held against it, without rampup",
	Params: []params.Param{
		{Name: "vnodes", Default: 67, Min: 1, Max: 1 << 16, Doc: "replicas of reconfigure: points of each node"},
		{Name: "by", Default: "hash", Choices: []string{"hash", "url"}, Doc: "what is looked up: the hash of URL and host " +
			"that vcl_hash makes, or the URL alone"},
		{Name: "warmup", Default: 0.0, Min: 0, Max: 1, Doc: "share of the requests that the next node on the ring serves, " +
			"so that it has some of what it would get"},
		{Name: "names", Default: "", Doc: "names of the backends in VCL with plus signs between them, as in b0+b1, which " +
			"is the default: the ring depends on them"},
	},
	Random: true,
	Homes: func(v params.Values) int {
		if v.Float("warmup") > 0 {
			return 2
		}
		return 1
	},
	Place: placeByShard,
}

func placeByShard(c PlaceConfig) (Placement, error) {
	given := c.Params.Text(namesParam.Name)
	if given == "" {
		all := make([]string, c.Nodes)
		for i := range all {
			all[i] = "b" + strconv.Itoa(i)
		}
		given = strings.Join(all, "+")
	}
	names, err := namesOf(given, c.Nodes)
	if err != nil {
		return nil, err
	}
	key := varnishHash
	if c.Params.Text("by") == "url" {
		key = func(key string) uint32 { return shardHash(urlOf(key)) }
	}
	return &shard{names: names, vnodes: c.Params.Int("vnodes"), warmup: c.Params.Float("warmup"), keys: hashes(c, key),
		draws: random.NewDraws(c.Seed)}, nil
}

// shard is Varnish's shard director.
type shard struct {
	names  []string
	vnodes int
	warmup float64
	keys   []uint32
	each   int      // nodes of a key
	homes  []uint16 // per object: its node, and the next one
	draws  random.Draws
}

func (p *shard) Use(nodes []uint16) {
	ring := newRing(nodes, p.names, p.vnodes, shardPoints)
	p.each, p.homes = 1, p.homes[:0]
	if p.warmup > 0 && len(nodes) > 1 {
		p.each = 2
	}
	for _, key := range p.keys {
		at := min(ring.index(key), len(ring)-1) // Varnish's search ends at the last point, and not at the first
		p.homes = append(p.homes, ring[at].node)
		if p.each == 1 {
			continue
		}
		for next := at; ; next = (next + 1) % len(ring) {
			if ring[next].node != ring[at].node {
				p.homes = append(p.homes, ring[next].node)
				break
			}
		}
	}
}

func (p *shard) Homes(o dense.Object) []uint16 { return p.homes[int(o)*p.each:][:p.each] }

func (p *shard) Pick(homes []uint16) uint16 {
	const odds = 1 << 31
	if len(homes) > 1 && float64(p.draws.Below(odds)) < p.warmup*odds {
		return homes[1]
	}
	return homes[0]
}

// shardPoints returns n points of a node: hashes of its name and of 0, 1, ...
func shardPoints(name string, n int) (points []uint32) {
	for i := range n {
		points = append(points, shardHash(name+strconv.Itoa(i)))
	}
	return points
}

// shardHash is Varnish's hash of 32 bits: the end of a SHA-256.
func shardHash(text string) uint32 {
	sum := sha256.Sum256([]byte(text))
	return binary.LittleEndian.Uint32(sum[len(sum)-4:])
}

// urlOf returns the URL of a key with a host or without one.
func urlOf(key string) string {
	if i := strings.IndexByte(key, '/'); i > 0 {
		return key[i:]
	}
	return key
}

// varnishHash is the beginning of the hash that Varnish gives to a URL and its host: each ends with a zero byte.
func varnishHash(key string) uint32 {
	const end = "\x00"
	url := urlOf(key)
	text := url + end
	if host := strings.TrimSuffix(key, url); host != "" {
		text += host + end
	}
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint32(sum[:])
}
