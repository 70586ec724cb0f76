package commandline

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cachesim/cachesim/internal/cache/servers"
)

// Server is the flag --server. It is short for policies with the names of servers, and capacities in bytes.
type Server struct{ list string }

// Register adds the flag.
func (f *Server) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.list, "server", "", "list of servers with their own settings, such as "+
		"'redis(maxmemory=1gb..8gbx2,policy=allkeys-lru|allkeys-lfu),memcached(m=4096)': the memory is the capacity "+
		"(cachesim servers lists all)")
	CompleteNames(cmd, "server", servers.Names)
}

// Apply sets the flags that the list is short for.
func (f *Server) Apply(flags *pflag.FlagSet) error {
	if f.list == "" {
		return nil
	}
	listed, err := servers.ParseList(f.list)
	if err != nil {
		return fmt.Errorf("--server: %w", err)
	}
	if flags.Changed("unit-size") {
		return errors.New("--server and --unit-size: servers count bytes; remove --unit-size")
	}
	names := listed.Policies
	if text := flags.Lookup("policy").Value.String(); flags.Changed("policy") {
		names = append(names, text)
	}
	capacities := make([]string, len(listed.Capacities))
	for i, bytes := range listed.Capacities {
		capacities[i] = fmt.Sprintf("%dB", bytes)
		if bytes%(1<<20) == 0 {
			capacities[i] = fmt.Sprintf("%dMiB", bytes>>20)
		}
	}
	if len(capacities) > 0 && flags.Changed("capacity") {
		return fmt.Errorf("--server %s and --capacity: both state the memory; remove one of them", f.list)
	}
	set := map[string]string{"policy": strings.Join(names, ","), "bytes": "true"}
	if len(capacities) > 0 {
		set["capacity"] = strings.Join(capacities, ",")
	}
	for name, value := range set {
		if err := flags.Set(name, value); err != nil {
			return err
		}
	}
	flags.Lookup("server").Changed = false // what it stands for is written instead, where commands are suggested
	return nil
}
