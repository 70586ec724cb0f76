package cuda

import (
	"fmt"
	"strconv"
	"strings"
)

// Choice says which device computes: the value of --device. The zero Choice is the CPU.
type Choice struct {
	kind   choiceKind
	number int // of a GPU
}

type choiceKind int

const (
	onCPU choiceKind = iota
	onGPU
	auto
)

const gpuPrefix = "cuda:"

// ParseChoice parses cpu, cuda (the GPU with number 0), cuda:N or auto (a GPU if the machine has one).
func ParseChoice(text string) (Choice, error) {
	switch text {
	case "cpu":
		return Choice{}, nil
	case "cuda":
		return Choice{kind: onGPU}, nil
	case "auto":
		return Choice{kind: auto}, nil
	}
	number, isGPU := strings.CutPrefix(text, gpuPrefix)
	if !isGPU {
		return Choice{}, fmt.Errorf("device %q: want cpu, cuda (an NVIDIA GPU), cuda:N (the GPU with number N) or auto", text)
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil {
		return Choice{}, fmt.Errorf("device %q: want the number of a GPU after %s, as in cuda:0; cachesim devices lists "+
			"them", text, gpuPrefix)
	}
	return Choice{onGPU, int(n)}, nil
}

// String returns the choice as ParseChoice reads it.
func (c Choice) String() string {
	switch {
	case c.kind == auto:
		return "auto"
	case c.kind == onCPU:
		return "cpu"
	case c.number == 0:
		return "cuda"
	}
	return gpuPrefix + strconv.Itoa(c.number)
}

// Set parses a text into the choice, as flags do.
func (c *Choice) Set(text string) (err error) {
	*c, err = ParseChoice(text)
	return err
}

// Type names the values of the flag.
func (c *Choice) Type() string { return "DEVICE" }
func (c Choice) IsCPU() bool   { return c.kind == onCPU }

// IsNumbered reports whether a GPU other than the first is chosen.
func (c Choice) IsNumbered() bool { return c.number != 0 }

// NeedsGPU reports whether a GPU is chosen by name.
func (c Choice) NeedsGPU() bool { return c.kind == onGPU }

// Open opens the chosen device, nil for the CPU. With auto that is the first GPU that can be used, and note says what
// was chosen and why.
func (c Choice) Open() (d *Shared, note string, err error) {
	switch c.kind {
	case onCPU:
		return nil, "", nil
	case auto:
		return openAny()
	}
	gpus, err := List()
	if err == nil {
		d, err = open(gpus, c.number)
	}
	if err != nil {
		return nil, "", fmt.Errorf("--device %s: %w", c, err)
	}
	return d, "", nil
}

// openAny opens the first GPU that can be used.
func openAny() (d *Shared, note string, err error) {
	gpus, err := List()
	for n := range gpus {
		if d, err = open(gpus, n); err == nil {
			return d, fmt.Sprintf("--device auto: %s (%s%d)", d.Name(), gpuPrefix, n), nil
		}
	}
	return nil, fmt.Sprintf("--device auto: the CPU, because %v", Reason(err)), nil
}

func open(gpus []Info, number int) (*Shared, error) {
	switch {
	case number >= len(gpus):
		return nil, fmt.Errorf("there is no such GPU; the driver shows %d, from 0 on (see: cachesim devices; "+
			"CUDA_VISIBLE_DEVICES may hide some)", len(gpus))
	case !gpus[number].Usable():
		return nil, &Unavailable{fmt.Sprintf("%s has compute capability %s, but kernels need %s", gpus[number].Name,
			gpus[number].Capability, leastCapability), "choose another GPU"}
	}
	d, err := openDevice(gpus[number])
	if err != nil {
		return nil, err
	}
	return Share(d), nil
}
