package cuda

import (
	"encoding/binary"
	"fmt"
	"math"
)

// pack returns the arguments of a kernel in the layout of its parameters: each aligned to its size. It accepts the
// types that Module.Launch lists.
func pack(arguments []any) ([]byte, error) {
	var packed []byte
	for i, a := range arguments {
		switch a := a.(type) {
		case uint32:
			packed = binary.LittleEndian.AppendUint32(align(packed, 4), a)
		case int32:
			packed = binary.LittleEndian.AppendUint32(align(packed, 4), uint32(a))
		case float32:
			packed = binary.LittleEndian.AppendUint32(align(packed, 4), math.Float32bits(a))
		case uint64:
			packed = binary.LittleEndian.AppendUint64(align(packed, 8), a)
		case int64:
			packed = binary.LittleEndian.AppendUint64(align(packed, 8), uint64(a))
		case float64:
			packed = binary.LittleEndian.AppendUint64(align(packed, 8), math.Float64bits(a))
		case Pointer:
			packed = binary.LittleEndian.AppendUint64(align(packed, 8), uint64(a))
		default:
			return nil, fmt.Errorf("argument %d of a kernel is a %T; want a number of 32 or 64 bits or a Pointer", i, a)
		}
	}
	return packed, nil
}

// align appends zeros up to a multiple of size.
func align(b []byte, size int) []byte {
	for len(b)%size != 0 {
		b = append(b, 0)
	}
	return b
}

// Limits of every GPU since Volta.
const (
	mostBlocks  = math.MaxInt32
	mostThreads = 1024
)

// check rejects a grid that no GPU can launch.
func (g Grid) check() error {
	switch {
	case g.Blocks < 1 || g.Blocks > mostBlocks:
		return fmt.Errorf("%d blocks: want 1 to %d", g.Blocks, mostBlocks)
	case g.Threads < 32 || g.Threads > mostThreads || g.Threads%32 != 0:
		return fmt.Errorf("%d threads per block: want a multiple of 32 up to %d", g.Threads, mostThreads)
	case g.Shared < 0:
		return fmt.Errorf("%d bytes of shared memory: want 0 or more", g.Shared)
	}
	return nil
}
