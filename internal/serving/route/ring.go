package route

import (
	"cmp"
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
)

// vnodesParam is how many points a node has on a ring, and namesParam what they are hashes of.
var (
	vnodesParam = params.Param{Name: "vnodes", Default: 160, Min: 4, Max: 1 << 16,
		Doc: "points of each node on the ring; of ketama a multiple of 4"}
	namesParam = params.Param{Name: "names", Default: "", Doc: "names of the nodes as the program writes them, with " +
		"plus signs between them, as in 10.0.0.1:11211+10.0.0.2:11211, which is the default: the ring depends on them"}
)

var ringEntry = Entry{
	Name: "ring", Summary: "the node of the next point on a ring of hashes, on which each node has many: if the nodes " +
		"change, only the keys between points move",
	Source: "ketama of libketama, libmemcached and spymemcached: MD5 of NAME-0, NAME-1, ..., four points each; or hash " +
		"consistent of nginx 1.26, ngx_http_upstream_hash_module.c: a chain of CRC-32",
	Params: []params.Param{vnodesParam,
		{Name: "as", Default: "ketama", Choices: []string{"ketama", "nginx"}, Doc: "the program whose ring it is"},
		namesParam},
	Check: func(v params.Values) error {
		if n := v.Int(vnodesParam.Name); n%4 != 0 && v.Text("as") == "ketama" {
			return fmt.Errorf("vnodes=%d: ketama takes four points from each hash; want a multiple of 4", n)
		}
		return nil
	},
	Place: func(c PlaceConfig) (Placement, error) {
		names, err := namesOf(c.Params.Text(namesParam.Name), c.Nodes)
		if err != nil {
			return nil, err
		}
		points, key := ketamaPoints, ketamaHash
		if c.Params.Text("as") == "nginx" {
			points, key = nginxPoints, nginxHash
		}
		keys := hashes(c, key)
		return newByKey(c, func(nodes []uint16, home []uint16) {
			ring := newRing(nodes, names, c.Params.Int(vnodesParam.Name), points)
			for o, key := range keys {
				home[o] = ring.after(key)
			}
		}), nil
	},
}

// namesOf returns the names of nodes: those that the user gave, or addresses.
func namesOf(given string, nodes int) (names []string, err error) {
	if given == "" {
		for k := range nodes {
			names = append(names, fmt.Sprintf("10.0.%d.%d:11211", (k+1)>>8, (k+1)&255))
		}
		return names, nil
	}
	names = strings.Split(given, "+")
	for i, name := range names {
		if name == "" || slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("names=%s: %q is empty or listed twice; want a name of its own for each node", given, name)
		}
	}
	if len(names) < nodes {
		return nil, fmt.Errorf("names=%s: %d names for %d nodes; want one for each", given, len(names), nodes)
	}
	return names, nil
}

// ring is the points of nodes in ascending order.
type ring []point

type point struct {
	at   uint32
	node uint16
}

// newRing returns the points of nodes. Of equal ones the first remains, which is that of the lower node.
func newRing(nodes []uint16, names []string, vnodes int, points func(name string, n int) []uint32) (r ring) {
	for _, node := range nodes {
		for _, at := range points(names[node], vnodes) {
			r = append(r, point{at, node})
		}
	}
	slices.SortStableFunc(r, func(a, b point) int { return cmp.Compare(a.at, b.at) })
	return slices.CompactFunc(r, func(a, b point) bool { return a.at == b.at })
}

// after returns the node of the first point at or after a hash, that of the first one after the last.
func (r ring) after(hash uint32) uint16 {
	i := r.index(hash)
	if i == len(r) {
		i = 0
	}
	return r[i].node
}

// index returns the place of the first point at or after a hash: that after all if there is none.
func (r ring) index(hash uint32) int {
	i, _ := slices.BinarySearchFunc(r, hash, func(p point, hash uint32) int { return cmp.Compare(p.at, hash) })
	return i
}

// ketamaPoints returns n points of a node: each MD5 gives four numbers.
func ketamaPoints(name string, n int) (points []uint32) {
	for i := range n / 4 {
		sum := md5.Sum(fmt.Appendf(nil, "%s-%d", name, i))
		for part := range 4 {
			points = append(points, binary.LittleEndian.Uint32(sum[4*part:]))
		}
	}
	return points
}

func ketamaHash(key string) uint32 {
	sum := md5.Sum([]byte(key))
	return binary.LittleEndian.Uint32(sum[:])
}

// nginxPoints returns n points of a node: the CRC-32 of host, a zero byte, port and the point before.
func nginxPoints(name string, n int) (points []uint32) {
	host, port := name, ""
	if i := strings.LastIndexByte(name, ':'); i >= 0 && !strings.HasPrefix(name, "unix:") &&
		strings.Trim(name[i+1:], "0123456789") == "" {
		host, port = name[:i], name[i+1:]
	}
	base := fmt.Appendf(nil, "%s\x00%s", strings.TrimPrefix(host, "unix:"), port)
	last := make([]byte, 4)
	for range n {
		at := crc32.ChecksumIEEE(slices.Concat(base, last))
		points = append(points, at)
		binary.LittleEndian.PutUint32(last, at)
	}
	return points
}

func nginxHash(key string) uint32 { return crc32.ChecksumIEEE([]byte(key)) }
