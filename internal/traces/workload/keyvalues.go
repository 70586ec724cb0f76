package workload

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/cachesim/cachesim/internal/base/llm"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// CheckKV refuses a description of keys and values that cannot be read; "" is none. It reads no file.
func CheckKV(text string) error {
	if text == "" {
		return nil
	}
	_, err := llm.Parse(text)
	return err
}

// keyValues is what the keys and values of a workload take; the zero value if it does not say.
type keyValues struct {
	text  string
	every bool // layers with a window keep all tokens
	llm.KeyValues
}

// keyValues reads the description of keys and values, and the configuration that it names, searched for in dirs.
func (w Workload) keyValues(dirs []string) (k keyValues, err error) {
	if w.KV == "" {
		return k, nil
	}
	spec, err := llm.Parse(w.KV)
	if err == nil && spec.File() != "" {
		var path string
		if path, err = Find(spec.File(), dirs); err == nil {
			spec = spec.WithFile(path)
		}
		if missing := (*MissingError)(nil); errors.As(err, &missing) {
			missing.What = "configuration of a model"
		}
	}
	if err == nil {
		k = keyValues{text: w.KV, every: spec.WindowsAll()}
		k.KeyValues, err = spec.KeyValues()
	}
	if err != nil {
		return k, fmt.Errorf("keys and values %s: %w", w.KV, err)
	}
	return k, nil
}

// WithModel returns w and its trace with the keys and values of the model that the log itself names, if a preset is
// known for it; ok is false if there is none, or if w says what they take.
func (w Workload) WithModel(t *traces.Trace) (_ Workload, _ *traces.Trace, ok bool, err error) {
	p, model := prompts.Of(t.Kind), t.Model()
	if _, unknown := llm.Find(model); p == nil || w.KV != "" || model == "" || unknown != nil {
		return w, t, false, nil
	}
	w.KV = "model=" + model
	k, err := w.keyValues(nil)
	if err != nil {
		return w, t, false, err
	}
	own := *t.Requested()
	columns := *p
	if asked := prompts.Of(own.Kind); asked != p {
		columns = *asked
	}
	own.Kind = &columns
	if err = k.set(&own); err != nil {
		return w, t, false, err
	}
	t, err = own.WithAnswers(cmp.Or(w.Answers, prompts.AnswersKept))
	return w, t, true, err
}

// set gives the blocks of a trace their bytes.
func (k keyValues) set(t *traces.Trace) error {
	if k.text == "" {
		return nil
	}
	p := prompts.Of(t.Kind)
	if p == nil {
		return fmt.Errorf("keys and values %s: %s has no prompts; remove --kv (kv in an experiment), or use a trace of "+
			"prompts (see: cachesim formats)", k.text, t.Name)
	}
	if err := p.SetMemory(k.KeyValues, k.every, t.Objects, t.Groups); err != nil {
		return fmt.Errorf("keys and values %s: %w", k.text, err)
	}
	return nil
}
