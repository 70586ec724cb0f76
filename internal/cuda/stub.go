//go:build !cgo || !linux

package cuda

import (
	"errors"
	"runtime"
)

// Supported reports whether this build can open the driver.
const Supported = false

// List returns an error, because this build cannot open the driver.
func List() ([]Info, error) {
	if runtime.GOOS != "linux" {
		return nil, &Unavailable{"cachesim uses GPUs on Linux only", ""}
	}
	return nil, &Unavailable{"this build of cachesim cannot use GPUs, because it was compiled without cgo",
		"compile it on this machine, with a C compiler (make build)"}
}

func openDevice(Info) (Device, error) { return nil, errors.ErrUnsupported }
