// Package commandline has what all commands of a program have in common: errors about flags, and help that fits the
// terminal.
package commandline

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cachesim/cachesim/internal/base/suggest"
)

// ExplainFlag suggests the nearest flag for one that does not exist, and describes the values of one with a wrong
// value.
func ExplainFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var value *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		return unknownFlag(cmd, unknown.GetSpecifiedName())
	case errors.As(err, &unknown):
		return fmt.Errorf("%w; %s --help lists the flags", err, cmd.CommandPath())
	case errors.As(err, &value) && errors.As(err, new(*strconv.NumError)):
		return fmt.Errorf("--%s %q: want %s", value.GetFlag().Name, value.GetValue(), wantedBy(value.GetFlag()))
	}
	return err
}

// unknownFlag names the nearest flag. A list of all flags would fill the screen; the help has it.
func unknownFlag(cmd *cobra.Command, name string) error {
	var exist []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			exist = append(exist, f.Name)
		}
	})
	if near, ok := suggest.Nearest(name, exist); ok {
		return fmt.Errorf("unknown flag --%s; did you mean --%s? (%s --help lists the flags)",
			name, near, cmd.CommandPath())
	}
	return fmt.Errorf("unknown flag --%s (%s --help lists the flags)", name, cmd.CommandPath())
}

// wantedBy describes the values that a flag accepts.
func wantedBy(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "uint", "uint64":
		return "a whole number from 0"
	case "int", "int64":
		return "a whole number"
	case "float64":
		return "a number"
	case "bool":
		return "true or false"
	}
	return "a " + f.Value.Type()
}
