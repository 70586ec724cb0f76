package lists

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/cache/servers/configuration"
)

func newServersCommand() *cobra.Command {
	cmd := newListCommand(&cobra.Command{
		Use:   "servers [NAME...]",
		Short: "List the servers with their settings, or describe some of them",
		Long: `Lists every server that is predicted as the program itself behaves: what an item takes, when it is evicted or
expires, and what is refused; its settings with their defaults, by the program's own names; and what the model was held
against. Given names, describes these servers: what each setting means. docs/servers.md compares them with the real
programs.`,
		Example: `  cachesim servers
  cachesim servers redis memcached
  cachesim run monitor.log --server 'redis(maxmemory=1gb..8gbx2),valkey'`,
	}, Servers)
	cmd.AddCommand(&cobra.Command{
		Use:   "import FILE",
		Short: "Read the settings of a running server, for --server",
		Long: `Reads redis.conf, nginx.conf, squid.conf, my.cnf, postgresql.conf or the command line of varnishd, or what a
server says of itself: INFO of Redis or Valkey, stats and stats settings of memcached, param.show and varnishstat of
Varnish. Prints the server as --server reads it, and the command that replays a log through it. - is standard input.`,
		Example: `  cachesim servers import /etc/redis/redis.conf
  redis-cli INFO | cachesim servers import -
  printf 'stats\r\nstats settings\r\nquit\r\n' | nc localhost 11211 | cachesim servers import -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return importServer(cmd, args[0]) },
	})
	return cmd
}

func importServer(cmd *cobra.Command, path string) error {
	in := cmd.InOrStdin()
	if path != "-" {
		file, err := filestate.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	server, notes, err := configuration.Import(in, path)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s %s\n", path, note)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n\nnext: cachesim run LOG --server '%s'\n", server, server)
	return err
}
