package memory

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// newGauge returns a function that measures the process's memory: pages that it has written to, as a control group
// counts them. If the shell limits the address space, untouched memory counts too.
func newGauge() func() int64 {
	statm, err := os.Open("/proc/self/statm")
	if err != nil {
		return runtimeBytes
	}
	page := int64(os.Getpagesize())
	_, bounded := addressSpace()
	first, _, _ := readPages(statm)
	return func() int64 {
		size, resident, ok := readPages(statm)
		switch {
		case !ok:
			return runtimeBytes()
		case bounded:
			return max(resident, size-first) * page
		}
		return resident * page
	}
}

// readPages returns the pages of the address space and the process's own pages among them.
func readPages(statm *os.File) (size, resident int64, ok bool) {
	var text [128]byte
	n, _ := statm.ReadAt(text[:], 0)
	fields := strings.Fields(string(text[:n]))
	if len(fields) < 3 {
		return 0, 0, false
	}
	var numbers [3]int64
	for i := range numbers {
		var err error
		if numbers[i], err = strconv.ParseInt(fields[i], 10, 64); err != nil {
			return 0, 0, false
		}
	}
	return numbers[0], numbers[1] - numbers[2], true // without mapped files
}

// leastAddressSpace is what the Go runtime needs to work at all: it reserves address space in large pieces and, if that
// fails, ends the program with a dump.
const leastAddressSpace = 2 << 30

// CheckLimits rejects a shell limit that may end the program with a dump at any time.
func CheckLimits() error {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &limit) != nil || limit.Cur >= leastAddressSpace {
		return nil
	}
	return &Error{
		What: "the Go runtime", Need: leastAddressSpace, Left: int64(limit.Cur), Total: int64(limit.Cur),
		Origin: "that is ulimit -v", Help: []string{"ulimit -v unlimited, with --memory as the bound"},
	}
}

// addressSpace returns how much the address space may still grow, if it is limited.
func addressSpace() (bytes uint64, bounded bool) {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &limit) != nil || limit.Cur >= 1<<62 {
		return 0, false
	}
	statm, err := os.Open("/proc/self/statm")
	if err != nil {
		return limit.Cur, true
	}
	defer statm.Close()
	size, _, _ := readPages(statm)
	taken := uint64(size) * uint64(os.Getpagesize())
	// At least 1: Available takes 0 for unknown.
	return max(limit.Cur, taken+1) - taken, true
}
