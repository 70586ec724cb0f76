package cluster

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

var fullKubernetes = Kubernetes{
	Image:   "registry.example.org/cachesim:0.1.0",
	Program: "cachesim",
	Dir:     Volume{claim: "experiments", subPath: "alice/out"},
	Traces:  Volume{hostPath: "/data/traces"},
	Retries: 3,
}

// jobSchema is the published schema of a Kubernetes Job, made strict: a key that the schema does not have is an error.
func jobSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	f := must.Get(os.Open("testdata/kubernetes/job.schema.json"))(t)
	defer f.Close()
	document := must.Get(jsonschema.UnmarshalJSON(f))(t)
	schemas := document.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any)
	for _, schema := range schemas {
		if schema := schema.(map[string]any); schema["properties"] != nil {
			schema["additionalProperties"] = false
		}
	}
	compiler := jsonschema.NewCompiler()
	must.Do(t, compiler.AddResource("job.json", document))
	return must.Get(compiler.Compile("job.json"))(t)
}

func validate(t *testing.T, schema *jsonschema.Schema, manifest []byte) error {
	t.Helper()
	text := must.Get(yaml.YAMLToJSON(manifest))(t)
	instance := must.Get(jsonschema.UnmarshalJSON(strings.NewReader(string(text))))(t)
	return schema.Validate(instance)
}

func TestManifest(t *testing.T) {
	schema := jobSchema(t)
	minimal := Kubernetes{Image: "cachesim", Program: "cachesim", Dir: Volume{hostPath: "/data/out"}}
	hostile := fullKubernetes
	hostile.Program, hostile.Image = `/opt/a "b" 'c'/#cachesim: yes`, "1.0"
	hostile.Dir = Volume{hostPath: "/data/ a: #b\n'\"{{ }}/é"}
	for _, c := range []struct {
		name string
		job  Job
		Kubernetes
	}{
		{"full", Job{Name: "classic-block", Dir: "/data/out", Shards: 8, Parallel: 4, CPUs: 2, Memory: 3 << 29,
			Time: 90 * time.Minute}, fullKubernetes},
		{"minimal", Job{Name: "x", Dir: "/out", Shards: 1, CPUs: 1}, minimal},
		{"hostile", Job{Name: "x", Dir: "/out", Shards: 2, Parallel: 100, CPUs: 1}, hostile},
	} {
		t.Run(c.name, func(t *testing.T) {
			manifest := must.Get(c.Manifest(c.job))(t)
			if err := validate(t, schema, manifest); err != nil {
				t.Errorf("%v\n%s", err, manifest)
			}
			golden(t, c.name+".job.yaml", string(manifest))
			// Values come out as they went in: nothing in a path or a name is read as YAML.
			read := func(path string) (text string) {
				must.Do(t, must.Get(yaml.PathString("$.spec.template.spec."+path))(t).Read(bytes.NewReader(manifest), &text))
				return text
			}
			if image, program := read("containers[0].image"), read("containers[0].command[0]"); image != c.Image ||
				program != c.Program {
				t.Errorf("image %q and program %q became %q and %q", c.Image, c.Program, image, program)
			}
			if c.Dir.hostPath != "" && read("volumes[0].hostPath.path") != c.Dir.hostPath {
				t.Errorf("path %q became %q", c.Dir.hostPath, read("volumes[0].hostPath.path"))
			}
		})
	}
}

// TestSchemaIsStrict shows that the validation above can fail.
func TestSchemaIsStrict(t *testing.T) {
	schema := jobSchema(t)
	manifest := must.Get(fullKubernetes.Manifest(Job{Name: "x", Dir: "/out", Shards: 2, CPUs: 1}))(t)
	for old, wrong := range map[string]string{
		"completions: 2":         `completions: "2"`,
		"completionMode":         "completionmode",
		"backoffLimitPerIndex":   "backoffLimitPerIndexes",
		"action: FailIndex":      "act: FailIndex",
		"claimName: experiments": "name: experiments",
		"value: \"2\"":           "value: 2",
	} {
		changed := strings.Replace(string(manifest), old, wrong, 1)
		if changed == string(manifest) {
			t.Errorf("the manifest has no %s:\n%s", old, manifest)
		} else if validate(t, schema, []byte(changed)) == nil {
			t.Errorf("the schema accepts %s", wrong)
		}
	}
}

func TestKubernetesName(t *testing.T) {
	for _, c := range []struct {
		name   string
		shards int
		want   string
	}{
		{"Two-Optima", 4, "cachesim-two-optima"},
		{strings.Repeat("a", 100), 11, "cachesim-" + strings.Repeat("a", 51)},
		{strings.Repeat("a", 50) + "-" + strings.Repeat("b", 50), 11, "cachesim-" + strings.Repeat("a", 50)},
	} {
		got := KubernetesName(Job{Name: c.name, Shards: c.shards})
		if got != c.want || len(got) > maxLabel {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestParseVolume(t *testing.T) {
	for text, want := range map[string]Volume{
		"pvc:data":       {claim: "data"},
		"pvc:data/a/b/":  {claim: "data", subPath: "a/b"},
		"host:/a b:c":    {hostPath: "/a b:c"},
		"pvc:":           {},
		"pvc:a/../b":     {},
		"pvc:Data_1":     {},
		"host:relative":  {},
		"host:/a/../etc": {},
		"/data":          {},
		"":               {},
	} {
		got, err := ParseVolume(text)
		if got != want || (err == nil) != (want != Volume{}) {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestQuantity(t *testing.T) {
	for bytes, want := range map[int64]string{1: "1", 1000: "1000", 1 << 10: "1Ki", 3 << 29: "1536Mi", 8 << 30: "8Gi",
		1 << 50: "1024Ti"} {
		if got := quantity(bytes); got != want {
			t.Errorf("%d: %s, want %s", bytes, got, want)
		}
	}
}

// golden compares a text with a file in testdata; UPDATE=1 writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		must.Do(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want := must.Get(os.ReadFile(path))(t)
	if got != string(want) {
		t.Errorf("%s differs (UPDATE=1 rewrites it); got:\n%s", path, got)
	}
}
