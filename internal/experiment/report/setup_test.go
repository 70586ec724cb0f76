package report

import (
	"reflect"
	"testing"

	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/records"
)

// The setup on the page lists the parts of every kind.
func TestSetupListsEveryKindOfPart(t *testing.T) {
	f := &experiment.File{}
	v := reflect.ValueOf(f).Elem()
	for i := range v.NumField() {
		if v.Field(i).Type() == reflect.TypeFor[[]experiment.Part]() {
			v.Field(i).Set(reflect.ValueOf([]experiment.Part{{Use: "some " + v.Type().Field(i).Tag.Get("yaml")}}))
		}
	}
	listed := map[string]string{}
	for _, s := range setup(f, nil) {
		listed[s.Name] = s.Value
	}
	for _, k := range records.PartKinds {
		if want := "some " + k.Plural + ",omitempty"; listed[k.Plural] != want {
			t.Errorf("%s: %q, want %q", k.Plural, listed[k.Plural], want)
		}
	}
}
