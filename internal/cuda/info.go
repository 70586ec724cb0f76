package cuda

import (
	"errors"
	"fmt"
)

// Capability is a compute capability: the generation of a GPU's instructions.
type Capability struct{ Major, Minor int }

// String returns it as NVIDIA writes it: 8.6.
func (c Capability) String() string { return fmt.Sprintf("%d.%d", c.Major, c.Minor) }

// AtLeast reports whether a GPU of capability c runs all kernels of other.
func (c Capability) AtLeast(other Capability) bool {
	return c.Major > other.Major || c.Major == other.Major && c.Minor >= other.Minor
}

// Info describes a GPU.
type Info struct {
	Number     int
	Name       string // of the model
	Memory     int64  // bytes
	Capability Capability
	Processors int    // multiprocessors
	Driver     string // its version, and CUDA's: "550.54.15 (CUDA 12.4)"
}

// Bounds of what a GPU has, far above today's.
const (
	mostMemory     = 1 << 50
	mostProcessors = 1 << 20
	mostCapability = 1000
)

// check returns an error if the driver's description cannot be true of any GPU.
func (i Info) check() error {
	c := i.Capability
	if i.Memory < 1 || i.Memory > mostMemory || i.Processors < 1 || i.Processors > mostProcessors || c.Major < 1 ||
		c.Major > mostCapability || c.Minor < 0 || c.Minor > mostCapability {
		return &Unavailable{fmt.Sprintf("the NVIDIA driver reports that GPU %d has %d bytes of memory, %d multiprocessors "+
			"and compute capability %s, which no GPU has", i.Number, uint64(i.Memory), i.Processors, c),
			"see whether nvidia-smi works, and install NVIDIA's newest driver"}
	}
	return nil
}

// Usable reports whether any computation can use the GPU.
func (i Info) Usable() bool { return i.Capability.AtLeast(leastCapability) }

// Computation is a kind of work that GPUs do, and the compute capability that it needs.
type Computation struct {
	Name  string // as in the list of devices
	Needs Capability
}

// SimilarityJoin is the comparison of queries, on tensor cores with tiles of 16 x 8 x 16 numbers in half precision,
// which GPUs have since Ampere.
var SimilarityJoin = Computation{"join", Capability{8, 0}}

// SetReplay is the replay of set-associative caches, ReuseDistances the replay of LRU at every capacity, FullAttention
// the attention of queries to all tokens.
var (
	SetReplay      = Computation{"sets", leastCapability}
	ReuseDistances = Computation{"lru", leastCapability}
	FullAttention  = Computation{"attention", leastCapability}
)

// computations lists what GPUs do.
var computations = []Computation{SimilarityJoin, SetReplay, ReuseDistances, FullAttention}

// leastCapability is Volta's: the first GPUs whose threads of a warp are scheduled independently.
var leastCapability = Capability{7, 0}

// Computations lists what a GPU of a capability can do.
func Computations(c Capability) (able []Computation) {
	for _, computation := range computations {
		if c.AtLeast(computation.Needs) {
			able = append(able, computation)
		}
	}
	return able
}

// Unavailable says why no GPU can be used, and how to change that, which may be "".
type Unavailable struct{ Because, Advice string }

func (e *Unavailable) Error() string {
	if e.Advice == "" {
		return e.Because + "; " + useCPU
	}
	return e.explained() + ", or " + useCPU
}

// explained returns why it is, and how to change that.
func (e *Unavailable) explained() string {
	if e.Advice == "" {
		return e.Because
	}
	return e.Because + "; " + e.Advice
}

// Explain returns why no GPU can be used, and how to change that.
func Explain(err error) string {
	if e, ok := errors.AsType[*Unavailable](err); ok {
		return e.explained()
	}
	return err.Error()
}

// Reason returns why no GPU can be used, without the advice.
func Reason(err error) string {
	if e, ok := errors.AsType[*Unavailable](err); ok {
		return e.Because
	}
	return err.Error()
}

// useCPU is advice for all errors: results do not depend on the device.
const useCPU = "use --device cpu, which gives the same results"
