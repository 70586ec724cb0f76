package route

import (
	"crypto/md5"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// keyed is the key of an object in these tests.
func keyed(o dense.Object) string { return fmt.Sprintf("key:%d", o) }

func placed(t must.TB, call string, objects int) (Spec, Placement) {
	t.Helper()
	spec := must.Get(Registry.Parse(call))(t)
	p := must.Get(NewPlacement(spec, objects, keyed, 1))(t)
	p.Use(EpochsOf(spec)[0].Nodes)
	return spec, p
}

// The rings are those of the programs: of libmemcached 1.1.4 with MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED the nodes of the
// first 20 keys, and how many of 100,000 each has; of nginx 1.22.1 the first 40 keys, and how many of 2000.
func TestRingsAreThoseOfThePrograms(t *testing.T) {
	const nginx = "names=127.0.0.1:18001+127.0.0.1:18002+127.0.0.1:18003+127.0.0.1:18004+127.0.0.1:18005"
	for _, test := range []struct {
		call, first string
		counts      []int
	}{
		{"ring(nodes=3,names=10.0.0.1:11212+10.0.0.2:11212+10.0.0.3:11212)", "11112221011122212001",
			[]int{35697, 34239, 30064}},
		{"ring(nodes=3,names=10.0.0.1+10.0.0.2+10.0.0.3)", "11021000101111212001", []int{38176, 31228, 30596}},
		{"ring(nodes=7,names=a:1+b:2+c:3+d:4+e:5+f:6+g:7)", "53456553460662625641",
			[]int{15708, 16085, 13635, 13277, 13989, 13083, 14223}},
		{"ring(nodes=5,as=nginx," + nginx + ")", "4023001143232212021301244220334122104334",
			[]int{399, 440, 353, 382, 426}},
		{"modulo(nodes=5)", "3203342030144411201231332401421201443011", []int{408, 394, 400, 411, 387}},
	} {
		sum := 0
		for _, n := range test.counts {
			sum += n
		}
		if test.counts[0] > 15000 {
			sum = 100_000 // the program's own counts of all keys, which some of these do not reach by rounding
		}
		_, p := placed(t, test.call, sum)
		counts, first := make([]int, len(test.counts)), ""
		for o := range dense.Object(sum) {
			node := p.Homes(o)[0]
			counts[node]++
			if len(first) < len(test.first) {
				first += fmt.Sprint(node)
			}
		}
		if first != test.first || !slices.Equal(counts, test.counts) {
			t.Errorf("%s: %s and %v, want %s and %v", test.call, first, counts, test.first, test.counts)
		}
	}
}

// Slots are those of CLUSTER KEYSLOT, and ranges those of redis-cli --cluster create, in Redis 7.0.15.
func TestSlotsAreThoseOfRedis(t *testing.T) {
	for key, want := range map[string]int{"key:0": 2592, "key:1": 6657, "foo": 12182, "somekey": 11058,
		"{user1000}.following": 3443, "foo{}{bar}": 8363, "foo{{bar}}zap": 4015, "foo{bar}{zap}": 5061,
		"123456789": 12739} {
		if got := keySlot(key); got != want {
			t.Errorf("slot of %q: %d, want %d", key, got, want)
		}
	}
	for _, firsts := range [][]int{{0, 5461, 10923}, {0, 3277, 6554, 9830, 13107},
		{0, 2341, 4681, 7022, 9362, 11703, 14043}} {
		owner := slotRanges(firstNodes(len(firsts)))
		for node, first := range firsts {
			if owner[first] != uint16(node) || first > 0 && owner[first-1] != uint16(node-1) {
				t.Errorf("%d nodes: node %d does not begin at slot %d", len(firsts), node, first)
			}
		}
	}
}

// naiveHomes returns the nodes of a key by the words of the documentation, among nodes that exist.
func naiveHomes(s Spec, key string, nodes []uint16, owner []uint16) []uint16 {
	next := func(hash uint32, pointsOf func(node uint16) []uint32) []uint16 {
		best, distance := uint16(0), uint32(math.MaxUint32)
		for _, node := range nodes {
			for _, p := range pointsOf(node) {
				if p-hash < distance || p-hash == distance && node < best { // around the ring
					best, distance = node, p-hash
				}
			}
		}
		return []uint16{best}
	}
	crc := crc32.ChecksumIEEE([]byte(key))
	name := func(node uint16) string { return fmt.Sprintf("10.0.0.%d:11211", node+1) }
	switch s.Name() {
	case "modulo":
		return []uint16{nodes[int(crc>>16&0x7fff)%len(nodes)]}
	case "slots":
		return []uint16{owner[keySlot(key)]}
	case "round-robin", "random":
		return nodes
	case "shard":
		sum := sha256.Sum256([]byte(key + "\x00")) // without a host
		points := func(node uint16) (all []uint32) {
			for i := range s.Params.Int("vnodes") {
				p := sha256.Sum256([]byte(fmt.Sprintf("b%d%d", node, i)))
				all = append(all, uint32(p[28])|uint32(p[29])<<8|uint32(p[30])<<16|uint32(p[31])<<24)
			}
			return all
		}
		hash := uint32(sum[0])<<24 | uint32(sum[1])<<16 | uint32(sum[2])<<8 | uint32(sum[3])
		first := next(hash, points)
		last := uint32(0)
		for _, node := range nodes {
			for _, p := range points(node) {
				if p > last {
					last = p
				}
			}
		}
		if hash > last { // goes to the last point, from which the next one is found as from anywhere
			hash = last
			first = next(hash, points)
		}
		if s.Params.Float("warmup") == 0 || len(nodes) == 1 {
			return first
		}
		nodes = slices.DeleteFunc(slices.Clone(nodes), func(n uint16) bool { return n == first[0] })
		return append(first, next(hash, points)...)
	case "ring":
		if s.Params.Text("as") == "nginx" {
			return next(crc, func(node uint16) (all []uint32) {
				last := uint32(0)
				for range s.Params.Int("vnodes") {
					text := strings.Replace(name(node), ":", "\x00", 1) +
						string([]byte{byte(last), byte(last >> 8), byte(last >> 16), byte(last >> 24)})
					last = crc32.ChecksumIEEE([]byte(text))
					all = append(all, last)
				}
				return all
			})
		}
		sum := md5.Sum([]byte(key))
		number := func(b []byte) uint32 {
			return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
		}
		return next(number(sum[:4]), func(node uint16) (all []uint32) {
			for i := range s.Params.Int("vnodes") {
				sum := md5.Sum([]byte(fmt.Sprintf("%s-%d", name(node), i/4)))
				all = append(all, number(sum[i%4*4:]))
			}
			return all
		})
	}
	byWeight := slices.Clone(nodes)
	slices.SortStableFunc(byWeight, func(a, b uint16) int {
		if weight(mixed(key), int(a)) > weight(mixed(key), int(b)) {
			return -1
		}
		return 1
	})
	if s.Name() == "replicas" {
		return byWeight[:min(s.Params.Int("copies"), len(nodes))]
	}
	return byWeight[:1]
}

// drawnNodes returns some of n nodes, at least one.
func drawnNodes(t *rapid.T, n int) (nodes []uint16) {
	for len(nodes) == 0 {
		nodes = nil
		for node := range n {
			if rapid.Bool().Draw(t, "exists") {
				nodes = append(nodes, uint16(node))
			}
		}
	}
	return nodes
}

// Every router of objects puts keys where a naive one does, whichever nodes are lost and come back.
func TestPlacementsAgainstNaive(t *testing.T) {
	calls := []string{"hash", "modulo", "ring(vnodes=8)", "ring(as=nginx,vnodes=7)", "slots", "shard(vnodes=5)",
		"shard(vnodes=6,warmup=0.2)", "replicas(copies=2)",
		"round-robin", "random"}
	for _, e := range Registry.All() {
		if e.Place != nil && !slices.ContainsFunc(calls, func(c string) bool { return strings.HasPrefix(c, e.Name) }) {
			t.Errorf("%s routes objects, and is not tested here", e.Name)
		}
	}
	for _, call := range calls {
		t.Run(call, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n, objects := rapid.IntRange(1, 6).Draw(t, "nodes"), rapid.IntRange(1, 60).Draw(t, "objects")
				spec, p := placed(t, must.Get(WithNodes(call, fmt.Sprint(n)))(t), objects)
				owner := slotRanges(firstNodes(n))
				nodes := firstNodes(n)
				for range 4 {
					for o := range dense.Object(objects) {
						homes := p.Homes(o)
						if want := naiveHomes(spec, keyed(o), nodes, owner); !slices.Equal(homes, want) {
							t.Fatalf("%s on %v: %v, want %v", keyed(o), nodes, homes, want)
						}
						if got := p.Pick(homes); !slices.Contains(homes, got) {
							t.Fatalf("node %d serves %s, one of %v", got, keyed(o), homes)
						}
					}
					nodes = drawnNodes(t, n)
					p.Use(nodes)
					naiveSlots(owner, nodes)
				}
			})
		})
	}
}

