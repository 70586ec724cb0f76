package commandline

import (
	"slices"
	"strings"
	"testing"
)

// Lines of one paragraph are joined and broken again, descriptions stay in their column, and commands are not broken.
func TestHelpFits(t *testing.T) {
	const command = "  cachesim run a-file-with-a-very-long-name.csv --capacity 1000 --policy lru"
	for help, want := range map[string]string{
		strings.Repeat("word ", 19) + "words\nmore of it.\n\nshort\nlines\n": `word word word word word word word word word
word word word word word word word word word
word words more of it.

short
lines
`,
		"Examples:\n" + command + "\n": "Examples:\n" + command + "\n",
		"Flags:\n  -c, --capacity string   objects, bytes or shares\n": `Flags:
  -c, --capacity string   objects, bytes or
                          shares
`,
		"Flags:\n      --capacities-of-all string   objects\n": `Flags:
      --capacities-of-all string   objects
`,
	} {
		if got := fitted(help, 44); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

// Each text for a first screen is of a flag that some first screen has.
func TestBrieflyIsUsed(t *testing.T) {
	for key := range briefly {
		command, flag, _ := strings.Cut(key, "--")
		command = strings.TrimSpace(command)
		used := Usual[command] == "" && command != "" // all flags are on the screen
		for name, flags := range Usual {
			used = used || (command == "" || name == command) && slices.Contains(strings.Fields(flags), flag)
		}
		if !used {
			t.Errorf("nothing uses the text of %s", key)
		}
	}
}
