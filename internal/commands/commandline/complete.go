package commandline

import "github.com/spf13/cobra"

// CompleteNames completes the last name in a list.
func CompleteNames(cmd *cobra.Command, flag string, names func() []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string,
		cobra.ShellCompDirective) {
		return completeList(typed, names()), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
}

// completeList returns the list typed so far, with its last entry replaced by each name.
func completeList(typed string, names []string) []string {
	head := ""
	for i, c := range typed {
		if c == ',' {
			head = typed[:i+1]
		}
	}
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = head + name
	}
	return out
}