// naiveSlots moves slots one by one: those of lost nodes to the nodes with the fewest, then the lowest of the nodes
// with the most to those with too few.
func naiveSlots(owner, nodes []uint16) {
	counts := map[uint16]int{}
	for _, node := range owner {
		if slices.Contains(nodes, node) {
			counts[node]++
		}
	}
	extreme := func(better func(a, b int) bool) uint16 {
		best := nodes[0]
		for _, node := range nodes {
			if better(counts[node], counts[best]) {
				best = node
			}
		}
		return best
	}
	give := func(slot int, to uint16) {
		owner[slot] = to
		counts[to]++
	}
	for slot, node := range owner {
		if !slices.Contains(nodes, node) {
			give(slot, extreme(func(a, b int) bool { return a < b }))
		}
	}
	for _, node := range nodes {
		for counts[node] < slotCount/len(nodes) {
			from := extreme(func(a, b int) bool { return a > b })
			counts[from]--
			give(slices.Index(owner, from), node)
		}
	}
}

// Where a node is lost, only its keys move, and they return with it; modulo moves nearly all.
func TestWhichKeysMove(t *testing.T) {
	const objects, nodes, lost = 20_000, 5, 2
	for call, most := range map[string]float64{"hash": 0.22, "ring": 0.28, "slots": 0.22, "modulo": 0.82} {
		_, p := placed(t, call+"(nodes=5)", objects)
		home := func() (all []uint16) {
			for o := range dense.Object(objects) {
				all = append(all, p.Homes(o)[0])
			}
			return all
		}
		before := home()
		p.Use([]uint16{0, 1, 3, 4})
		after, moved := home(), 0
		for o := range before {
			if before[o] != after[o] {
				moved++
				if before[o] != lost && call != "modulo" {
					t.Fatalf("%s: %s moves from node %d, which exists", call, keyed(dense.Object(o)), before[o])
				}
			}
			if after[o] == lost {
				t.Fatalf("%s: %s is on a lost node", call, keyed(dense.Object(o)))
			}
		}
		if share := float64(moved) / objects; share > most || share < most/2 {
			t.Errorf("%s: %.3f of the keys move, want up to %v", call, share, most)
		}
		p.Use(firstNodes(nodes))
		if call != "slots" && !slices.Equal(home(), before) {
			t.Errorf("%s: keys do not return with their node", call)
		}
	}
}

