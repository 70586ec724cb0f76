package commandline

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cachesim/cachesim/internal/base/terminal"
)

// A first screen fits a terminal of 80 columns and 24 lines, of which the last is the prompt.
const (
	screenWidth = 80
	ScreenLines = 23
)

// mostExamples is the number of examples on a first screen.
const mostExamples = 3

// Annotations of commands.
const (
	// Screen is the first screen, if that is not made from the command's texts and flags.
	Screen = "screen"
	// Topic is what to name to the command help, if not the command alone.
	Topic = "topic"

	whole = "whole" // the help is to be printed in full
)

// FitHelp has the help of all commands fit one screen: what does not is left to the command help, whose lines are
// broken at the width of the terminal, and stay as they are in a pipe.
func FitHelp(root *cobra.Command) {
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		out := cmd.OutOrStdout()
		var text strings.Builder
		cmd.SetOut(&text)
		show(cmd, args)
		cmd.SetOut(out)
		help, width := text.String(), terminal.Width(out)
		if _, asked := cmd.Annotations[whole]; !asked {
			width = min(cmp.Or(width, screenWidth), screenWidth)
			if !fitsScreen(help) {
				help = cmp.Or(cmd.Annotations[Screen], firstScreen(cmd))
			}
		}
		if width > 0 {
			help = fitted(help, min(width, widestHelp))
		}
		io.WriteString(out, help)
	})
}

// fitsScreen reports whether a help text needs no shorter one.
func fitsScreen(help string) bool {
	lines := strings.Split(strings.TrimSuffix(fitted(help, screenWidth), "\n"), "\n")
	return len(lines) <= ScreenLines && !slices.ContainsFunc(lines, isWide)
}

func isWide(line string) bool { return terminal.StringWidth(line) > screenWidth }

// showWhole prints the help of a command in full.
func showWhole(cmd *cobra.Command, args []string) {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[whole] = "yes"
	cmd.HelpFunc()(cmd, args)
}

// firstScreen returns what a command does, some examples, its subcommands, and the flags that most users need.
func firstScreen(cmd *cobra.Command) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s\n\nUsage: %s\n", terminal.Wrapped(cmd.Short, screenWidth), cmd.UseLine())
	if examples := shortExamples(cmd.Example); len(examples) > 0 {
		fmt.Fprintf(&s, "\n%s\n", strings.Join(examples, "\n"))
	}
	if names := choiceNames(cmd); names != "" {
		fmt.Fprintf(&s, "\n%s\n", names)
	}
	if cmd.HasAvailableSubCommands() {
		s.WriteString("\n")
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(&s, "  %-9s %s\n", sub.Name(), sub.Short)
		}
	}
	flags, left := usualFlags(cmd)
	if len(flags) > 0 {
		fmt.Fprintf(&s, "\n%s\n", strings.Join(described(cmd, flags), "\n"))
	}
	more := "all of it"
	if left > 0 {
		more = fmt.Sprintf("%d more flags, and what it prints", left)
	}
	fmt.Fprintf(&s, "\n%s: %s\n", more, helpCommand(cmd))
	return s.String()
}

// helpCommand is the command that has all flags of another one.
func helpCommand(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return cmd.Name() + " help " + allCommands
	}
	return cmd.Root().Name() + " help " + topic(cmd)
}

// topic is what to name to the command help.
func topic(cmd *cobra.Command) string {
	return cmp.Or(cmd.Annotations[Topic], strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "))
}

// choiceNames returns the names in a command's list of choices.
func choiceNames(cmd *cobra.Command) string {
	title, list, _ := strings.Cut(strings.TrimSpace(cmd.Annotations[Choices]), "\n")
	var names []string
	for line := range strings.Lines(list) {
		names = append(names, strings.Fields(line)[0])
	}
	return terminal.Wrapped(strings.TrimSpace(title+" "+strings.Join(names, ", ")), screenWidth)
}

// shortExamples returns the first examples that fit a line.
func shortExamples(examples string) (short []string) {
	for line := range strings.SplitSeq(examples, "\n") {
		isPart := strings.HasSuffix(line, `\`) || strings.HasPrefix(line, "    ")
		if line != "" && !isPart && !isWide(line) && len(short) < mostExamples {
			short = append(short, line)
		}
	}
	return short
}

// usualFlags returns the flags for the first screen of a command, and how many it leaves out.
func usualFlags(cmd *cobra.Command) (flags []*pflag.Flag, left int) {
	names := strings.Fields(Usual[topic(cmd)])
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Hidden || f.Name == "help":
		case len(names) == 0 && len(flags) < mostFlags || slices.Contains(names, f.Name):
			flags = append(flags, f)
		default:
			left++
		}
	})
	if len(names) > 0 {
		slices.SortFunc(flags, func(a, b *pflag.Flag) int {
			return cmp.Compare(slices.Index(names, a.Name), slices.Index(names, b.Name))
		})
	}
	return flags, left
}

// described returns a line for each flag: its name, and what it takes.
func described(cmd *cobra.Command, flags []*pflag.Flag) (lines []string) {
	widest := 0
	for _, f := range flags {
		widest = max(widest, len(f.Name))
	}
	for _, f := range flags {
		short := "    "
		if f.Shorthand != "" {
			short = "-" + f.Shorthand + ", "
		}
		start := fmt.Sprintf("  %s--%-*s  ", short, widest, f.Name)
		lines = append(lines, start+briefUsage(cmd, f, screenWidth-len(start)))
	}
	return lines
}

// briefUsage says in at most width columns what a flag takes: what briefly has, or the beginning of its usage.
func briefUsage(cmd *cobra.Command, f *pflag.Flag, width int) string {
	flag := "--" + f.Name
	text := cmp.Or(briefly[topic(cmd)+" "+flag], briefly[flag], f.Usage)
	for _, end := range []string{" [", "; ", " (", ": ", ", "} {
		if end == " [" || terminal.StringWidth(text) > width {
			text, _, _ = strings.Cut(text, end)
		}
	}
	return text
}
