package stream

import "github.com/cachesim/cachesim/internal/base/random"

// HashText is FNV-1a with its bits mixed. It is part of the file format that the oracleGeneral writer writes, so it
// must never change.
func HashText(text []byte) uint64 {
	hash := uint64(0xcbf29ce484222325)
	for _, b := range text {
		hash = (hash ^ uint64(b)) * 0x100000001b3
	}
	return random.Scramble(hash)
}
