package logs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

// Kind is a kind of log.
type Kind struct {
	File  string // its usual name
	Write func(w *bytes.Buffer)
	// LengthsOnly says that it has no contents that could hit.
	LengthsOnly bool
}

// kind is a log by its usual name, what it begins with, and the line, or two, of an event, as a template of its fields.
type kind struct{ file, head, line string }

// functions are those of the templates beside the methods of events.
var functions = template.FuncMap{
	"add": func(a, b int64) int64 { return a + b },
	"mul": func(a, b int64) int64 { return a * b },
	"div": func(a, b int64) int64 { return a / b },
	"mod": func(a, b int64) int64 { return a % b },

	"agent": func() string { return agent }, "clf": func() string { return clf },
	"repeat": func(text string, n int64) string { return strings.Repeat(text, int(n)) },
	"upper":  strings.ToUpper, "replaceAll": strings.ReplaceAll,
}

// Kinds are all kinds, by who writes them.
func Kinds() []Kind {
	return slices.Concat(written(webKinds, visits), written(storeKinds, operations), written(deviceKinds, accesses),
		callLogs())
}

// written are kinds whose lines are of the same events.
func written[T any](kinds []kind, events func() []T) (all []Kind) {
	for _, k := range kinds {
		line := template.Must(template.New(k.file).Funcs(functions).Parse(k.line + "\n"))
		all = append(all, Kind{File: k.file, Write: func(w *bytes.Buffer) {
			w.WriteString(k.head)
			for _, e := range events() {
				if err := line.Execute(w, e); err != nil {
					panic(err)
				}
			}
		}})
	}
	return all
}

// callLogs are the kinds of logs of language models.
func callLogs() (all []Kind) {
	calls := calls()
	for _, k := range callKinds {
		all = append(all, Kind{File: k.file, LengthsOnly: k.lengthsOnly,
			Write: func(w *bytes.Buffer) { k.write(w, calls) }})
	}
	return all
}

// each writes a head, and a line or two for each event.
func each[T any](w *bytes.Buffer, head string, events []T, line func(T) string) {
	w.WriteString(head)
	for _, e := range events {
		fmt.Fprintln(w, line(e))
	}
}

// Write writes all kinds into a folder, which it makes.
func Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, k := range Kinds() {
		var content bytes.Buffer
		k.Write(&content)
		if err := os.WriteFile(filepath.Join(dir, k.File), content.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
