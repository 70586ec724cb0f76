package commandline

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/base/terminal"
)

// Choices is the annotation of a command with the list of what its first argument may be.
const Choices = "choices"

// ArgumentsError says that a command was given too few or too many arguments.
type ArgumentsError struct {
	error
	help string // the lines below it: examples, and the choices of the command
}

// PrintHelp writes what helps to correct the arguments, in lines that fit the terminal.
func (e ArgumentsError) PrintHelp(w io.Writer) {
	text := e.help
	if width := terminal.Width(w); width > 0 {
		text = fitted(text, min(width, widestHelp))
	}
	io.WriteString(w, text)
}

// refusal is an error of a command's own about its arguments.
type refusal struct{ error }

// Refuse returns an error of a command's own about its arguments, which says all that is needed.
func Refuse(format string, args ...any) error { return refusal{fmt.Errorf(format, args...)} }

// ExplainArguments has all commands say what they want, with examples, where the number of their arguments is wrong.
func ExplainArguments(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		ExplainArguments(cmd)
		check := cmd.Args
		if check == nil {
			continue
		}
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			path := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
			_, wanted, _ := strings.Cut(cmd.Use, " ")
			switch {
			case err == nil || errors.As(err, new(refusal)):
				return err
			case wanted == "":
				return fmt.Errorf("%s takes no arguments; remove %q", path, args[0])
			}
			given := "no argument"
			if len(args) > 0 {
				given = fmt.Sprintf("%d arguments", len(args))
			}
			return ArgumentsError{fmt.Errorf("%s: %s given; want %s %s", path, given, cmd.CommandPath(), wanted), hint(cmd)}
		}
	}
}

// hint returns examples of a command, and the names that its first argument may have.
func hint(cmd *cobra.Command) string {
	text := ""
	if examples := shortExamples(cmd.Example); len(examples) > 0 {
		text += "\nExamples:\n" + strings.Join(examples, "\n") + "\n"
	}
	if names := choiceNames(cmd); names != "" {
		text += "\n" + names + "\n"
	}
	return fmt.Sprintf("%s\n%s says more\n", text, helpCommand(cmd))
}

// allCommands is what the command help takes to list all commands.
const allCommands = "all"

// HelpCommand is the command help: it describes another command, and suggests the nearest one if that does not exist.
func HelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|all]",
		Short: "Describe a command and all its flags, or list all commands",
		Long: `Describes a command in full: what it prints, and all its flags. The flag --help has the examples and the flags
that most users need, on one screen. With all, lists the commands.`,
		Example: `  cachesim help run
  cachesim help gen zipf
  cachesim help all`,
		RunE: func(help *cobra.Command, args []string) error {
			if len(args) == 0 {
				return help.Root().Help()
			}
			if slices.Equal(args, []string{allCommands}) {
				showWhole(help.Root(), nil)
				return nil
			}
			cmd, rest, err := help.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 && cmd.HasAvailableSubCommands() {
				return UnknownCommand(cmd, rest[0])
			}
			showWhole(cmd, rest)
			return nil
		},
		ValidArgsFunction: func(help *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			cmd, rest, err := help.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			names := commandsOf(cmd)
			if cmd == help.Root() {
				names = append(names, allCommands)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// UnknownCommand suggests the command of parent that is nearest to a name.
func UnknownCommand(parent *cobra.Command, name string) error {
	kind := "command"
	if parent.HasParent() {
		kind += " of " + parent.Name()
	} else if strings.ContainsAny(name, `./\`) {
		return fmt.Errorf("%q is neither a file nor a command; cachesim TRACE replays a file, cachesim --help lists the "+
			"commands", name)
	}
	return suggest.Unknown(kind, name, commandsOf(parent))
}

func commandsOf(parent *cobra.Command) (names []string) {
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}
