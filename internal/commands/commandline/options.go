package commandline

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
)

// Errors of parts name them as experiments do: "prefetcher next works in the caches exact, tiers". On the command line
// users wrote options, so that the same error says "--prefetch next works in --cache exact, tiers".

// optionError is an error that names options. It implements error, and unwraps to the one that names parts.
type optionError struct {
	text string
	error
}

func (e optionError) Error() string { return e.text }
func (e optionError) Unwrap() error { return e.error }

// InOptions returns an error of a command with the options that the user wrote, or should write.
func InOptions(cmd *cobra.Command, err error) error {
	if err == nil || cmd == nil || cmd.Flags().Lookup("policy") == nil {
		return err // experiments name parts
	}
	text := err.Error()
	for _, kind := range slices.Concat([]string{sim.PolicyKind}, kindNames()) {
		text = partInOptions(cmd, kind, text)
	}
	for _, begins := range []struct{ noun, option string }{
		{"capacity", "capacity"}, {"keys and values", "kv"}, {"series", "series"}, {"a warm-up of", "warmup"},
		{"object-size:", "object-size"}, {"object-overhead:", "object-overhead"},
	} {
		if rest, ok := strings.CutPrefix(text, begins.noun+" "); ok && Changed(cmd, begins.option) {
			text = "--" + begins.option + " " + rest
		} else if ok && begins.noun == "capacity" && Changed(cmd, "bytes") {
			text = "--bytes: " + text
		}
	}
	for _, option := range []string{"by", "tenant"} {
		value := valueOf(cmd, option)
		named := "--" + option + " " + value + ": "
		if value != "" && strings.Contains(text, "unknown column ") && !strings.HasPrefix(text, named) {
			text = named + text
		}
	}
	if text == err.Error() {
		return err
	}
	return optionError{text, err}
}

func kindNames() (names []string) {
	for _, kind := range sim.Kinds {
		names = append(names, kind.Name)
	}
	return names
}

// partInOptions writes parts of a kind as options. One that the text is about must be the user's: a policy may bring a
// cache with it, and --nodes a router.
func partInOptions(cmd *cobra.Command, kind, text string) string {
	noun, plural, option, names := "policy", "policies", "policy", policies.Registry.Names()
	if kind != sim.PolicyKind {
		k := sim.KindOf(kind)
		noun, plural, option, names = kind, k.Plural, FlagOf(k), k.Names()
		if k.Noun != "" {
			noun = k.Noun
		}
	}
	if cmd.Flags().Lookup(option) == nil {
		return text
	}
	for i := range names {
		names[i] = regexp.QuoteMeta(names[i])
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	part := `(` + strings.Join(names, "|") + `)([ ,;:(]|$)`
	advice := regexp.MustCompile(`\bthe (?:` + noun + `|` + plural + `) ` + part)
	text = advice.ReplaceAllString(text, "--"+option+" $1$2")
	subject := regexp.MustCompile(`(^|[ :(])` + noun + ` ` + part)
	if Changed(cmd, option) {
		return subject.ReplaceAllString(text, "$1--"+option+" $2$3")
	}
	if by := bringing[kind]; by != "" && Changed(cmd, by) {
		whole := regexp.MustCompile(`(^|[ :(])` + noun + ` (?:` + strings.Join(names, "|") + `)(?:\([^)]*\))?([ ,;:]|$)`)
		text = whole.ReplaceAllString(text, "$1--"+by+"$2")
	}
	return text
}

// bringing has the options that bring a part of a kind with them: nodes need a router, and tenants an allocator.
var bringing = map[string]string{sim.RouterKind.Name: "nodes", sim.AllocatorKind.Name: "tenant"}

// Changed reports whether the user gave an option.
func Changed(cmd *cobra.Command, option string) bool {
	f := cmd.Flags().Lookup(option)
	return f != nil && f.Changed
}

func valueOf(cmd *cobra.Command, option string) string {
	if !Changed(cmd, option) {
		return ""
	}
	return cmd.Flags().Lookup(option).Value.String()
}

// groupError matches what cobra says of flags that exclude each other.
var groupError = regexp.MustCompile(
	`^if any flags in the group \[.*\] are set none of the others can be; \[(.*)\] were all set$`)

// ExplainGroups says which options exclude each other.
func ExplainGroups(err error) error {
	if err == nil {
		return nil
	}
	found := groupError.FindStringSubmatch(err.Error())
	if found == nil {
		return err
	}
	names := strings.Fields(found[1])
	for i := range names {
		names[i] = "--" + names[i]
	}
	return fmt.Errorf("%s exclude each other; remove all but one", strings.Join(names, " and "))
}

// SeveralPolicies is an error if a text lists policies where one is wanted.
func SeveralPolicies(list string) error {
	if specs, err := policies.Registry.ParseList(list); err != nil || len(specs) < 2 {
		return nil
	}
	return errors.New("--policy " + list + ": want one policy; cachesim run compares several")
}

// FlagOf returns the name of the flag for parts of a kind.
func FlagOf(kind *sim.Kind) string { return cmp.Or(kind.Flag.Name, kind.Name) }

// FirstOperand returns the position of the first argument that is neither a flag of run nor its value; -1 if there is
// none, or if a flag before it is one of the program itself. A flag that does not exist, about which run will say more,
// is taken to have a value unless nothing would be left.
func FirstOperand(root *cobra.Command, args []string) int {
	run, _, err := root.Find([]string{"run"})
	if err != nil {
		return -1
	}
	for i := 0; i < len(args); i++ {
		short, isFlag := strings.CutPrefix(args[i], "-")
		if !isFlag || short == "" {
			return i
		}
		long, isLong := strings.CutPrefix(short, "-")
		name, _, hasValue := strings.Cut(long, "=")
		flag, takesValue := run.Flags().Lookup(name), i+2 < len(args)
		if !isLong {
			flag, hasValue = run.Flags().ShorthandLookup(short[:1]), len(short) > 1
		}
		if flag != nil {
			takesValue = flag.NoOptDefVal == ""
		}
		switch {
		case slices.Contains([]string{"", "help", "version", "h", "v"}, name):
			return -1
		case takesValue && !hasValue:
			i++
		}
	}
	return -1
}
