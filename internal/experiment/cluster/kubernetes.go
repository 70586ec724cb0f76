package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
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

// The parts of a batch/v1 Job that are used here, under the names of the API.
type (
	job struct {
		APIVersion string   `yaml:"apiVersion"`
		Kind       string   `yaml:"kind"`
		Metadata   metadata `yaml:"metadata"`
		Spec       jobSpec  `yaml:"spec"`
	}
	metadata struct {
		Name   string            `yaml:"name,omitempty"`
		Labels map[string]string `yaml:"labels"`
	}
	jobSpec struct {
		CompletionMode       string           `yaml:"completionMode"`
		Completions          int              `yaml:"completions"`
		Parallelism          int              `yaml:"parallelism"`
		BackoffLimitPerIndex int              `yaml:"backoffLimitPerIndex"`
		PodFailurePolicy     podFailurePolicy `yaml:"podFailurePolicy"`
		Template             podTemplate      `yaml:"template"`
	}
	podFailurePolicy struct {
		Rules []failureRule `yaml:"rules"`
	}
	failureRule struct {
		Action          string         `yaml:"action"`
		OnExitCodes     *exitCodes     `yaml:"onExitCodes,omitempty"`
		OnPodConditions []podCondition `yaml:"onPodConditions,omitempty"`
	}
	exitCodes struct {
		ContainerName string `yaml:"containerName"`
		Operator      string `yaml:"operator"`
		Values        []int  `yaml:"values"`
	}
	podCondition struct {
		Type string `yaml:"type"`
	}
	podTemplate struct {
		Metadata metadata `yaml:"metadata"`
		Spec     podSpec  `yaml:"spec"`
	}
	podSpec struct {
		RestartPolicy                string      `yaml:"restartPolicy"`
		AutomountServiceAccountToken bool        `yaml:"automountServiceAccountToken"`
		ActiveDeadlineSeconds        int64       `yaml:"activeDeadlineSeconds,omitempty"`
		Containers                   []container `yaml:"containers"`
		Volumes                      []volume    `yaml:"volumes"`
	}
	container struct {
		Name         string    `yaml:"name"`
		Image        string    `yaml:"image"`
		Command      []string  `yaml:"command"`
		Env          []envVar  `yaml:"env"`
		Resources    resources `yaml:"resources"`
		VolumeMounts []mount   `yaml:"volumeMounts"`
	}
	envVar struct {
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
	}
	resources struct {
		Requests map[string]string `yaml:"requests"`
		Limits   map[string]string `yaml:"limits,omitempty"`
	}
	mount struct {
		Name      string `yaml:"name"`
		MountPath string `yaml:"mountPath"`
		SubPath   string `yaml:"subPath,omitempty"`
		ReadOnly  bool   `yaml:"readOnly,omitempty"`
	}
	volume struct {
		Name                  string        `yaml:"name"`
		PersistentVolumeClaim *volumeClaim  `yaml:"persistentVolumeClaim,omitempty"`
		HostPath              *hostPathSpec `yaml:"hostPath,omitempty"`
	}
	volumeClaim struct {
		ClaimName string `yaml:"claimName"`
	}
	hostPathSpec struct {
		Path string `yaml:"path"`
		Type string `yaml:"type"`
	}
)

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
	manifest := job{
		APIVersion: "batch/v1",
		Kind:       "Job",
		Metadata:   metadata{Name: KubernetesName(j), Labels: labels},
		Spec: jobSpec{
			CompletionMode:       "Indexed",
			Completions:          j.Shards,
			Parallelism:          parallelism,
			BackoffLimitPerIndex: k.Retries,
			PodFailurePolicy:     failurePolicy(),
			Template:             podTemplate{Metadata: metadata{Labels: labels}, Spec: k.pod(j)},
		},
	}
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

// failurePolicy gives a shard up immediately if the program says that it cannot run it (for example because a trace is
// missing), because a retry would end the same. It does not count a pod that the cluster itself removed. A shard that
// ran out of memory (exit code 3) is retried like one that was killed: its finished cells stay, so less is left to do.
func failurePolicy() podFailurePolicy {
	return podFailurePolicy{Rules: []failureRule{
		{Action: "FailIndex", OnExitCodes: &exitCodes{ContainerName: containerName, Operator: "In", Values: []int{2}}},
		{Action: "Ignore", OnPodConditions: []podCondition{{Type: "DisruptionTarget"}}},
	}}
}

const failureComment = `# A shard that ends with exit code 2 cannot be done and is given up. One that ends with 3 ran out of memory: it is tried again, as its
# finished cells stay; if that does not help, submit again with a larger --memory.
`

func (k Kubernetes) pod(j Job) podSpec {
	amounts := map[string]string{"cpu": strconv.Itoa(j.CPUs)}
	limits := map[string]string{}
	if j.Memory > 0 {
		amounts["memory"] = quantity(j.Memory)
		limits["memory"] = amounts["memory"]
	}
	if j.Device.NeedsGPU() {
		limits["nvidia.com/gpu"] = "1"
	}
	c := container{
		Name:  containerName,
		Image: k.Image,
		Command: append([]string{k.Program, "sweep", "run", dirMount, "--jobs", strconv.Itoa(j.CPUs)},
			j.flags()...),
		Env:          []envVar{{"CACHESIM_SHARDS", strconv.Itoa(j.Shards)}},
		Resources:    resources{Requests: amounts, Limits: limits},
		VolumeMounts: []mount{k.Dir.mount("sweep", dirMount, false)},
	}
	volumes := []volume{k.Dir.volume("sweep")}
	if k.Traces != (Volume{}) {
		c.Env = append(c.Env, envVar{"CACHESIM_TRACES", tracesMount})
		c.VolumeMounts = append(c.VolumeMounts, k.Traces.mount("traces", tracesMount, true))
		volumes = append(volumes, k.Traces.volume("traces"))
	}
	return podSpec{
		RestartPolicy:         "Never", // required by a failure policy; the Job itself starts another pod
		ActiveDeadlineSeconds: ceil(int64(j.Time), 1e9),
		Containers:            []container{c},
		Volumes:               volumes,
	}
}

func (v Volume) mount(name, at string, readOnly bool) mount {
	return mount{Name: name, MountPath: at, SubPath: v.subPath, ReadOnly: readOnly}
}

func (v Volume) volume(name string) volume {
	if v.claim != "" {
		return volume{Name: name, PersistentVolumeClaim: &volumeClaim{v.claim}}
	}
	return volume{Name: name, HostPath: &hostPathSpec{v.hostPath, "Directory"}}
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
