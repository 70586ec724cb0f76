package commandline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/servers"
	"github.com/cachesim/cachesim/internal/results/cost"
)

// Server is the flag --server. It is short for policies with the names of servers, and capacities in bytes.
type Server struct {
	list  string
	Today string // the policy of the server that --today names; "" if it names none
	Timed bool   // --rate says by which clock a server goes
	ByLog bool   // servers go by the clock of the log, and --rate is for prices alone
}

// Register adds the flag.
func (f *Server) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.list, "server", "", "list of servers with their own settings, such as "+
		"'redis(maxmemory=1gb..8gbx2,policy=allkeys-lru|allkeys-lfu),memcached(m=4096)': the memory is the capacity "+
		"(cachesim servers lists all)")
	CompleteNames(cmd, "server", servers.Names)
}

// Apply sets the flags that the list is short for, and that a server in --today is.
func (f *Server) Apply(flags *pflag.FlagSet) error {
	if err := f.applyList(flags); err != nil {
		return err
	}
	return f.applyToday(flags)
}

// applyToday makes a server in --today a policy and a capacity.
func (f *Server) applyToday(flags *pflag.FlagSet) error {
	today := flags.Lookup("today")
	if today == nil {
		return nil
	}
	name, _, _ := strings.Cut(today.Value.String(), "(")
	if _, ok := servers.Find(name); !ok {
		return nil
	}
	listed, err := servers.ParseList(today.Value.String())
	switch {
	case err != nil:
		return fmt.Errorf("--today: %w", err)
	case len(listed.Policies) != 1 || len(listed.Capacities) != 1:
		return fmt.Errorf("--today %s: want one server with one value of its memory, such as redis(maxmemory=4gb)",
			today.Value)
	}
	if err := f.applyRate(flags, &listed); err != nil {
		return err
	}
	f.Today = listed.Policies[0]
	policies := cmp.Or(flags.Lookup("policy").Value.String(), "lru")
	if names, err := params.Split(policies, ','); err != nil || !slices.Contains(names, f.Today) {
		policies += "," + f.Today
	}
	for name, value := range map[string]string{"policy": policies, "bytes": "true",
		"today": capacity.OfBytes(listed.Capacities[0]).String()} {
		if err := flags.Set(name, value); err != nil {
			return err
		}
	}
	return nil
}

// applyRate has servers go by the clock of --rate.
func (f *Server) applyRate(flags *pflag.FlagSet, listed *servers.Listed) error {
	rate := flags.Lookup("rate")
	if rate == nil || rate.Value.String() == "" || f.ByLog {
		return nil
	}
	perSecond, err := cost.ParseRate(rate.Value.String())
	if err != nil {
		return fmt.Errorf("--rate: %w", err)
	}
	f.Timed = listed.SetRate(perSecond) || f.Timed
	return nil
}

func (f *Server) applyList(flags *pflag.FlagSet) error {
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
	if err := f.applyRate(flags, &listed); err != nil {
		return err
	}
	names := listed.Policies
	if text := flags.Lookup("policy").Value.String(); flags.Changed("policy") {
		names = append(names, text)
	}
	capacities := make([]string, len(listed.Capacities))
	for i, bytes := range listed.Capacities {
		capacities[i] = capacity.OfBytes(bytes).String()
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
