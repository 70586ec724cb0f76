//go:build cgo && linux

package cuda

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// The part of the driver's interface that is used here, as NVIDIA documents it (CUDA Driver API). The library is opened
// at run time, so that the program needs neither it nor its header.
typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;

#define CALLS(X) \
	X(cuInit, (unsigned flags)) \
	X(cuDriverGetVersion, (int *version)) \
	X(cuDeviceGetCount, (int *count)) \
	X(cuDeviceGet, (CUdevice *device, int ordinal)) \
	X(cuDeviceGetName, (char *name, int size, CUdevice device)) \
	X(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device)) \
	X(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device)) \
	X(cuDevicePrimaryCtxSetFlags_v2, (CUdevice device, unsigned flags)) \
	X(cuDevicePrimaryCtxRetain, (void **context, CUdevice device)) \
	X(cuDevicePrimaryCtxRelease_v2, (CUdevice device)) \
	X(cuCtxSetCurrent, (void *context)) \
	X(cuCtxSynchronize, (void)) \
	X(cuModuleLoadDataEx, (void **module, const void *image, unsigned n, int *options, void **values)) \
	X(cuModuleGetFunction, (void **function, void *module, const char *name)) \
	X(cuMemGetInfo_v2, (size_t *free, size_t *total)) \
	X(cuMemAlloc_v2, (CUdeviceptr *at, size_t bytes)) \
	X(cuMemFree_v2, (CUdeviceptr at)) \
	X(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes)) \
	X(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes)) \
	X(cuMemsetD8_v2, (CUdeviceptr at, unsigned char value, size_t bytes)) \
	X(cuLaunchKernel, (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
		unsigned shared, void *stream, void **parameters, void **extra)) \
	X(cuGetErrorName, (CUresult error, const char **name)) \
	X(cuGetErrorString, (CUresult error, const char **text))

#define X(name, parameters) static CUresult (*p_##name) parameters;
CALLS(X)
#undef X

// open_driver opens the library and returns NULL, or why it cannot be used; *there says whether it was found.
static const char *open_driver(int *there) {
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	*there = library != NULL;
	if (!library) return dlerror();
#define X(name, parameters) if (!(p_##name = (CUresult (*) parameters)dlsym(library, #name))) return "it lacks " #name;
	CALLS(X)
#undef X
	return NULL;
}

static CUresult d_init(int *version, int *count) {
	CUresult e = p_cuDriverGetVersion(version);
	if (!e) e = p_cuInit(0);
	return e ? e : p_cuDeviceGetCount(count);
}

// Attributes of devices.
enum { PROCESSORS = 16, MAJOR = 75, MINOR = 76 };

static CUresult d_describe(int ordinal, char *name, int size, size_t *bytes, int *processors, int *major, int *minor) {
	CUdevice device;
	CUresult e = p_cuDeviceGet(&device, ordinal);
	if (!e) e = p_cuDeviceGetName(name, size, device);
	if (!e) e = p_cuDeviceTotalMem_v2(bytes, device);
	if (!e) e = p_cuDeviceGetAttribute(processors, PROCESSORS, device);
	if (!e) e = p_cuDeviceGetAttribute(major, MAJOR, device);
	return e ? e : p_cuDeviceGetAttribute(minor, MINOR, device);
}

// d_open opens the context that all users of a device in this process share. Threads that wait for the device sleep
// (CU_CTX_SCHED_BLOCKING_SYNC), as the CPU has other work; a driver that refuses this works, too.
static CUresult d_open(int ordinal, CUdevice *device, void **context) {
	CUresult e = p_cuDeviceGet(device, ordinal);
	if (e) return e;
	p_cuDevicePrimaryCtxSetFlags_v2(*device, 4);
	return p_cuDevicePrimaryCtxRetain(context, *device);
}

static CUresult d_close(CUdevice device) { return p_cuDevicePrimaryCtxRelease_v2(device); }

// IN defines a function that makes a call in a context. That is set in every call, because it belongs to a thread, and
// goroutines change threads.
#define IN(name, parameters, call) \
	static CUresult name parameters { CUresult e = p_cuCtxSetCurrent(context); return e ? e : call; }

IN(d_load_with, (void *context, void **module, const void *image, int *options, void **values),
	p_cuModuleLoadDataEx(module, image, 2, options, values))
IN(d_function, (void *context, void **function, void *module, const char *name),
	p_cuModuleGetFunction(function, module, name))
