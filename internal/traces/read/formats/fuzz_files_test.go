package formats

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/read/layouts"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// FuzzFiles reads anything as the file of a format: it is refused with its name, or looks at a log.
func FuzzFiles(f *testing.F) {
	for _, e := range must.Get(descriptions.ReadDir("."))(f) {
		text := must.Get(descriptions.ReadFile(e.Name()))(f)
		file := must.Get(layouts.Parse(e.Name(), text))(f)
		f.Add(text, file.Example())
	}
	f.Fuzz(func(t *testing.T, text []byte, log string) {
		file, err := layouts.Parse("fuzz.yaml", text)
		if err == nil {
			var format source.Format
			if format, err = formatOf(file); err == nil {
				format.Detect(source.NewHead([]byte(log), true), "fuzz.tr")
			}
		}
		if err != nil && !strings.HasPrefix(err.Error(), "fuzz.yaml:") {
			t.Errorf("the error does not name the file: %v", err)
		}
	})
}
