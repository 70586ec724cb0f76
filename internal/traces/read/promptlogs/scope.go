package promptlogs

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

const (
	shareOption = "share"
	shareNone   = "none"
	shareModels = "models"
)

// shareParam is the option of formats whose prompts may name what serves them.
func shareParam() params.Param {
	return params.Param{Name: shareOption, Default: shareNone, Choices: []string{shareNone, shareModels}, Doc: "what " +
		"prompts share that name different models, adapters (LoRA) or cache salts: none, as in servers; or models, their " +
		"blocks, as if all named the same"}
}

// served is what serves a prompt. Prompts share blocks only if all of it is the same.
type served struct{ model, adapter, salt []byte }

// scope returns a hash of what serves a prompt, 0 if the log names nothing of it, or prompts share blocks anyway.
func (s *served) scope(opts params.Values) uint64 {
	if name, _ := opts[shareOption].(string); name != shareNone || len(s.model)+len(s.adapter)+len(s.salt) == 0 {
		return 0
	}
	hash := uint64(0)
	for _, part := range [][]byte{s.model, s.adapter, s.salt} {
		hash = random.Scramble(hash ^ stream.HashText(part))
	}
	return max(hash, 1)
}

// reset forgets what served the prompt before, and keeps its room.
func (s *served) reset() { s.model, s.adapter, s.salt = s.model[:0], s.adapter[:0], s.salt[:0] }

// servedFields are the names of fields with what serves a prompt.
var servedFields = map[string]func(*served) *[]byte{
	"model":        func(s *served) *[]byte { return &s.model },
	"lora":         func(s *served) *[]byte { return &s.adapter },
	"lora_id":      func(s *served) *[]byte { return &s.adapter },
	"lora_name":    func(s *served) *[]byte { return &s.adapter },
	"lora_path":    func(s *served) *[]byte { return &s.adapter },
	"lora_request": func(s *served) *[]byte { return &s.adapter },
	"adapter":      func(s *served) *[]byte { return &s.adapter },
	"adapter_id":   func(s *served) *[]byte { return &s.adapter },
	"cache_salt":   func(s *served) *[]byte { return &s.salt },
	"extra_key":    func(s *served) *[]byte { return &s.salt },
}

// read reads the field of a name, as it is written; null, false and nothing are none. ok is false if it is another one.
func (s *served) read(key string, from *source.JSONScanner) (ok bool, err error) {
	field, ok := servedFields[key]
	if !ok {
		return false, nil
	}
	to := field(s)
	from.Peek()
	start := from.Pos
	if err := from.Skip(); err != nil {
		return true, err
	}
	switch raw := from.Text[start:from.Pos]; string(raw) {
	case "null", "false", `""`, "[]", "{}":
	default:
		*to = append((*to)[:0], raw...)
	}
	return true, nil
}
