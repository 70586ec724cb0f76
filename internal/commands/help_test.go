package commands

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/traces/gen"
)

// The help of gen with a generator is about that generator only.
func TestHelpOfOneGenerator(t *testing.T) {
	for generator, want := range map[string]struct{ has, lacks []string }{
		"cluster": {[]string{"Generates cluster: ", "--jobs", "--listing", "(default 0.1)", "gen cluster --jobs 9+14"},
			[]string{"--objects", "--keys", "--size", "[cluster]", "gen zipf", "Sizes, for"}},
		"zipf(alpha=1)": {[]string{"Generates zipf: ", "--objects", "--keys", "Sizes, for --size", "gen zipf -n"},
			[]string{"--jobs", "--listing", "zipf-drift", "gen cluster"}},
		"dialogue": {[]string{"--requests int", "(default 10000)", "--zipf"}, []string{"--objects", "[dialogue"}},
	} {
		var stdout, stderr bytes.Buffer
		if code := run([]string{"help", "gen", generator}, nil, &stdout, &stderr); code != exitFine {
			t.Fatalf("%s: exit code %d: %s", generator, code, &stderr)
		}
		for _, text := range want.has {
			if !strings.Contains(stdout.String(), text) {
				t.Errorf("%s: the help lacks %q:\n%s", generator, text, &stdout)
			}
		}
		for _, text := range want.lacks {
			if strings.Contains(stdout.String(), text) {
				t.Errorf("%s: the help has %q:\n%s", generator, text, &stdout)
			}
		}
	}
}

// checkScreen requires that a command prints at most 23 lines of 80 columns, so that a terminal shows all of them and
// the prompt, and returns these.
func checkScreen(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if got := run(args, strings.NewReader(""), &out, &out); got != code {
		t.Fatalf("%q: exit code %d: %s", args, got, &out)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if code != exitFine { // where there is no terminal, errors are not broken
		lines = terminal.Wrap(strings.TrimSuffix(out.String(), "\n"), 80)
	}
	if len(lines) > commandline.ScreenLines {
		t.Errorf("%q: %d lines, want at most %d:\n%s", args, len(lines), commandline.ScreenLines, &out)
	}
	for _, line := range lines {
		if terminal.StringWidth(line) > 80 {
			t.Errorf("%q: longer than 80 columns: %s", args, line)
		}
	}
	return out.String()
}

// commandsBelow returns all visible commands with their names on the command line.
func commandsBelow(parent *cobra.Command) (all [][]string) {
	for _, cmd := range parent.Commands() {
		if !cmd.Hidden {
			all = append(append(all, strings.Fields(cmd.CommandPath())[1:]), commandsBelow(cmd)...)
		}
	}
	return all
}

// The program without arguments, its help and that of each command fit a screen, and so does a wrong number of
// arguments. The whole help has all flags.
func TestFirstScreensFit(t *testing.T) {
	first := checkScreen(t, exitFine)
	screen := checkScreen(t, exitFine, "--help")
	for _, text := range []string{first, screen} {
		i := strings.Index(text, "\n  cachesim ")
		if i < 0 || !strings.HasPrefix(text[i:], "\n  cachesim access.log ") {
			t.Errorf("the first example is not cachesim access.log:\n%s", text)
		}
	}
	if screen != checkScreen(t, exitFine, "help") {
		t.Error("cachesim help and --help differ")
	}
	commands := append(commandsBelow(newRootCommand()), []string{"completion"})
	words := strings.FieldsFunc(screen, func(r rune) bool { return strings.ContainsRune(" ,\n", r) })
	for _, name := range commands {
		if len(name) == 1 && !slices.Contains(words, name[0]) {
			t.Errorf("the help does not name %s", name[0])
		}
	}
	for _, generator := range gen.Names() {
		commands = append(commands, []string{"gen", generator})
	}
	for _, name := range commands {
		short := checkScreen(t, exitFine, append(slices.Clone(name), "--help")...)
		var whole, stderr bytes.Buffer
		if code := run(append([]string{"help"}, name...), nil, &whole, &stderr); code != exitFine {
			t.Fatalf("help %q: exit code %d: %s", name, code, &stderr)
		}
		if len(name) > 1 && name[0] == "gen" || name[0] == "completion" {
			continue // has some of the flags of gen, and none
		}
		cmd, _, err := newRootCommand().Find(name)
		must.Do(t, err)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(whole.String(), " --"+f.Name) {
				t.Errorf("help %q has no --%s", name, f.Name)
			}
		})
		for _, flag := range strings.Fields(commandline.Usual[strings.Join(name, " ")]) {
			if !strings.Contains(short, " --"+flag) {
				t.Errorf("%q has no flag --%s", name, flag)
			}
		}
	}
	for name := range commandline.Usual {
		if !slices.ContainsFunc(commands, func(c []string) bool { return strings.Join(c, " ") == name }) {
			t.Errorf("there is no command %s", name)
		}
	}
	for _, name := range []string{"run", "curve", "gen", "compare", "convert", "embed", "sweep"} {
		checkScreen(t, exitWrongUse, name)
	}
}
