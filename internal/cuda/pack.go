package cuda

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Pack returns the arguments of a kernel in the layout of its parameters: each aligned to its size. It accepts the
// types that Module.Launch lists.
func Pack(arguments ...any) (packed []byte, err error) {
	for i, a := range arguments {
		size := binary.Size(a)
		if size != 4 && size != 8 {
			return nil, fmt.Errorf("argument %d of a kernel is a %T; want a number of 32 or 64 bits or a Pointer", i, a)
		}
		for len(packed)%size != 0 {
			packed = append(packed, 0)
		}
		if packed, err = binary.Append(packed, binary.LittleEndian, a); err != nil {
			return nil, err
		}
	}
	return packed, nil
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
	}
	return nil
}
