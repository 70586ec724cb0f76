package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"

	"github.com/cachesim/cachesim/internal/traces/workload"
)

// Kubernetes is the part of a submission that only Kubernetes has.
type Kubernetes struct {
	Image   string // an image that contains cachesim
	Program string // the path of cachesim in the image, or its name if it is in the image's PATH
	Dir     Volume // contains the folder of the sweep
	Traces  Volume // contains the traces; the zero Volume if none is needed
	Retries int    // number of retries of a failed shard
}

// Where the volumes are in a container.
const (
	dirMount    = "/sweep"
	tracesMount = "/traces"
)

// Volume is storage that every pod can reach: a claim of the cluster, or a folder that is at the same path on every
// node.
type Volume struct {
	claim, subPath string
	hostPath       string
}

// claimName matches the names that Kubernetes accepts for a claim.
var claimName = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)

// ParseVolume parses pvc:CLAIM, pvc:CLAIM/FOLDER or host:/PATH.
func ParseVolume(text string) (Volume, error) {
	kind, rest, _ := strings.Cut(text, ":")
	switch {
	case kind == "pvc":
		claim, folder, _ := strings.Cut(rest, "/")
		if claimName.MatchString(claim) && !escapes(folder) {
			return Volume{claim: claim, subPath: strings.TrimSuffix(folder, "/")}, nil
		}
	case kind == "host" && path.IsAbs(rest) && !escapes(rest):
		return Volume{hostPath: rest}, nil
	}
	return Volume{}, fmt.Errorf("volume %q: want pvc:CLAIM, pvc:CLAIM/FOLDER or host:/PATH", text)
}

// escapes reports whether a path has an element that Kubernetes rejects.
func escapes(folder string) bool {
	for _, element := range strings.Split(folder, "/") {
		if element == ".." {
			return true
		}
	}
	return strings.HasPrefix(folder, "//")
}

// object is a mapping of a manifest, whose keys and values alternate. Those without a value are left out.
func object(keysAndValues ...any) (o yaml.MapSlice) {
	for i := 0; i < len(keysAndValues); i += 2 {
		if value := keysAndValues[i+1]; value != nil && value != "" {
			o = append(o, yaml.MapItem{Key: keysAndValues[i], Value: value})
		}
	}
	return o
}

type list []any

const containerName = "cachesim"

