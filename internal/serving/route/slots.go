package route

import (
	"math"
	"slices"
	"strings"
)

// slotCount is the number of slots of a Redis Cluster.
const slotCount = 16384

var slotsEntry = Entry{
	Name: "slots", Summary: "the node that has the slot of the key, as in Redis Cluster: each has a range of 16384 " +
		"slots; keys with one {tag} share a slot",
	Source: "Redis Cluster specification; ranges as redis-cli --cluster create gives them to masters. Slots of a lost " +
		"node go to those with the fewest, an added one gets slots of those with the most",
	Place: func(c PlaceConfig) (Placement, error) {
		keys := hashes(c, func(key string) uint32 { return uint32(keySlot(key)) })
		s := &slots{}
		return newByKey(c, func(nodes []uint16, home []uint16) {
			s.use(nodes)
			for o, slot := range keys {
				home[o] = s.owner[slot]
			}
		}), nil
	},
}

// slots are the slots of the nodes of a cluster.
type slots struct {
	owner []uint16 // per slot; nil at first
	nodes []uint16
}

// use moves as few slots as it must to nodes that exist from now on.
func (s *slots) use(nodes []uint16) {
	if s.owner == nil {
		s.owner, s.nodes = slotRanges(nodes), nodes
		return
	}
	has := map[uint16]int{}
	for _, node := range nodes {
		has[node] = 0
	}
	for _, node := range s.owner {
		if _, exists := has[node]; exists {
			has[node]++
		}
	}
	byCount := func(a, b uint16) int { return has[a] - has[b] } // the first of several is the lower node
	for slot, node := range s.owner {
		if _, exists := has[node]; !exists {
			to := slices.MinFunc(nodes, byCount)
			s.owner[slot] = to
			has[to]++
		}
	}
	for _, node := range nodes {
		for has[node] < slotCount/len(nodes) {
			from := slices.MaxFunc(nodes, byCount)
			s.owner[slices.Index(s.owner, from)] = node
			has[from]--
			has[node]++
		}
	}
	s.nodes = nodes
}

// slotRanges returns the owner of each slot in a new cluster: ranges whose borders are rounded as redis-cli does.
func slotRanges(nodes []uint16) []uint16 {
	owner := make([]uint16, slotCount)
	first, each := 0, float64(slotCount)/float64(len(nodes))
	cursor := 0.0
	for i, node := range nodes {
		last := max(first, int(math.Round(cursor+each-1)))
		if last >= slotCount || i == len(nodes)-1 {
			last = slotCount - 1
		}
		for slot := first; slot <= last; slot++ {
			owner[slot] = node
		}
		first = last + 1
		cursor += each
	}
	return owner
}

// keySlot returns the slot of a key: that of what is between its first { and the next }, if there is anything.
func keySlot(key string) int {
	if _, after, ok := strings.Cut(key, "{"); ok {
		if tag, _, closed := strings.Cut(after, "}"); closed && tag != "" {
			key = tag
		}
	}
	return int(crc16(key)) % slotCount
}

// crc16 is CRC-16/XMODEM, with the polynomial 0x1021.
func crc16(text string) (crc uint16) {
	for i := range len(text) {
		crc ^= uint16(text[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}