// The share of each of n nodes in uniform keys has a standard deviation of sqrt((n-1)/K) of its mean for a hash of K
// keys; on a ring with v points per node it is that of a beta distribution, sqrt((n-1)/(nv+1)), which is a tenth with
// 100 points and a third with 10.
func TestBalanceOfRings(t *testing.T) {
	const nodes, keys, rings = 10, 4000, 60
	spread := func(shares []float64) float64 {
		sum := 0.0
		for _, s := range shares {
			sum += (s*nodes - 1) * (s*nodes - 1)
		}
		return math.Sqrt(sum / float64(len(shares)))
	}
	for vnodes, want := range map[int]float64{4: 0.469, 12: 0.273, 40: 0.150, 100: 0.0948, 160: 0.0750, 400: 0.0474} {
		if theory := math.Sqrt((nodes - 1.) / (nodes*float64(vnodes) + 1)); math.Abs(theory-want) > 0.001 {
			t.Fatalf("%d points: %v in the table, %v by the formula", vnodes, want, theory)
		}
		var shares []float64
		for k := range rings {
			var names []string
			for node := range nodes {
				names = append(names, fmt.Sprintf("ring%d-node%d", k, node))
			}
			r := newRing(firstNodes(nodes), names, vnodes, ketamaPoints)
			own, last := make([]float64, nodes), r[len(r)-1].at
			for _, p := range r {
				own[p.node] += float64(p.at-last) / (1 << 32)
				last = p.at
			}
			shares = append(shares, own...)
		}
		if got := spread(shares); math.Abs(got/want-1) > 0.12 {
			t.Errorf("%d points: the shares spread by %.4f, want %.4f", vnodes, got, want)
		}
	}
	_, p := placed(t, "hash(nodes=10)", keys*rings)
	shares := make([]float64, nodes*rings)
	for o := range dense.Object(keys * rings) {
		shares[int(o)/keys*nodes+int(p.Homes(o)[0])] += 1. / keys
	}
	if got, want := spread(shares), math.Sqrt((nodes-1.)/keys); math.Abs(got/want-1) > 0.15 {
		t.Errorf("hash: the shares spread by %.4f, want %.4f", got, want)
	}
}

