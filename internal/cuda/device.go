package cuda

import (
	"errors"
	"slices"
	"unsafe"
)

// Device runs kernels. Copies and kernels are executed in the order of the calls; calls may come from several
// goroutines. Once a call has failed because the device was lost, all further ones fail.
type Device interface {
	// Name returns the name of the model, "NVIDIA H100 80GB HBM3".
	Name() string
	Capability() Capability
	// Processors returns the number of multiprocessors.
	Processors() int
	// Memory returns the free and the total memory in bytes.
	Memory() (free, total int64, err error)
	// Load compiles the kernels of a module in PTX for the device.
	Load(ptx []byte) (Module, error)
	// Alloc returns memory of the device, aligned to 256 bytes, whose content is undefined.
	Alloc(bytes int64) (Pointer, error)
	// Free returns memory that Alloc returned.
	Free(Pointer) error
	// Write copies bytes to the device. When it returns, from may be changed.
	Write(to Pointer, from []byte) error
	// Read copies bytes from the device when all kernels launched before have ended. It returns their errors, too.
	Read(to []byte, from Pointer) error
	// Fill sets bytes of the device to a value.
	Fill(at Pointer, value byte, bytes int64) error
	// Sync waits for all kernels that were launched, and returns their errors.
	Sync() error
	// Close releases the device and all of its memory.
	Close() error
}

// Module is a set of kernels, loaded to a device.
type Module interface {
	// Launch starts a kernel and does not wait for it. Arguments are uint32, int32, uint64, int64, float32, float64 or
	// Pointer, in the order and with the sizes of the kernel's parameters.
	Launch(kernel string, grid Grid, arguments ...any) error
}

// Grid is the number of threads of a launch, in one dimension.
type Grid struct{ Blocks, Threads int } // Threads per block, a multiple of 32

// Pointer is an address in the memory of a device. Sums with bytes point into the same allocation.
type Pointer uint64

// Element is a type that device and program represent by the same bytes.
type Element interface {
	~uint8 | ~uint16 | ~uint32 | ~int32 | ~uint64 | ~int64 | ~float32 | ~float64
}

// Upload copies a slice to newly allocated memory of the device.
func Upload[T Element](d Device, from []T) (Pointer, error) {
	p, err := d.Alloc(int64(len(asBytes(from))))
	if err != nil {
		return 0, err
	}
	if err := d.Write(p, asBytes(from)); err != nil {
		_ = d.Free(p)
		return 0, err
	}
	return p, nil
}

// Download fills a slice with memory of the device.
func Download[T Element](d Device, to []T, from Pointer) error { return d.Read(asBytes(to), from) }

// Put copies a slice to memory of the device.
func Put[T Element](d Device, to Pointer, from []T) error { return d.Write(to, asBytes(from)) }

// asBytes returns the memory of a slice. GPUs and the processors that drive them are little-endian.
func asBytes[T Element](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}

// Scope frees all memory that was allocated through it at once: a computation allocates in a scope and closes it at its
// end. Goroutines must not share a scope. It implements Device.
type Scope struct {
	Device
	held []Pointer
}

func NewScope(d Device) *Scope { return &Scope{Device: d} }

func (s *Scope) Alloc(bytes int64) (Pointer, error) {
	p, err := s.Device.Alloc(max(bytes, 1))
	if err != nil {
		return 0, err
	}
	s.held = append(s.held, p)
	return p, nil
}

// Allocation is a column to be allocated: Undefined, Zeros or Ones.
type Allocation struct {
	at    *Pointer
	bytes int64
	fill  int // -1: with nothing
}

// Undefined is a column whose content is undefined. AllocAll writes its address to at.
func Undefined(at *Pointer, bytes int64) Allocation { return Allocation{at, bytes, -1} }

// Zeros is a column of zeros.
func Zeros(at *Pointer, bytes int64) Allocation { return Allocation{at, bytes, 0} }

// Ones is a column in which every bit is 1.
func Ones(at *Pointer, bytes int64) Allocation { return Allocation{at, bytes, 0xff} }

// BytesOf returns the memory of columns. Each is aligned to 256 bytes.
func BytesOf(columns []Allocation) (bytes int64) {
	for _, c := range columns {
		bytes += (c.bytes + 255) &^ 255
	}
	return bytes
}

// AllocAll allocates columns and fills them. If one fails, the scope holds the earlier ones.
func (s *Scope) AllocAll(columns ...Allocation) (err error) {
	for _, c := range columns {
		if *c.at, err = s.Alloc(c.bytes); err != nil {
			return err
		}
		if c.fill < 0 || c.bytes == 0 {
			continue
		}
		if err := s.Fill(*c.at, byte(c.fill), c.bytes); err != nil {
			return err
		}
	}
	return nil
}

// Usable returns how much of the free memory of a device a computation takes: it leaves a part to others.
func Usable(d Device) (int64, error) {
	free, _, err := d.Memory()
	return free - free/16, err
}

// Fit returns a plan after allocating its memory. That may fail: a driver may use more memory than requested, and other
// programs may have allocated some meanwhile. Then release frees the plan's memory, and plan is called with it (nil the
// first time) for one that needs less. Without one, Fit returns the error of the last allocation.
func Fit[T any](plan func(tooLarge *T) (*T, error), allocate, release func(*T) error) (*T, error) {
	var last *T
	var short error // of its allocation
	for {
		next, err := plan(last)
		switch {
		case errors.Is(err, ErrOutOfMemory) && short != nil:
			return nil, short
		case err != nil:
			return nil, err
		}
		if err = allocate(next); err == nil {
			return next, nil
		}
		released := release(next)
		switch {
		case !errors.Is(err, ErrOutOfMemory):
			return nil, err
		case released != nil:
			return nil, released
		}
		last, short = next, err
	}
}

func (s *Scope) Free(p Pointer) error {
	if i := slices.Index(s.held, p); i >= 0 {
		s.held = slices.Delete(s.held, i, i+1)
	}
	return s.Device.Free(p)
}

// Close frees what the scope holds. The device stays open.
func (s *Scope) Close() error {
	var first error
	for _, p := range s.held {
		if err := s.Device.Free(p); first == nil {
			first = err
		}
	}
	s.held = nil
	return first
}
