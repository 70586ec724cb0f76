package params

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// fileEntry is an entry whose values name a file that does not exist.
type fileEntry struct{ name, other string }

func (e fileEntry) Signature() (string, []Param) {
	return e.name, []Param{{Name: "model", Default: "", File: true}, {Name: "k", Default: 2, Min: 1, Max: 9}}
}

func (e fileEntry) OtherNames() []string {
	if e.other == "" {
		return nil
	}
	return []string{e.other}
}

func (e fileEntry) CheckValues(v Values) error {
	if v.Text("model") != "" {
		return errors.New("there is no such file")
	}
	return nil
}

func TestRegistry(t *testing.T) {
	r := NewRegistry("tree", "oak", fileEntry{"Oak", "quercus"},
		fileEntry{name: "ash"})
	r.Register(fileEntry{name: "elm"})
	r.Sort(func(a, b fileEntry) int { return strings.Compare(b.name, a.name) })
	if want := []string{"elm", "ash", "Oak"}; !slices.Equal(r.Names(), want) {
		t.Errorf("names %v, want %v", r.Names(), want)
	}
	for _, name := range []string{"oak", "OAK", "Quercus"} {
		if e, ok := r.Find(name); !ok || e.name != "Oak" {
			t.Errorf("%s is %v", name, e)
		}
	}
	if s, err := r.Parse("ASH(k=3)"); err != nil || s.String() != "ash(k=3)" {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := r.Parse("ash(model=a)"); err == nil || err.Error() != "tree ash: there is no such file" {
		t.Errorf("error %v", err)
	}
}

// Paths are changed in a text whose files are not there, and of which Parse would refuse the values.
func TestWithFilesReadsNoFile(t *testing.T) {
	r := NewRegistry("tree", "oak", fileEntry{name: "oak"})
	for text, want := range map[string]string{
		"oak(model=a,k=3)": "oak(model=new/a,k=3)", "oak": "oak(model=,k=2)", "unknown(model=a)": "unknown(model=a)",
		"oak(k=99)": "oak(k=99)", "oak(": "oak(", "": "",
	} {
		if got := r.WithFiles(text, func(path string) string { return "new/" + path }); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// A parameter may be a name or the path of a file: only the second is a path.
func TestNamesAreNoPaths(t *testing.T) {
	p := Param{Name: "template", Default: "none", Choices: []string{"none", "chatml"}, File: true}
	for text, want := range map[string]string{"none": "", "chatml": "", "./chatml": "./chatml", "a.jinja": "a.jinja"} {
		value, err := p.Parse(text)
		if got := p.Path(Values{"template": value}); err != nil || got != want {
			t.Errorf("%s names the file %q, %v, want %q", text, got, err, want)
		}
	}
	p.File = false
	if got := p.Path(Values{"template": "a.jinja"}); got != "" {
		t.Errorf("a text that is no file names %q", got)
	}
}

func TestNamesAreTakenOnce(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a name that is another's other name was accepted")
		}
	}()
	NewRegistry("tree", "oak", fileEntry{"oak", "quercus"}, fileEntry{name: "Quercus"})
}

// openEntry is an entry that takes any numbers.
type openEntry struct{ more []Param }

func (e openEntry) Signature() (string, []Param) {
	return "open", append([]Param{{Name: "k", Default: 2, Min: 1, Max: 9}}, e.more...)
}

func (e openEntry) WithNumbers(names []string) openEntry {
	for _, name := range names {
		e.more = append(e.more, Param{Name: name, Default: math.NaN(), Min: math.Inf(-1)})
	}
	return e
}

// An entry may take parameters that it does not list. They are always written, because they have no default.
func TestOpenEntries(t *testing.T) {
	r := NewRegistry("tree", "open", openEntry{})
	s, err := r.Parse("open(share=0.1,k=3,less=-7)")
	if err != nil || s.String() != "open(k=3,share=0.1,less=-7)" || s.Params.Float("less") != -7 {
		t.Errorf("%v, %v", s, err)
	}
	if s, err := r.Parse("open(k=3)"); err != nil || s.Full() != "open(k=3)" {
		t.Errorf("%v, %v: the entry of the registry has changed", s, err)
	}
	for text, want := range map[string]string{
		"open(share=a)": "share=a: want a number", "open(share=1,share=2)": "share is given twice",
		"open(share)": `parameter "share": want name=value`, "open(k=10)": "k=10: want a number from 1 to 9",
	} {
		if _, err := r.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}