func TestRoundRobinTakesTurns(t *testing.T) {
	_, p := placed(t, "round-robin(nodes=3)", 1)
	for i := range 7 {
		if got := p.Pick(p.Homes(0)); int(got) != i%3 {
			t.Errorf("request %d is served by node %d", i, got)
		}
	}
	_, p = placed(t, "replicas(nodes=5,copies=3)", 1)
	served := map[uint16]int{}
	for range 3000 {
		served[p.Pick(p.Homes(0))]++
	}
	for node, n := range served {
		if len(served) != 3 || n < 900 || n > 1100 {
			t.Errorf("node %d serves %d of 3000 requests, one of %d nodes", node, n, len(served))
		}
	}
}

// A choice of one is none: requests that come while only one node is left change nothing for those that follow.
func TestOneHomeIsNoChoice(t *testing.T) {
	for _, call := range []string{"round-robin(nodes=3)", "random(nodes=3)", "replicas(nodes=3)",
		"shard(nodes=3,warmup=0.5)", "hash(nodes=3)"} {
		after := func(alone int) (served []uint16) {
			_, p := placed(t, call, 1)
			p.Use([]uint16{1})
			for range alone {
				p.Pick(p.Homes(0))
			}
			p.Use(firstNodes(3))
			for range 20 {
				served = append(served, p.Pick(p.Homes(0)))
			}
			return served
		}
		if got, want := after(5), after(0); !slices.Equal(got, want) {
			t.Errorf("%s: nodes %v serve what follows five requests to one node, %v without these", call, got, want)
		}
	}
}

func TestEpochs(t *testing.T) {
	for call, want := range map[string]string{
		"hash(nodes=3)":                                "0s [0 1 2]",
		"ring(nodes=3,lose=1@1h)":                      "0s [0 1 2], 1h0m0s [0 2]",
		"ring(nodes=3,lose=1@50,back=1@90)":            "0s [0 1 2], 50 requests [0 2], 90 requests [0 1 2]",
		"ring(nodes=3,lose=1@9s+0@7s,back=1@10s)":      "0s [0 1 2], 7s [1 2], 9s [2], 10s [1 2]",
		"ring(nodes=3,lose=2@0,back=2@90)":             "0s [0 1], 90 requests [0 1 2]",
		"ring(nodes=3,lose=2@0s)":                      "0s [0 1]",
		"ring(nodes=3,lose=2@5+1@5)":                   "0s [0 1 2], 5 requests [0]",
		"slots(nodes=2@0s+3@60s)":                      "0s [0 1], 1m0s [0 1 2]",
		"replicas(nodes=3,lose=2@5,back=2@9,copies=3)": "0s [0 1 2], 5 requests [0 1], 9 requests [0 1 2]",
	} {
		var got []string
		for _, e := range EpochsOf(must.Get(Registry.Parse(call))(t)) {
			got = append(got, fmt.Sprint(e.Moment, " ", e.Nodes))
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s: %s, want %s", call, text, want)
		}
	}
	for call, want := range map[string]string{
		"hash":                                     "the number of nodes is missing",
		"hash(nodes=3,lose=3@1s)":                  "there is no node 3; want one from 0 to 2",
		"hash(nodes=3,lose=x)":                     `"x" is no node with its moment; want one like 2@3600s`,
		"hash(nodes=3,lose=1@-5s)":                 "is no node with its moment",
		"hash(nodes=3,lose=1@1s+1@2s)":             "node 1 is lost already",
		"hash(nodes=3,back=1@2s)":                  "node 1 is not lost then; want lose=1 at an earlier moment",
		"hash(nodes=2,lose=1@1s+0@2s)":             "node 0 is the last one",
		"hash(nodes=3,lose=1@1s,back=1@50)":        "write both as times or both as numbers",
		"hash(nodes=3@0s+4@5s,lose=1@1s)":          "the number of nodes changes at times already",
		"ring(nodes=3,vnodes=6)":                   "want a multiple of 4",
		"slots(nodes=0)":                           "no number of nodes",
		"hash(nodes=3,behind-policy=fifo)":         "nothing is behind the nodes; add behind=8",
		"round-robin(nodes=3,lose=1@1s,back=2@5s)": "node 2 is not lost then",
	} {
		if _, err := Registry.Parse(call); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", call, err, want)
		}
	}
	for names, want := range map[string]string{"a+b": "2 names for 3 nodes", "a+b+a": `"a" is empty or listed twice`} {
		spec := must.Get(Registry.Parse("ring(nodes=3,names=" + names + ")"))(t)
		if _, err := NewPlacement(spec, 1, keyed, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("names %s: %v, want %q", names, err, want)
		}
	}
}

func BenchmarkPlace(b *testing.B) {
	const objects = 100_000
	for _, call := range []string{"hash", "modulo", "ring", "slots", "replicas"} {
		b.Run(call, func(b *testing.B) {
			for b.Loop() {
				placed(b, call+"(nodes=8)", objects)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/objects, "ns/object")
		})
	}
}
