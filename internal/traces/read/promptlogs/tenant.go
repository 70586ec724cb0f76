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
	name    string // as the user writes it, with a dot before each field of an object within
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
	return &tenantField{name: name, names: map[string]string{}}
}

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
		return f.enter(string(key), f.name, &tenant, &wrong)
	})
	f.seen = true
	return tenant, wrong
}

// enter reads the value of a key that has the name, or in which the rest of the name may be; it skips any other. A key
// may have dots itself.
func (f *tenantField) enter(key, name string, tenant *string, wrong *error) error {
	s := &f.scanner
	if rest, within := strings.CutPrefix(name, key+"."); within && s.Peek() == '{' {
		return s.Object(func(key []byte) error { return f.enter(string(key), rest, tenant, wrong) })
	}
	switch c := s.Peek(); {
	case key != name || c == 'n':
		return s.Skip()
	case c == '{':
		*wrong = fmt.Errorf("tenant: %s is an object; want a text, a number or null, such as those of its fields: %[1]s.NAME",
			f.name)
		return s.Skip()
	case c != '"' && c != '-' && !('0' <= c && c <= '9'):
		*wrong = fmt.Errorf("tenant: %s is no text and no number; want one of them, or null", f.name)
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

// check refuses a field that none of the objects has, once all have been read.
func (f *tenantField) check(src *source.Source) error {
	if f == nil || f.found {
		return nil
	}
	return src.Errorf("tenant: %w", suggest.Unknown("field", f.name, f.others))
}
