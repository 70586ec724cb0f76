package experiment_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/goccy/go-yaml"
	reflected "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment"
)

// schemaPath is where editors and other programs find the schema of experiments.
const schemaPath = "../../docs/experiment.schema.json"

// schemaOfFile makes the schema from the types, with their comments. UnmarshalYAML knows more: ranges, names, what fits
// together.
func schemaOfFile(t *testing.T) []byte {
	t.Helper()
	scalar := &reflected.Schema{OneOf: []*reflected.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}
	list := func(of *reflected.Schema) *reflected.Schema { return &reflected.Schema{Type: "array", Items: of} }
	orList := func(of *reflected.Schema) *reflected.Schema {
		return &reflected.Schema{AnyOf: []*reflected.Schema{of, list(of)}}
	}
	number := &reflected.Schema{OneOf: []*reflected.Schema{{Type: "number"}, {Type: "string", Pattern: "%$"}}}
	notations := map[reflect.Type]*reflected.Schema{
		reflect.TypeFor[experiment.Values]():     orList(scalar),
		reflect.TypeFor[experiment.Capacities](): orList(scalar),
		reflect.TypeFor[experiment.Seeds](): {AnyOf: []*reflected.Schema{{Type: "integer", Minimum: "1"},
			list(&reflected.Schema{Type: "integer", Minimum: "0"})}},
		reflect.TypeFor[experiment.Number]():  number,
		reflect.TypeFor[experiment.Numbers](): orList(number),
		reflect.TypeFor[experiment.Point](): {Type: "object", Required: []string{"values"},
			AdditionalProperties: orList(scalar)},
	}
	r := reflected.Reflector{FieldNameTag: "yaml", ExpandedStruct: true}
	must.Do(t, r.AddGoComments("github.com/cachesim/cachesim/internal/experiment", "."))
	r.Mapper = func(of reflect.Type) *reflected.Schema {
		switch of {
		case reflect.TypeFor[experiment.Policy](), reflect.TypeFor[experiment.Part]():
			keys := r // without this function, which would not end
			keys.Mapper = func(of reflect.Type) *reflected.Schema { return notations[of] }
			keys.DoNotReference, keys.Anonymous = true, true
			inKeys := keys.ReflectFromType(of)
			inKeys.Version = ""
			return &reflected.Schema{AnyOf: []*reflected.Schema{{Type: "string"}, inKeys}}
		}
		return notations[of]
	}
	schema := r.Reflect(&experiment.File{})
	schema.ID, schema.Title = "", "An experiment of cachesim"
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	must.Do(t, encoder.Encode(schema))
	return text.Bytes()
}

// The schema in the docs is that of the types: UPDATE=1 writes it.
func TestSchemaIsThatOfTheTypes(t *testing.T) {
	text := schemaOfFile(t)
	if os.Getenv("UPDATE") == "1" {
		must.Do(t, os.WriteFile(schemaPath, text, 0o644))
	}
	if kept := must.Get(os.ReadFile(schemaPath))(t); !bytes.Equal(kept, text) {
		t.Errorf("%s is another schema; run UPDATE=1 go test ./internal/experiment -run Schema", schemaPath)
	}
}

func TestSchemaAcceptsExperiments(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	must.Do(t, compiler.AddResource("experiment.json",
		must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(must.Get(os.ReadFile(schemaPath))(t))))(t)))
	schema := must.Get(compiler.Compile("experiment.json"))(t)
	validate := func(text []byte) error {
		return schema.Validate(must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(must.Get(yaml.YAMLToJSON(text))(t))))(t))
	}
	files := must.Get(filepath.Glob("../../configs/*.yaml"))(t)
	if len(files) < 70 {
		t.Fatalf("%d experiments, want all", len(files))
	}
	for _, path := range files {
		if err := validate(must.Get(os.ReadFile(path))(t)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for name, text := range map[string]string{
		"an unknown key":   "name: a\ntitle: a\nsource: a\ntraces: [{name: a, file: b}]\npolicies: [lru]\ncolour: red\n",
		"no policies":      "name: a\ntitle: a\nsource: a\ntraces: [{name: a, file: b}]\n",
		"a wrong kind":     "name: a\ntitle: a\nsource: a\ntraces: 3\npolicies: [lru]\n",
		"seeds below zero": "name: a\ntitle: a\nsource: a\ntraces: [{name: a, file: b}]\npolicies: [lru]\nseeds: [-1]\n",
		"a policy's key":   "name: a\ntitle: a\nsource: a\ntraces: [{name: a, file: b}]\npolicies: [{policy: lru, ass: b}]\n",
	} {
		if validate([]byte(text)) == nil {
			t.Errorf("the schema accepts an experiment with %s", name)
		}
	}
}
