package programs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
)

// version is that of the protocol.
const version = 1

// saidFirst is what a program says of its policy at the beginning.
type saidFirst struct {
	name, source         string // "" if it does not say
	text                 bool   // events are lines
	hits, misses, admits bool   // what it wants
}

// exampleGreeting is a greeting as errors show it.
const exampleGreeting = `policy 1 name="my lru" format=text wants=hits`

// readGreeting reads the first line of a program.
func readGreeting(line string) (g saidFirst, err error) {
	wrong := func(what string, args ...any) (saidFirst, error) {
		return g, fmt.Errorf("the program greets with %q, %s; want a line such as %s", line, fmt.Sprintf(what, args...),
			exampleGreeting)
	}
	words, err := params.Words(line)
	switch {
	case err != nil:
		return wrong("where a quote is not closed")
	case len(words) < 2 || words[0] != "policy":
		return wrong("which does not begin with the word policy and a version")
	case words[1] != strconv.Itoa(version):
		return wrong("which is version %q of the protocol and not %d", words[1], version)
	}
	g.hits, g.misses, g.text = true, true, true
	for _, word := range words[2:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "name":
			g.name = value
		case "source":
			g.source = value
		case "format":
			if g.text = value == "text"; !g.text && value != "binary" {
				return wrong("whose format is neither text nor binary")
			}
		case "wants":
			g.hits, g.misses = false, false
			if err = g.want(value); err != nil {
				return wrong("%v", err)
			}
		default:
			return wrong("where %q is neither name=, source=, format= nor wants=", word)
		}
	}
	return g, nil
}

// want reads the list of what a program wants.
func (g *saidFirst) want(list string) error {
	for what := range strings.SplitSeq(list, ",") {
		switch what {
		case "hits":
			g.hits = true
		case "misses":
			g.misses = true
		case "admit":
			g.admits = true
		case "":
		default:
			return fmt.Errorf("which wants %q, and not hits, misses or admit", what)
		}
	}
	return nil
}
