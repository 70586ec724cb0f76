// Package resources has the flags of commands for what they may use: memory, a device, and a folder of stored
// neighbours.
package resources

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/cache/capacity"
)

// leastMemory is a little more than the program needs without any trace.
const leastMemory = 64 << 20

// memoryFlag is --memory: a number of bytes, or a share of the available memory. It implements pflag.Value.
type memoryFlag struct {
	text  string
	bytes int64   // 0 if share is given
	share float64 // 0 if bytes are given
}

// RegisterMemory adds the flag for commands whose memory depends on a trace.
func RegisterMemory(cmd *cobra.Command) {
	cmd.Flags().Var(&memoryFlag{}, "memory",
		"most memory to use: a size (8GiB), or a share of what the machine or its control group has (default "+
			"75%)")
}

func (f *memoryFlag) String() string { return f.text }
func (f *memoryFlag) Type() string   { return "SIZE" }

func (f *memoryFlag) Set(text string) (err error) {
	f.text = text
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		share, err := strconv.ParseFloat(percent, 64)
		if err != nil || !(share > 0 && share <= 100) {
			return fmt.Errorf("want a share above 0%% and of at most 100%%")
		}
		f.share = share / 100
		return nil
	}
	f.bytes, err = capacity.ParseBytes(text)
	if err == nil && f.bytes < leastMemory {
		err = fmt.Errorf("want at least %s: the program needs nearly that much "+
			"without a trace", memory.Bytes(leastMemory))
	}
	return err
}

func (f *memoryFlag) budget() (*memory.Budget, error) {
	switch {
	case f == nil || f.text == "":
		return memory.Default(), nil
	case f.share > 0:
		return memory.Share(f.share, f.text), nil
	}
	return memory.New(f.bytes, "--memory "+f.text)
}

type budgetKey struct{}

func BudgetOf(cmd *cobra.Command) *memory.Budget {
	budget, _ := cmd.Context().Value(budgetKey{}).(*memory.Budget)
	return budget
}

// WatchMemory gives a command its budget and calls stop before the command exceeds it, and end if it exceeds it
// nevertheless.
func WatchMemory(cmd *cobra.Command, stop context.CancelCauseFunc, end func(error)) (endWatch func(), err error) {
	var flag *memoryFlag
	if f := cmd.Flags().Lookup("memory"); f != nil {
		flag, _ = f.Value.(*memoryFlag) // for sweep submit it is the memory of another machine
	}
	budget, err := flag.budget()
	if err != nil {
		return nil, err
	}
	cmd.SetContext(context.WithValue(cmd.Context(), budgetKey{}, budget))
	return budget.Watch(stop, end), nil
}
