package logs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// Kind is a kind of log.
type Kind struct {
	File  string // its usual name
	Write func(w *bytes.Buffer)
	// LengthsOnly says that it has no contents that could hit.
	LengthsOnly bool
}

// Kinds are all kinds, by who writes them.
func Kinds() []Kind {
	var all []Kind
	for _, k := range webKinds {
		all = append(all, Kind{File: k.file, Write: func(w *bytes.Buffer) { each(w, k.head, visits(), k.line) }})
	}
	for _, k := range storeKinds {
		all = append(all, Kind{File: k.file, Write: func(w *bytes.Buffer) { each(w, k.head, operations(), k.line) }})
	}
	for _, k := range deviceKinds {
		all = append(all, Kind{File: k.file, Write: func(w *bytes.Buffer) { each(w, k.head, accesses(), k.line) }})
	}
	all = append(all, callLogs()...)
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
