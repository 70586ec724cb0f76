package promptlogs

import (
	"bytes"

	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// mostNested is how many objects within each other may be around a field of tokens.
const mostNested = 8

// ReadUsage reads the field of a name, and those within it, for what they say of the tokens of a prompt.
func ReadUsage(u *prompts.Usage, name []byte, s *source.JSONScanner) error {
	return readUsage(u, name, s, mostNested)
}

func readUsage(u *prompts.Usage, name []byte, s *source.JSONScanner, depth int) (err error) {
	begins, counts := s.Peek(), prompts.CountsTokens(name)
	var text []byte
	switch {
	case begins == '{' && depth > 0:
		return s.Object(func(key []byte) error { return readUsage(u, key, s, depth-1) })
	case counts && (begins == '-' || begins >= '0' && begins <= '9'):
		text, err = s.Number()
	case counts && begins == '"': // of exports that write all values as texts
		text, err = s.String()
	default:
		return s.Skip()
	}
	u.SetText(string(name), text)
	return err
}

// measured returns what the fields of a log say that its server found of a prompt. What cannot be is counted, and
// unknown.
func measured(u *prompts.Usage, tokens int32, reading *stream.Reading) prompts.Measured {
	m, odd := u.Measured(tokens)
	if odd {
		reading.Notable = stream.Count(reading.Notable, "with cached tokens below 0 or above those of the prompt, which "+
			"count as unknown", 1)
	}
	return m
}

// setMeasured sets what the log says that the server found of a prompt, unless it is known.
func (c *collector) setMeasured(p *collected, q *request) {
	if !p.Measured.Known {
		p.Measured = measured(&q.usage, p.InputTokens, c.src.Reading)
	}
}

// lmcacheMark is in lines of LMCache beside those of vLLM.
const lmcacheMark = "LMCache hit tokens: "

// readLMCache reads what LMCache found of a prompt that vLLM has logged: "Reqid: cmpl-1-0, Total tokens 700, LMCache
// hit tokens: 512, need to load: -176". What vLLM has found itself need not be loaded, so that less than nothing is to
// be loaded if that is more.
func (r *vllmReader) readLMCache(line []byte) (read bool) {
	_, rest, ok := bytes.Cut(line, []byte("Reqid: "))
	name, rest, found := bytes.Cut(rest, []byte(", Total tokens "))
	if !ok || !found {
		return false
	}
	at, known := r.names[string(name)]
	if !known {
		return false
	}
	numbers := func(mark string) (n int64) {
		_, text, _ := bytes.Cut(rest, []byte(mark))
		if end := bytes.IndexAny(text, ", ("); end >= 0 {
			text = text[:end]
		}
		digits, negative := bytes.CutPrefix(text, []byte("-"))
		if value, ok := source.ParseWhole(digits); ok && value <= maxTokens {
			n = int64(value)
		}
		if negative {
			return -n
		}
		return n
	}
	hits, load := numbers(lmcacheMark), numbers("need to load: ")
	q := &request{}
	q.usage.Set("cached_tokens", max(hits, hits-load))
	q.usage.Set("prompt_tokens", numbers(""))
	r.setMeasured(&r.prompts[at], q)
	return true
}
