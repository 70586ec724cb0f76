package cuda

import (
	"errors"
	"fmt"
	"slices"
)

// Error is a failure that the driver reports.
type Error struct {
	Doing string // what the program was doing: "copying 100 bytes to the GPU"
	Code  int    // of the driver
	Name  string // CUDA_ERROR_ILLEGAL_ADDRESS
	Text  string // the driver's explanation
	More  string // further findings: free memory, or the compiler's messages; may be ""
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s (%s)", e.Doing, e.Text, e.Name)
	if e.More != "" {
		text += ": " + e.More
	}
	return text + "; " + e.advice()
}

// ErrOutOfMemory is in the errors of allocations that exceed a device's free memory. The device can still be used.
var ErrOutOfMemory = errors.New("out of memory")

// Is lets errors.Is find ErrOutOfMemory.
func (e *Error) Is(target error) bool { return target == ErrOutOfMemory && e.Code == codeOutOfMemory }

// Failure is a failure of a device that its driver does not report.
type Failure struct {
	Text     string // what failed, and what to do
	TooLarge bool   // the device has too little memory for the computation, and may have enough for a part of it
}

func (f *Failure) Error() string { return f.Text }

// Is lets errors.Is find ErrOutOfMemory.
func (f *Failure) Is(target error) bool { return target == ErrOutOfMemory && f.TooLarge }

// TooLarge returns the error of a computation for which a device has too little memory.
func TooLarge(format string, args ...any) error { return &Failure{fmt.Sprintf(format, args...), true} }

// Wrong returns the error of a device with an impossible result: the text says what it was, and what would be right.
func Wrong(format string, args ...any) error {
	return &Failure{Text: "the GPU returned a wrong result: " + fmt.Sprintf(format, args...) + "; the GPU or its driver " +
		"does not work as it should: see nvidia-smi, and " + useCPU}
}

// Failed reports whether err is a failure of a device: the same computation may succeed on another one, or on the CPU.
func Failed(err error) bool { return errors.As(err, new(*Error)) || errors.As(err, new(*Failure)) }

// Codes of the driver, as in its header (CUresult).
const (
	codeOutOfMemory = 2
	codeNoDevice    = 100
)

var (
	// driverCodes are errors of the installation: a library without a driver, no code for the GPU, PTX that the compiler
	// of the driver does not know, no such compiler, parts of different versions.
	driverCodes = []int{34, 209, 218, 221, 222, 803}
	// kernelCodes are errors that a kernel causes: an illegal address, an assertion, a stack error, an illegal
	// instruction, a misaligned address, an invalid address space, an invalid program counter, another failure.
	kernelCodes = []int{700, 710, 714, 715, 716, 717, 718, 719}
)

// advice says what the user can do.
func (e *Error) advice() string {
	switch {
	case e.Code == codeOutOfMemory:
		return "end other programs on the GPU, or " + useCPU
	case slices.Contains(driverCodes, e.Code):
		return "install NVIDIA's newest driver, and restart the machine if its parts differ, or " + useCPU
	case slices.Contains(kernelCodes, e.Code):
		return "this is an error of cachesim: please report it, and " + useCPU
	}
	return "nvidia-smi shows the state of the GPU; try again, or " + useCPU
}