IN(d_memory, (void *context, size_t *free, size_t *total), p_cuMemGetInfo_v2(free, total))
IN(d_alloc, (void *context, CUdeviceptr *at, size_t bytes), p_cuMemAlloc_v2(at, bytes))
IN(d_free, (void *context, CUdeviceptr at), p_cuMemFree_v2(at))
IN(d_write, (void *context, CUdeviceptr to, const void *from, size_t bytes), p_cuMemcpyHtoD_v2(to, from, bytes))
IN(d_read, (void *context, void *to, CUdeviceptr from, size_t bytes), p_cuMemcpyDtoH_v2(to, from, bytes))
IN(d_fill, (void *context, CUdeviceptr at, unsigned char value, size_t bytes), p_cuMemsetD8_v2(at, value, bytes))
IN(d_launch_with, (void *context, void *function, unsigned blocks, unsigned threads, void **extra),
	p_cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, NULL, NULL, extra))
IN(d_sync, (void *context), p_cuCtxSynchronize())

static CUresult d_load(void *context, void **module, const void *image, char *log, unsigned size) {
	int options[] = {5, 6}; // CU_JIT_ERROR_LOG_BUFFER and its size
	void *values[] = {log, (void *)(uintptr_t)size};
	return d_load_with(context, module, image, options, values);
}

// d_launch starts a kernel on the default stream, on which copies are, too, so that all are in the order of the calls.
static CUresult d_launch(void *context, void *function, unsigned blocks, unsigned threads, void *arguments,
		size_t bytes) {
	void *extra[] = {(void *)1, arguments, (void *)2, &bytes, NULL}; // CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE, _END
	return d_launch_with(context, function, blocks, threads, bytes ? extra : NULL);
}

static const char *d_error_name(CUresult e) {
	const char *s = NULL;
	return p_cuGetErrorName(e, &s) || !s ? "an error that the driver does not name" : s;
}

static const char *d_error_text(CUresult e) {
	const char *s = NULL;
	return p_cuGetErrorString(e, &s) || !s ? "no explanation" : s;
}
*/
import "C"

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Supported reports whether this build can open the driver.
const Supported = true

// leastVersion is the version of CUDA that compiles PTX 7.0.
const leastVersion = 11000

// aboutVersion says which drivers have leastVersion.
const aboutVersion = "11.0, which drivers have from version 450 on"

// mostGPUs is how many GPUs a driver may report. Machines have up to 16, and each of them 7 parts at most (MIG).
const mostGPUs = 1024

// drivers is what the driver says when it is opened.
type drivers struct{ version, count int }

var opened = sync.OnceValues(func() (drivers, error) {
	var there C.int
	if problem := C.open_driver(&there); problem != nil {
		if there == 0 {
			return drivers{}, &Unavailable{"there is no NVIDIA driver: " + C.GoString(problem),
				"install it, or start a container with its GPUs (--gpus all)"}
		}
		return drivers{}, &Unavailable{fmt.Sprintf("libcuda.so.1 is not a driver for CUDA %s: %s", aboutVersion,
			C.GoString(problem)), "install NVIDIA's newest driver"}
	}
	var version, count C.int
	code := C.d_init(&version, &count)
	switch {
	case version != 0 && version < leastVersion:
		return drivers{}, &Unavailable{fmt.Sprintf("the NVIDIA driver supports CUDA %s, but kernels need %s",
			versionText(int(version)), aboutVersion), "install NVIDIA's newest driver"}
	case code == codeNoDevice || code == 0 && count == 0:
		return drivers{}, &Unavailable{"the NVIDIA driver finds no GPU",
			"see nvidia-smi, and whether CUDA_VISIBLE_DEVICES hides GPUs"}
	case code != 0:
		return drivers{}, newError("starting the NVIDIA driver", code)
	case count < 0 || count > mostGPUs:
		return drivers{}, &Unavailable{fmt.Sprintf("the NVIDIA driver reports %d GPUs, where 1 to %d can be", uint32(count),
			mostGPUs), "see whether nvidia-smi works, and install NVIDIA's newest driver"}
	}
	return drivers{int(version), int(count)}, nil
})

