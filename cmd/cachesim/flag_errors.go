package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cachesim/cachesim/internal/suggest"
)

// explainFlag says of a flag that does not exist which one may be meant, and of a value what the flag wants.
func explainFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var value *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		return unknownFlag(cmd, unknown.GetSpecifiedName())
	case errors.As(err, &unknown):
		return fmt.Errorf("%w; cachesim %s--help lists the flags", err, pathBehind(cmd))
	case errors.As(err, &value) && errors.As(err, new(*strconv.NumError)):
		return fmt.Errorf("--%s %q: want %s", value.GetFlag().Name, value.GetValue(), wantedBy(value.GetFlag()))
	}
	return err
}

// unknownFlag names the nearest flag. All of them would fill lines; the help lists them.
func unknownFlag(cmd *cobra.Command, name string) error {
	var exist []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			exist = append(exist, f.Name)
		}
	})
	if near, ok := suggest.Nearest(name, exist); ok {
		return fmt.Errorf("unknown flag --%s; did you mean --%s? (cachesim %s--help lists the flags)",
			name, near, pathBehind(cmd))
	}
	return fmt.Errorf("unknown flag --%s (cachesim %s--help lists the flags)", name, pathBehind(cmd))
}

// pathBehind returns the names of a command behind that of the program, each followed by a space.
func pathBehind(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return ""
	}
	return pathBehind(cmd.Parent()) + cmd.Name() + " "
}

// wantedBy says what a value of a flag looks like.
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
