package programs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// Web is how a caching web server is started.
type Web struct {
	Dir    string // for its files
	Origin string // host and port
	Log    string // the path of its log
	Format string // of the log, as the configuration of the server writes it; "" for that of the server
	Size   string // of its cache, as the configuration of the server writes it
	Rules  string // further lines: of nginx in the location, of Varnish its VCL, of others anywhere
	Path   string // of nginx: further settings of proxy_cache_path
}

// write writes a configuration, and returns its path. Servers that give up their rights can write beside it.
func (w *Web) write(t testing.TB, name, format string, args ...any) (path string) {
	must.Do(t, os.MkdirAll(w.Dir, 0o777))
	for dir := w.Dir; dir != filepath.Dir(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		_ = os.Chmod(dir, 0o777)
	}
	path = filepath.Join(w.Dir, name)
	must.Do(t, os.WriteFile(path, fmt.Appendf(nil, format, args...), 0o644))
	return path
}

// Nginx starts nginx.
func Nginx(t testing.TB, w Web) *Process {
	program, port := Find(t, "nginx"), FreePort(t)
	format, name := "", "combined"
	if w.Format != "" {
		escape := ""
		if w.Format[0] == '{' {
			escape = "escape=json "
		}
		format, name = "log_format own "+escape+"'"+w.Format+"';", "own"
	}
	path := w.write(t, "nginx.conf", `daemon off; worker_processes 1; pid %[1]s/pid; error_log %[1]s/err; %[10]s
events { worker_connections 256; }
http {
	%[2]s access_log %[3]s %[4]s;
	client_body_temp_path %[1]s/t1; proxy_temp_path %[1]s/t2; fastcgi_temp_path %[1]s/t3; uwsgi_temp_path %[1]s/t4;
	scgi_temp_path %[1]s/t5; keepalive_requests 100000000;
	proxy_cache_path %[1]s/c levels=1:2 keys_zone=z:16m max_size=%[5]s %[6]s use_temp_path=off;
	upstream u { server %[7]s; keepalive 4; }
	server { listen 127.0.0.1:%[8]d; location / {
		proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_cache z; %[9]s
	} }
}`, w.Dir, format, w.Log, name, w.Size, w.Path, w.Origin, port, w.Rules, userOfNginx())
	return Start(t, port, program, "-p", w.Dir, "-c", path)
}

// userOfNginx lets nginx keep its rights. Only root can choose.
func userOfNginx() string {
	if os.Getuid() == 0 {
		return "user root;"
	}
	return ""
}

// Varnish starts Varnish, and varnishncsa, which writes its log.
func Varnish(t testing.TB, w Web) *Process {
	program, logger, port := Find(t, "varnishd"), Find(t, "varnishncsa"), FreePort(t)
	host, originPort, _ := strings.Cut(w.Origin, ":")
	vcl := w.write(t, "v.vcl", "vcl 4.1;\nbackend b { .host = \"%s\"; .port = \"%s\"; }\n%s\n", host, originPort, w.Rules)
	p := Start(t, port, program, "-F", "-j", "none", "-n", w.Dir+"/state", "-a", address(port), "-T", "none", "-f", vcl,
		"-s", "s0=malloc,"+w.Size)
	args := []string{"-n", w.Dir + "/state", "-a", "-w", w.Log}
	if w.Format != "" {
		args = append(args, "-F", w.Format)
	}
	log := exec.Command(logger, args...)
	must.Do(t, log.Start())
	time.Sleep(time.Second) // until it has found what to read
	both := &Process{port, func() {
		time.Sleep(time.Second) // until the log is written
		_ = log.Process.Signal(syscall.SIGTERM)
		_ = log.Wait()
		p.End()
	}}
	t.Cleanup(both.End)
	return both
}

// Squid starts Squid in front of the origin.
func Squid(t testing.TB, w Web) *Process {
	program, port := Find(t, "squid"), FreePort(t)
	host, originPort, _ := strings.Cut(w.Origin, ":")
	format, name := "", "squid"
	if w.Format != "" {
		format, name = "logformat own "+w.Format, "own"
	}
	path := w.write(t, "s.conf", `http_port 127.0.0.1:%d accel vhost
cache_peer %s parent %s 0 no-query originserver no-digest name=o
http_access allow all
cache_mem %s
maximum_object_size_in_memory 512 KB
%s
access_log stdio:%s %s
cache_log %[8]s/cache.log
cache_store_log none
pid_filename %[8]s/pid
coredump_dir %[8]s
shutdown_lifetime 1 seconds
netdb_filename none
pinger_enable off
%[9]s
`, port, host, originPort, w.Size, format, w.Log, name, w.Dir, w.Rules)
	return Start(t, port, program, "-N", "-f", path)
}

