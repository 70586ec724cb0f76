package commandline

import (
	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/serving/route"
)

// Nodes is the flag --nodes, the number of nodes of the routers in --route.
type Nodes struct {
	number  string
	routers *string // what --route has
	applied bool
}

// Register adds the flag beside --route, whose value it completes.
func (n *Nodes) Register(cmd *cobra.Command, routers *string) {
	n.routers = routers
	cmd.Flags().StringVar(&n.number, "nodes", "", "nodes that serve requests, each with a cache of the given capacity, "+
		"or their number from some times since the first request on, as in 4@0s,8@600s; --route chooses the node "+
		"of a request")
}

// Apply gives each router the number, once: a command may begin again with other flags.
func (n *Nodes) Apply(cmd *cobra.Command) (err error) {
	if Changed(cmd, "nodes") && !n.applied {
		n.applied = true
		*n.routers, err = route.WithNodes(*n.routers, n.number)
	}
	return err
}

// Note says how requests are routed if the user has not.
func (n *Nodes) Note(cmd *cobra.Command, quiet bool) {
	if Changed(cmd, "nodes") && !Changed(cmd, "route") {
		Note(cmd, quiet, "the nodes serve requests in turn ("+*n.routers+"); --route chooses other routers")
	}
}
