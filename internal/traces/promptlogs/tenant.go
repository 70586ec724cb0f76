package promptlogs

import (
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/traces/source"
)

const tenantOption = "tenant"

// tenantParam is the option of formats whose prompts are JSON objects.
func tenantParam() params.Param {
	return params.Param{Name: tenantOption, Default: "", Doc: "field with the tenant of a prompt, such as user, or " +
		"metadata.user_id within an object; by default none"}
}

// tenantField finds the tenant of a prompt in the JSON object that states it. Its methods may be called on nil: no
// tenants are requested.
type tenantField struct {
	path    []string
	scanner source.JSONScanner
	names   map[string]string // each name once, however many prompts have it
	found   bool              // in some object
	others  []string          // fields of the first object
	seen    bool              // the first object
}

// newTenantField returns the field that the options request, and states it.
func newTenantField(src *source.Source, opts params.Values) *tenantField {
	name, _ := opts[tenantOption].(string)
	if name == "" {
		return nil
	}
	src.Reading.Tenant = "tenant " + name
	return &tenantField{path: strings.Split(name, "."), names: map[string]string{}}
}

// name returns the path as the user writes it.
func (f *tenantField) name() string { return strings.Join(f.path, ".") }

// of returns the tenant that an object names, "" if it names none. What is no object is for others to refuse.
func (f *tenantField) of(object []byte) (tenant string, err error) {
	if f == nil {
		return "", nil
	}
	f.scanner.Reset(object)
	if f.scanner.Peek() != '{' {
		return "", nil
	}
	var wrong error
	_ = f.scanner.Object(func(key []byte) error {
		if !f.seen {
			f.others = append(f.others, string(key))
		}
		return f.enter(key, f.path, &tenant, &wrong)
	})
	f.seen = true
	return tenant, wrong
}

// enter reads the value of a key, if it is the first of a path, and skips any other.
func (f *tenantField) enter(key []byte, path []string, tenant *string, wrong *error) error {
	s := &f.scanner
	switch {
	case string(key) != path[0]:
		return s.Skip()
	case len(path) > 1 && s.Peek() == '{':
		return s.Object(func(key []byte) error { return f.enter(key, path[1:], tenant, wrong) })
	case len(path) > 1 || s.Peek() == 'n':
		return s.Skip()
	case s.Peek() != '"' && s.Peek() != '-' && !('0' <= s.Peek() && s.Peek() <= '9'):
		*wrong = fmt.Errorf("tenant: %s is no text and no number; want one of them, or null", f.name())
		return s.Skip()
	}
	label, err := s.Label()
	if err != nil {
		return err
	}
	f.found = true
	*tenant = f.once(label)
	return nil
}

// once returns a name, as the same text each time.
func (f *tenantField) once(label []byte) string {
	known, ok := f.names[string(label)]
	if !ok {
		known = string(label)
		f.names[known] = known
	}
	return known
}

// check refuses a field that none of the objects so far has.
func (f *tenantField) check(src *source.Source) error {
	if f == nil || f.found {
		return nil
	}
	return src.Errorf("tenant: %w", suggest.Unknown("field", f.name(), f.others))
}
