package commands

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"text/template"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// slurm is a cluster of one node that lives in a temporary folder and uses only the loopback interface. The node has
// four cores, whatever the machine has.
type slurm struct {
	t   *testing.T
	dir string
	env []string // of its commands
}

// slurmConf needs neither systemd nor cgroups nor a database. The small MinJobAge makes sbatch --wait ask every two
// seconds.
var slurmConf = template.Must(template.New("").Parse(`ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmctldPort={{.ControllerPort}}
SlurmdPort={{.NodePort}}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={{.Dir}}/munge.sock
CredType=cred/munge
StateSaveLocation={{.Dir}}/state
SlurmdSpoolDir={{.Dir}}/spool
SlurmctldPidFile={{.Dir}}/slurmctld.pid
SlurmdPidFile={{.Dir}}/slurmd.pid
SlurmctldLogFile={{.Dir}}/slurmctld.log
SlurmdLogFile={{.Dir}}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
MinJobAge=4
SlurmdParameters=config_overrides
NodeName=localhost NodeHostname={{.Host}} NodeAddr=127.0.0.1 CPUs=4 RealMemory=4096
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`))

// startSlurm starts the daemons and waits until the node accepts jobs. They end with the test. If Slurm is not
// installed, the test is skipped.
func startSlurm(t *testing.T) *slurm {
	t.Helper()
	needSlurm(t)
	// The path of munge's socket must be short.
	dir := must.Get(os.MkdirTemp("/tmp", "slurm"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &slurm{t: t, dir: dir, env: append(os.Environ(), "SLURM_CONF="+filepath.Join(dir, "slurm.conf"))}
	s.configure()
	s.start("munged", "--foreground", "--force", "--num-threads=1", "--key-file="+s.path("munge.key"),
		"--socket="+s.path("munge.sock"), "--pid-file="+s.path("munged.pid"), "--log-file="+s.path("munged.log"),
		"--seed-file="+s.path("munge.seed"))
	s.waitFor("munged", func() bool { _, err := os.Stat(s.path("munge.sock")); return err == nil })
	s.start("slurmctld", "-D", "-f", s.path("slurm.conf"))
	s.start("slurmd", "-D", "-N", "localhost", "-f", s.path("slurm.conf"))
	s.waitFor("the node", func() bool {
		out, err := s.command("sinfo", "--noheader", "--format=%T").Output()
		return err == nil && strings.TrimSpace(string(out)) == "idle"
	})
	t.Cleanup(s.endJobs)
	return s
}

func needSlurm(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a Slurm cluster of its own; skipped with -short")
	}
	for _, program := range []string{"munged", "slurmctld", "slurmd", "sbatch"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs Slurm (Debian's slurm-wlm): %v", err)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("needs to be root, as which slurmd runs")
	}
}

func (s *slurm) path(name string) string { return filepath.Join(s.dir, name) }

func (s *slurm) configure() {
	s.t.Helper()
	host, err := os.Hostname()
	must.Do(s.t, err)
	host, _, _ = strings.Cut(host, ".")
	var conf bytes.Buffer
	ports := freePorts(s.t, 2)
	err = slurmConf.Execute(&conf, map[string]any{"Dir": s.dir, "Host": host, "ControllerPort": ports[0],
		"NodePort": ports[1]})
	key := make([]byte, 1024)
	rand.Read(key)
	err = errors.Join(err,
		os.Chmod(s.dir, 0o755),
		os.Mkdir(s.path("state"), 0o755),
		os.Mkdir(s.path("spool"), 0o755),
		os.WriteFile(s.path("slurm.conf"), conf.Bytes(), 0o644),
		os.WriteFile(s.path("munge.key"), key, 0o600))
	must.Do(s.t, err)
}

// freePorts returns ports on which nothing listens. All are open at the same time, so that they differ. They are below
// those that the system gives to other programs, which could take them before the daemons do.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for tries := 0; len(ports) < n; tries++ {
		port := 10_000 + mathrand.IntN(20_000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			if tries > 1000 {
				t.Fatal(err)
			}
			continue
		}
		defer l.Close()
		ports = append(ports, port)
	}
	return ports
}

// start starts a daemon in the foreground. It ends with the test, or with this program if that is killed.
func (s *slurm) start(program string, args ...string) {
	s.t.Helper()
	out := must.Get(os.Create(s.path(program + ".out")))(s.t)
	defer out.Close()
	cmd := s.command(program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must.Do(s.t, cmd.Start())
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	s.t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			cmd.Process.Kill()
			<-ended
		}
		if s.t.Failed() {
			s.t.Logf("%s: %s%s", program, tail(s.path(program+".out")), tail(s.path(program+".log")))
		}
	})
}

func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text[max(0, len(text)-2000):])
}

// command returns a command that talks to this cluster.
func (s *slurm) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = s.env
	return cmd
}

// waitFor waits for a condition that is soon true, unless something is broken.
func (s *slurm) waitFor(what string, holds func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if holds() {
			return
		}
	}
	s.t.Fatalf("waited in vain for %s", what)
}

// endJobs kills what still runs, so that it does not outlive the daemons.
func (s *slurm) endJobs() {
	s.command("scancel", "--state=PENDING", "--user=root").Run()
	s.command("scancel", "--signal=KILL", "--full", "--user=root").Run()
	for range 50 {
		if out, err := s.command("squeue", "--noheader").Output(); err != nil || len(out) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Fprintln(os.Stderr, "jobs of the test cluster still run")
}