// apacheModules is where Debian and Ubuntu have the modules of Apache.
const apacheModules = "/usr/lib/apache2/modules"

// Apache starts Apache httpd with a cache on disk.
func Apache(t testing.TB, w Web) *Process {
	program, port := Find(t, "apache2"), FreePort(t)
	if _, err := os.Stat(apacheModules); err != nil {
		t.Skipf("the modules of Apache are not installed: %v", err)
	}
	path := w.write(t, "apache.conf", `ServerRoot %[1]s
LoadModule mpm_event_module %[2]s/mod_mpm_event.so
LoadModule authz_core_module %[2]s/mod_authz_core.so
LoadModule cache_module %[2]s/mod_cache.so
LoadModule cache_disk_module %[2]s/mod_cache_disk.so
LoadModule proxy_module %[2]s/mod_proxy.so
LoadModule proxy_http_module %[2]s/mod_proxy_http.so
LoadModule headers_module %[2]s/mod_headers.so
Listen 127.0.0.1:%[3]d
ServerName www.example.org:80
User nobody
Group nogroup
PidFile %[1]s/pid
ErrorLog %[1]s/error.log
Mutex file:%[1]s
MaxKeepAliveRequests 0
CacheRoot %[1]s/cache
CacheEnable disk /
CacheHeader on
AllowEncodedSlashes NoDecode
ProxyPreserveHost On
ProxyPass / http://%[4]s/ nocanon
LogFormat "%[5]s" own
CustomLog %[6]s own
%[7]s
`, w.Dir, apacheModules, port, w.Origin, strings.ReplaceAll(w.Format, `"`, `\"`), w.Log, w.Rules)
	must.Do(t, os.MkdirAll(w.Dir+"/cache", 0o777))
	must.Do(t, os.Chmod(w.Dir+"/cache", 0o777))
	return Start(t, port, program, "-f", path, "-X")
}

// TrafficServer starts Traffic Server in front of the origin. Its log is in its own folder: Log is a link to it.
func TrafficServer(t testing.TB, w Web) *Process {
	program, port := Find(t, "traffic_server"), FreePort(t)
	for _, folder := range []string{"etc", "run", "log", "cache", "share"} {
		must.Do(t, os.MkdirAll(filepath.Join(w.Dir, folder), 0o777))
	}
	w.write(t, "etc/records.config", `CONFIG proxy.config.http.server_ports STRING %d
CONFIG proxy.config.admin.user_id STRING #-1
CONFIG proxy.config.log.logging_enabled INT 3
CONFIG proxy.config.log.max_secs_per_buffer INT 1
CONFIG proxy.config.url_remap.pristine_host_hdr INT 1
`, port)
	w.write(t, "etc/storage.config", "%s/cache %s\n", w.Dir, w.Size)
	w.write(t, "etc/remap.config", "map / http://%s/\n%s", w.Origin, w.Rules)
	w.write(t, "etc/ip_allow.yaml", "ip_allow:\n  - apply: in\n    ip_addrs: 0/0\n    action: allow\n    methods: ALL\n")
	w.write(t, "etc/logging.yaml", "logging:\n  formats:\n    - name: own\n      format: '%s'\n  logs:\n"+
		"    - filename: access\n      format: own\n      mode: ascii\n", w.Format)
	must.Do(t, os.Symlink(filepath.Join(w.Dir, "log", "access.log"), w.Log))
	root := w.write(t, "runroot.yaml", `prefix: %[1]s
exec_prefix: %[1]s
bindir: /usr/bin
sbindir: /usr/sbin
sysconfdir: %[1]s/etc
datadir: %[1]s/share
includedir: /usr/include
libdir: /usr/lib/trafficserver
libexecdir: /usr/lib/trafficserver/modules
localstatedir: %[1]s/run
runtimedir: %[1]s/run
logdir: %[1]s/log
cachedir: %[1]s/cache
`, w.Dir)
	return Start(t, port, program, "--run-root="+root)
}

// HAProxy starts HAProxy with a cache in memory of Size megabytes. It prints its log.
func HAProxy(t testing.TB, w Web) *Process {
	program, port := Find(t, "haproxy"), FreePort(t)
	format := "option httplog"
	if w.Format != "" {
		format = "log-format '" + w.Format + "'"
	}
	path := w.write(t, "haproxy.cfg", `global
	log stdout format raw local0
defaults
	mode http
	log global
	%s
	timeout connect 5s
	timeout client 30s
	timeout server 30s
cache c
	total-max-size %s
	max-object-size 500000
	max-age 3600
frontend http-in
	bind 127.0.0.1:%d
	http-request cache-use c
	http-response cache-store c
	default_backend static
	%s
backend static
	server srv1 %s
`, format, w.Size, port, w.Rules, w.Origin)
	return startInto(t, w.Log, port, program, "-db", "-f", path)
}
