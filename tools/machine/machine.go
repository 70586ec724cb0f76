// Package machine names the machine that something was measured on.
package machine

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
)

// Name returns the number of cores and the processor.
func Name() string {
	cpu, _ := os.ReadFile("/proc/cpuinfo") // elsewhere: the architecture
	return named(runtime.NumCPU(), cpu)
}

// named names a machine by its cores and its processor, as the text of /proc/cpuinfo has it.
func named(cores int, cpuinfo []byte) string {
	processor := runtime.GOARCH
	lines := strings.Split(string(cpuinfo), "\n")
	if i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "model name") }); i >= 0 {
		_, processor, _ = strings.Cut(lines[i], ":")
	}
	return fmt.Sprintf("%d cores, %s", cores, strings.Join(strings.Fields(processor), " "))
}
