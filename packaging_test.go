package cachesim_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// The steps of the action are shell scripts that can be parsed, and use the inputs that it declares, and no others.
func TestAction(t *testing.T) {
	text := must.Get(os.ReadFile("action.yml"))(t)
	var action struct {
		Name, Description string
		Inputs            map[string]struct {
			Description string
			Required    bool
			Default     *string
		}
		Runs struct {
			Using string
			Steps []struct {
				Name, ID, If, Uses, Shell, Run string
				Dir                            string `yaml:"working-directory"`
				With, Env                      map[string]any
			}
		}
	}
	must.Do(t, yaml.UnmarshalWithOptions(text, &action, yaml.Strict()))
	if action.Runs.Using != "composite" || len(action.Runs.Steps) < 3 {
		t.Errorf("it runs %s with %d steps", action.Runs.Using, len(action.Runs.Steps))
	}
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`inputs\.(\w+)`).FindAllSubmatch(text, -1) {
		used[string(m[1])] = true
	}
	for name, input := range action.Inputs {
		if !used[name] || input.Description == "" || input.Required == (input.Default != nil) {
			t.Errorf("input %s: used %v, %+v", name, used[name], input)
		}
		delete(used, name)
	}
	if len(used) > 0 {
		t.Errorf("inputs that are not declared: %v", used)
	}
	for _, step := range action.Runs.Steps {
		if (step.Uses == "") == (step.Run == "") || step.Run != "" && step.Shell != "bash" {
			t.Errorf("step %q has neither uses nor run in bash, or both", step.Name)
		}
		if strings.Contains(step.Run, "${{") {
			t.Errorf("step %q pastes an expression into its script; want a variable of env", step.Name)
		}
		if bash, err := exec.LookPath("bash"); err == nil && step.Run != "" {
			check := exec.Command(bash, "-n")
			check.Stdin = strings.NewReader(step.Run)
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("step %q: %v\n%s", step.Name, err, out)
			}
		}
	}
}

// What the image and the formula build is there.
func TestPackagesBuildTheProgram(t *testing.T) {
	must.Get(os.Stat("cmd/cachesim/main.go"))(t)
	dockerfile := string(must.Get(os.ReadFile("packaging/Dockerfile"))(t))
	stages := regexp.MustCompile(`(?m)^FROM (\S+)(?: AS (\w+))?$`).FindAllStringSubmatch(dockerfile, -1)
	if len(stages) != 2 || stages[1][1] != "scratch" || !strings.Contains(dockerfile, "COPY --from="+stages[0][2]+" ") {
		t.Errorf("stages %q, want one that builds and one from scratch with a copy of that", stages)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(must.Get(os.ReadFile("go.mod"))(t)))[1]
	if stages[0][1] != "golang:"+version {
		t.Errorf("the image builds with %s, and go.mod wants %s", stages[0][1], version)
	}
	formula := string(must.Get(os.ReadFile("packaging/cachesim.rb"))(t))
	for name, text := range map[string]string{"Dockerfile": dockerfile, "formula": formula} {
		if !strings.Contains(text, "./cmd/cachesim") || !strings.Contains(text, "CGO_ENABLED") {
			t.Errorf("the %s does not build ./cmd/cachesim without cgo", name)
		}
	}
	if ruby, err := exec.LookPath("ruby"); err == nil {
		if out, err := exec.Command(ruby, "-c", "packaging/cachesim.rb").CombinedOutput(); err != nil {
			t.Errorf("the formula: %v\n%s", err, out)
		}
	}
}

// The site has a search, loads nothing from other servers, and is built with exact versions.
func TestSite(t *testing.T) {
	text := must.Get(os.ReadFile("packaging/site/mkdocs.yml"))(t)
	var config struct {
		Theme struct {
			Name string
			Font bool
		}
		Plugins, Nav []any
		ExtraCSS     []string `yaml:"extra_css"`
	}
	must.Do(t, yaml.Unmarshal(text, &config))
	if config.Theme.Name != "material" || config.Theme.Font || !slices.Contains(config.Plugins, any("search")) ||
		len(config.Nav) < 8 {
		t.Errorf("theme %+v, plugins %v, %d parts", config.Theme, config.Plugins, len(config.Nav))
	}
	if slices.Contains(config.Plugins, any("offline")) {
		t.Error("the plugin offline loads a script from another server")
	}
	for _, file := range config.ExtraCSS {
		must.Get(os.Stat("packaging/site/" + file))(t)
	}
	requirements := string(must.Get(os.ReadFile("packaging/site/requirements.txt"))(t))
	exact := regexp.MustCompile(`^[a-z0-9-]+==[\w.]+$`)
	for line := range strings.Lines(requirements) {
		if !strings.HasPrefix(line, "#") && !exact.MatchString(strings.TrimSpace(line)) {
			t.Errorf("%q names no exact version", line)
		}
	}
	for _, name := range []string{"mkdocs", "mkdocs-" + config.Theme.Name} {
		if !strings.Contains(requirements, "\n"+name+"==") {
			t.Errorf("the requirements lack %s", name)
		}
	}
}