// versionText formats a version of CUDA: 12040 is 12.4.
func versionText(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// newError returns the error for a code of the driver, which is not 0.
func newError(doing string, code C.CUresult) *Error {
	return &Error{Doing: doing, Code: int(code), Name: C.GoString(C.d_error_name(code)),
		Text: C.GoString(C.d_error_text(code))}
}

// List returns the GPUs that the driver shows. It fails if no GPU exists, or no driver can be used.
func List() ([]Info, error) {
	driver, err := opened()
	if err != nil {
		return nil, err
	}
	about := fmt.Sprintf("CUDA %s", versionText(driver.version))
	if module, err := os.ReadFile("/sys/module/nvidia/version"); err == nil {
		about = fmt.Sprintf("%s (%s)", strings.TrimSpace(string(module)), about)
	}
	infos := make([]Info, driver.count)
	for i := range infos {
		var name [256]C.char
		var bytes C.size_t
		var processors, major, minor C.int
		code := C.d_describe(C.int(i), &name[0], C.int(len(name)), &bytes, &processors, &major, &minor)
		if code != 0 {
			return nil, newError(fmt.Sprintf("looking at GPU %d", i), code)
		}
		name[len(name)-1] = 0
		infos[i] = Info{i, C.GoString(&name[0]), int64(bytes), Capability{int(major), int(minor)}, int(processors), about}
		if err := infos[i].check(); err != nil {
			return nil, err
		}
	}
	return infos, nil
}

// gpu is a Device of the driver.
type gpu struct {
	Info
	device  C.CUdevice
	context unsafe.Pointer
	mu      sync.RWMutex // held by each call, and alone by Close
	closed  bool
	failed  atomic.Pointer[Error] // the error with which the device was lost
	last    atomic.Value          // the name of the kernel that was launched last
	loading sync.Mutex
	modules map[string]*module // by their text
}

func openDevice(info Info) (Device, error) {
	g := &gpu{Info: info, modules: map[string]*module{}}
	if code := C.d_open(C.int(info.Number), &g.device, &g.context); code != 0 {
		return nil, newError(fmt.Sprintf("opening %s", info.Name), code)
	}
	return g, nil
}

// do calls the driver. Once the device is lost, it returns that error and does not call the driver.
func (g *gpu) do(doing string, call func() C.CUresult) error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.closed {
		return fmt.Errorf("%s: the device is closed", doing)
	}
	if failed := g.failed.Load(); failed != nil {
		return failed
	}
	code := call()
	if code == 0 {
		return nil
	}
	err := newError(doing, code)
	if last, ok := g.last.Load().(string); ok && slices.Contains(kernelCodes, err.Code) {
		err.More = "the last kernel was " + last
	}
	if err.lost() {
		// The first error has the reason; later ones only follow from it.
		g.failed.CompareAndSwap(nil, err)
	}
	return err
}

// lostCodes are errors after which a device does nothing more for this process: unavailable, not mapped, an ECC error,
// an error of NVLink, a time limit, a context that was destroyed, unknown. kernelCodes are further ones.
var lostCodes = []int{46, 205, 214, 220, 702, 709, 999}

// lost reports whether all further calls of the device fail after this error.
func (e *Error) lost() bool {
	return slices.Contains(lostCodes, e.Code) || slices.Contains(kernelCodes, e.Code)
}

func (g *gpu) Name() string           { return g.Info.Name }
func (g *gpu) Capability() Capability { return g.Info.Capability }
func (g *gpu) Processors() int        { return g.Info.Processors }

func (g *gpu) Memory() (free, total int64, err error) {
	var f, t C.size_t
	err = g.do("asking for free memory", func() C.CUresult { return C.d_memory(g.context, &f, &t) })
	if err == nil && (f > t || t > mostMemory) {
		err = Wrong("%d of %d bytes of memory are free", uint64(f), uint64(t))
	}
	return int64(f), int64(t), err
}

func (g *gpu) Alloc(bytes int64) (Pointer, error) {
	if bytes < 0 {
		return 0, fmt.Errorf("%d bytes of memory: want 0 or more", bytes)
	}
	var at C.CUdeviceptr
	err := g.do("allocating "+sizeText(bytes)+" on the GPU", func() C.CUresult {
		// The driver refuses to allocate 0 bytes.
		return C.d_alloc(g.context, &at, C.size_t(max(bytes, 1)))
	})
	if e, ok := err.(*Error); ok && e.Code == codeOutOfMemory {
		if free, total, err := g.Memory(); err == nil {
			e.More = fmt.Sprintf("%s of %s are free", sizeText(free), sizeText(total))
		}
	}
	return Pointer(at), err
}

