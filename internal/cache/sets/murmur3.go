package sets

import (
	"encoding/binary"
	"math/bits"
)

// murmur3 is MurmurHash3_x86_32 (Appleby, smhasher), the hash by which HugeCTR finds the set of a key.
func murmur3(data []byte, seed uint32) uint32 {
	h := seed
	rest := data
	for ; len(rest) >= 4; rest = rest[4:] {
		h ^= murmur3Scramble(binary.LittleEndian.Uint32(rest))
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	var tail [4]byte
	if copy(tail[:], rest) > 0 {
		h ^= murmur3Scramble(binary.LittleEndian.Uint32(tail[:]))
	}
	h ^= uint32(len(data))
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

func murmur3Scramble(k uint32) uint32 { return bits.RotateLeft32(k*0xcc9e2d51, 15) * 0x1b873593 }

// murmur3OfNumber hashes the 8 bytes of a little-endian number with seed 0.
func murmur3OfNumber(n uint64) uint32 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	return murmur3(b[:], 0)
}