// imageName matches names of images, with registry, tag and digest; Kubernetes checks the rest.
var imageName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:@-]*$`)

// Manifest returns the Job as YAML for `kubectl create -f`. Its pod I runs shard I: Kubernetes gives the number in
// JOB_COMPLETION_INDEX.
func (k Kubernetes) Manifest(j Job) ([]byte, error) {
	if err := errors.Join(j.Check(), k.check()); err != nil {
		return nil, err
	}
	labels := map[string]string{"app.kubernetes.io/name": "cachesim", "app.kubernetes.io/instance": KubernetesName(j)}
	parallelism := j.Shards
	if j.Parallel > 0 {
		parallelism = min(parallelism, j.Parallel)
	}
	manifest := object("apiVersion", "batch/v1", "kind", "Job",
		"metadata", object("name", KubernetesName(j), "labels", labels),
		"spec", object("completionMode", "Indexed", "completions", j.Shards, "parallelism", parallelism,
			"backoffLimitPerIndex", k.Retries, "podFailurePolicy", object("rules", failureRules),
			"template", object("metadata", object("labels", labels), "spec", k.pod(j))))
	var b bytes.Buffer
	b.WriteString(failureComment)
	if err := yaml.NewEncoder(&b, yaml.IndentSequence(true)).Encode(manifest); err != nil {
		return nil, err
	}
	for line := range bytes.Lines(b.Bytes()) {
		if bytes.ContainsFunc(bytes.TrimSuffix(line, []byte("\n")), unicode.IsControl) {
			return nil, fmt.Errorf("a control character in %q, which YAML for Kubernetes cannot have: want another name",
				bytes.TrimSpace(line))
		}
	}
	return b.Bytes(), nil
}

func (k Kubernetes) check() error {
	switch {
	case !imageName.MatchString(k.Image):
		return fmt.Errorf("--image %q: want the name of an image that contains cachesim: letters, digits and ._-/:@", k.Image)
	case k.Dir == (Volume{}):
		return errors.New("want --dir-volume pvc:CLAIM/FOLDER or host:/PATH: where the pods find the folder of the sweep")
	case k.Retries < 0:
		return fmt.Errorf("--retries %d: want 0 or more", k.Retries)
	}
	return nil
}

// failureRules give a shard up immediately if the program says that it cannot run it (for example because a trace is
// missing), because a retry would end the same. They do not count a pod that the cluster itself removed. A shard that
// ran out of memory (exit code 3) is retried like one that was killed: its finished cells stay, so less is left to do.
var failureRules = list{
	object("action", "FailIndex",
		"onExitCodes", object("containerName", containerName, "operator", "In", "values", []int{2})),
	object("action", "Ignore", "onPodConditions", list{object("type", "DisruptionTarget")}),
}

const failureComment = `# A shard that ends with exit code 2 cannot be done and is given up. One that ends with 3 ran out of memory: it is tried again, as its
# finished cells stay; if that does not help, submit again with a larger --memory.
`

func (k Kubernetes) pod(j Job) yaml.MapSlice {
	amounts, limits := map[string]string{"cpu": strconv.Itoa(j.CPUs)}, map[string]string{}
	if j.Memory > 0 {
		amounts["memory"] = quantity(j.Memory)
		limits["memory"] = amounts["memory"]
	}
	if j.Device.NeedsGPU() {
		limits["nvidia.com/gpu"] = "1"
	}
	resources := object("requests", amounts)
	if len(limits) > 0 {
		resources = append(resources, object("limits", limits)...)
	}
	env := list{object("name", "CACHESIM_SHARDS", "value", strconv.Itoa(j.Shards))}
	mounts, volumes := list{k.Dir.mount("sweep", dirMount, nil)}, list{k.Dir.volume("sweep")}
	if k.Traces != (Volume{}) {
		env = append(env, object("name", "CACHESIM_TRACES", "value", tracesMount))
		mounts = append(mounts, k.Traces.mount("traces", tracesMount, true))
		volumes = append(volumes, k.Traces.volume("traces"))
	}
	command := append([]string{k.Program, "sweep", "run", dirMount, "--jobs", strconv.Itoa(j.CPUs)}, j.flags()...)
	var deadline any // in seconds
	if j.Time > 0 {
		deadline = ceil(int64(j.Time), 1e9)
	}
	return object(
		"restartPolicy", "Never", // required by a failure policy; the Job itself starts another pod
		"automountServiceAccountToken", false, "activeDeadlineSeconds", deadline,
		"containers", list{object("name", containerName, "image", k.Image, "command", command, "env", env,
			"resources", resources, "volumeMounts", mounts)},
		"volumes", volumes)
}

func (v Volume) mount(name, at string, readOnly any) yaml.MapSlice {
	return object("name", name, "mountPath", at, "subPath", v.subPath, "readOnly", readOnly)
}

func (v Volume) volume(name string) yaml.MapSlice {
	if v.claim != "" {
		return object("name", name, "persistentVolumeClaim", object("claimName", v.claim))
	}
	return object("name", name, "hostPath", object("path", v.hostPath, "type", "Directory"))
}

// quantity formats bytes as Kubernetes does, in the largest unit that divides them.
func quantity(bytes int64) string {
	units := []string{"", "Ki", "Mi", "Gi", "Ti"}
	i := 0
	for ; i+1 < len(units) && bytes%1024 == 0; i++ {
		bytes /= 1024
	}
	return strconv.FormatInt(bytes, 10) + units[i]
}

// maxLabel is the longest name that Kubernetes allows for a pod's host: the Job's name, a dash and the index.
const maxLabel = 63

// KubernetesName is the name of the Job: lower-case letters, digits and dashes, short enough for the names of its pods.
func KubernetesName(j Job) string {
	room := maxLabel - len("-") - len(strconv.Itoa(j.Shards-1))
	name := "cachesim-" + strings.ToLower(j.Name)
	return strings.TrimRight(name[:min(len(name), room)], "-")
}

// writeManifest writes the manifest of the job and says how to start it.
func (o Submission) writeManifest(ctx context.Context, out io.Writer, s *unfinished, job Job) error {
	k := o.Kubernetes
	k.Program = cmp.Or(o.Program, "cachesim")
	var err error
	if k.Dir, err = parseVolume("dir-volume", o.DirVolume); err != nil {
		return err
	}
	if k.Traces, err = parseVolume("traces-volume", o.TracesVolume); err != nil {
		return err
	}
	if err := s.checkTraces(o.TracesVolume); err != nil {
		return err
	}
	manifest, err := k.Manifest(job)
	if err != nil {
		return err
	}
	path, err := o.write(ctx, out, s.Dir, "job.yaml", string(manifest))
	if err != nil || path == "" {
		return err
	}
	fmt.Fprintf(out, "%s: a job of %s; %d of %d cells are left to run\n", path, shardCount(job.Shards), len(s.missing),
		s.cells())
	fmt.Fprintf(out, "start it:  kubectl create -f %s\n", path)
	fmt.Fprintf(out, "wait:      kubectl wait --for=condition=complete --timeout=-1s job/%s\n",
		KubernetesName(job))
	fmt.Fprintf(out, "collect:   cachesim sweep merge %s\n", s.Dir)
	return nil
}

// parseVolume parses the volume of a flag; an empty one is the zero Volume.
func parseVolume(flag, text string) (Volume, error) {
	if text == "" {
		return Volume{}, nil
	}
	v, err := ParseVolume(text)
	if err != nil {
		return v, fmt.Errorf("--%s: %w", flag, err)
	}
	return v, nil
}

// checkTraces reports traces that a pod cannot find: it searches for them by their relative path in the volume.
func (s *unfinished) checkTraces(tracesVolume string) error {
	for _, c := range s.missing {
		for _, file := range c.Workload.Paths() {
			if tracesVolume == "" {
				return fmt.Errorf("the sweep replays %s: give --traces-volume pvc:CLAIM/FOLDER or host:/PATH, where pods find "+
					"the trace", file)
			}
			if filepath.IsAbs(file) {
				return fmt.Errorf("%s: pods read traces from --traces-volume; write the path relative to it in the experiment, "+
					"name the folder in %s here, and plan again", file, workload.Env)
			}
		}
	}
	return nil
}