// sizeText formats a number of bytes.
func sizeText(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	if bytes < 1<<30 {
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
}

func (g *gpu) Free(at Pointer) error {
	return g.do("freeing memory of the GPU", func() C.CUresult { return C.d_free(g.context, C.CUdeviceptr(at)) })
}

func (g *gpu) Write(to Pointer, from []byte) error {
	if len(from) == 0 {
		return nil
	}
	return g.do("copying "+sizeText(int64(len(from)))+" to the GPU", func() C.CUresult {
		return C.d_write(g.context, C.CUdeviceptr(to), unsafe.Pointer(&from[0]), C.size_t(len(from)))
	})
}

func (g *gpu) Read(to []byte, from Pointer) error {
	if len(to) == 0 {
		// Read also waits for kernels and returns their errors, even of nothing.
		return g.Sync()
	}
	return g.do("copying "+sizeText(int64(len(to)))+" from the GPU", func() C.CUresult {
		return C.d_read(g.context, unsafe.Pointer(&to[0]), C.CUdeviceptr(from), C.size_t(len(to)))
	})
}

func (g *gpu) Fill(at Pointer, value byte, bytes int64) error {
	if bytes <= 0 {
		return nil
	}
	return g.do("filling "+sizeText(bytes)+" of the GPU", func() C.CUresult {
		return C.d_fill(g.context, C.CUdeviceptr(at), C.uchar(value), C.size_t(bytes))
	})
}

func (g *gpu) Sync() error {
	return g.do("waiting for the GPU", func() C.CUresult { return C.d_sync(g.context) })
}

// Close implements Device. It waits for calls that other goroutines make.
func (g *gpu) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	if code := C.d_close(g.device); code != 0 && g.failed.Load() == nil {
		return newError("closing "+g.Info.Name, code)
	}
	return nil
}

// module is the kernels of a module on a gpu. It implements Module.
type module struct {
	gpu       *gpu
	handle    unsafe.Pointer
	mu        sync.Mutex
	functions map[string]unsafe.Pointer
}

// logBytes is room for the messages of the driver's compiler.
const logBytes = 4096

// Load implements Device. A module stays loaded as long as the device is open: computations load the same kernels again
// and again, and a driver that cannot cache them on disk would compile them each time.
func (g *gpu) Load(ptx []byte) (Module, error) {
	g.loading.Lock()
	defer g.loading.Unlock()
	m := g.modules[string(ptx)]
	if m == nil {
		var err error
		if m, err = g.compile(ptx); err != nil {
			return nil, err
		}
		g.modules[string(ptx)] = m
	}
	if err := g.do("loading kernels", func() C.CUresult { return 0 }); err != nil { // not on a lost device
		return nil, err
	}
	return m, nil
}

func (g *gpu) compile(ptx []byte) (*module, error) {
	m := &module{gpu: g, functions: map[string]unsafe.Pointer{}}
	image := append(append(make([]byte, 0, len(ptx)+1), ptx...), 0)
	log := make([]byte, logBytes)
	err := g.do("compiling kernels for the GPU", func() C.CUresult {
		return C.d_load(g.context, &m.handle, unsafe.Pointer(&image[0]), (*C.char)(unsafe.Pointer(&log[0])), logBytes)
	})
	if e, ok := err.(*Error); ok && !e.lost() { // the error of a lost device is shared and has its reason already
		text, _, _ := strings.Cut(string(log), "\x00")
		e.More = strings.Join(strings.Fields(text), " ")
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (m *module) Launch(kernel string, grid Grid, arguments ...any) error {
	if err := grid.check(); err != nil {
		return fmt.Errorf("kernel %s: %w", kernel, err)
	}
	packed, err := Pack(arguments...)
	if err != nil {
		return fmt.Errorf("kernel %s: %w", kernel, err)
	}
	f, err := m.function(kernel)
	if err != nil {
		return err
	}
	m.gpu.last.Store(kernel)
	packed = append(packed, 0) // so that there is a first byte
	return m.gpu.do("launching kernel "+kernel, func() C.CUresult {
		return C.d_launch(m.gpu.context, f, C.unsigned(grid.Blocks), C.unsigned(grid.Threads), unsafe.Pointer(&packed[0]),
			C.size_t(len(packed)-1))
	})
}

func (m *module) function(kernel string) (unsafe.Pointer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.functions[kernel]
	if f == nil {
		name := append([]byte(kernel), 0)
		err := m.gpu.do("finding kernel "+kernel, func() C.CUresult {
			return C.d_function(m.gpu.context, &f, m.handle, (*C.char)(unsafe.Pointer(&name[0])))
		})
		if err != nil {
			return nil, err
		}
		m.functions[kernel] = f
	}
	return f, nil
}
