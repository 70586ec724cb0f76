package prompts

import (
	"math"
	"strconv"
)

// Measured is what the server that wrote a log found of a prompt in its own cache.
type Measured struct {
	Known  bool  // the log says it
	Cached int32 // tokens that were found
	Tokens int32 // of the prompt, as the server counts them; 0 if the log does not say
}

// Measured returns what the log says that its server found of a prompt.
func (p *Columns) Measured(prompt int) Measured {
	if p.measured == nil {
		return Measured{}
	}
	return p.measured[prompt]
}

// HasMeasured reports whether the log says of some prompt what its server found.
func (p *Columns) HasMeasured() bool { return p.measured != nil }

// Found returns the tokens of a prompt that its server found, and all of them, as the server counts them or, if the log
// does not say, as the trace has them.
func (p *Columns) Found(prompt int) (cached, tokens int64) {
	m := p.Measured(prompt)
	if m.Tokens > 0 {
		return int64(m.Cached), int64(m.Tokens)
	}
	return int64(m.Cached), int64(p.InputTokens[prompt])
}

// addMeasured adds what the log says of the next prompt.
func (c *builder) addMeasured(m Measured) {
	if c.measured == nil && m.Known {
		c.measured = make([]Measured, len(c.InputTokens), cap(c.InputTokens))
	}
	if c.measured != nil {
		c.measured = append(c.measured, m)
	}
}

// usageRole is what a field of a log counts.
type usageRole int

const (
	foundTokens   usageRole = iota // of the prompt, in the cache
	readTokens                     // the same, where input tokens are the others
	writtenTokens                  // that were added to the cache, where input tokens are the others
	missedTokens                   // of the prompt, not in the cache
	promptTokens                   // all of the prompt
	inputTokens                    // all, or those that were neither read nor written
	usageRoles
)

// usageNames are the fields in which servers, APIs and their logs count the tokens of a prompt.
var usageNames = map[string]usageRole{
	"cached_tokens":              foundTokens, // OpenAI, within prompt_tokens_details or input_tokens_details; SGLang
	"num_cached_tokens":          foundTokens, // vLLM
	"prompt_cache_hit_tokens":    foundTokens, // DeepSeek
	"prompt_cache_miss_tokens":   missedTokens,
	"cachedContentTokenCount":    foundTokens, // Gemini
	"cached_content_token_count": foundTokens,
	"cache_n":                    foundTokens, // llama.cpp
	"prompt_n":                   missedTokens,

	"gen_ai.usage.cache_read.input_tokens":      foundTokens, // OpenTelemetry
	"gen_ai.usage.cache_read_input_tokens":      foundTokens, // OpenLLMetry
	"llm.token_count.prompt_details.cache_read": foundTokens, // OpenInference
	"cache_read_input_tokens":                   readTokens,  // Anthropic
	"cache_creation_input_tokens":               writtenTokens,
	"cacheReadInputTokens":                      readTokens, // Amazon Bedrock
	"cacheWriteInputTokens":                     writtenTokens,
	"prompt_tokens":                             promptTokens,
	"num_prompt_tokens":                         promptTokens,
	"promptTokenCount":                          promptTokens,
	"prompt_token_count":                        promptTokens,
	"gen_ai.usage.input_tokens":                 promptTokens,
	"gen_ai.usage.prompt_tokens":                promptTokens,
	"llm.token_count.prompt":                    promptTokens,
	"input_tokens":                              inputTokens,
	"inputTokens":                               inputTokens,
}

// Usage is what the fields of a request or its answer count, the first of each kind.
type Usage struct {
	of    [usageRoles]int64
	known [usageRoles]bool
}

// CountsTokens reports whether a field counts the tokens of a prompt.
func CountsTokens(name []byte) bool {
	_, counts := usageNames[string(name)]
	return counts
}

// Set sets the number of the field of a name.
func (u *Usage) Set(name string, n int64) { u.SetText(name, strconv.AppendInt(nil, n, 10)) }

// SetText is Set for a number as it is written, if it is the first of its kind; what is no number says nothing.
func (u *Usage) SetText(name string, text []byte) {
	role, known := usageNames[name]
	n, err := strconv.ParseFloat(string(text), 64)
	if known && err == nil && !u.known[role] {
		u.of[role], u.known[role] = int64(max(-1, min(n, 1<<40))), true
	}
}

// Measured returns what the fields say of a prompt, which has so many tokens in the trace. It is odd if they say what
// cannot be: less than nothing, or more than the prompt has.
func (u *Usage) Measured(tokens int32) (m Measured, odd bool) {
	found := u.of[foundTokens]
	if !u.known[foundTokens] {
		if !u.known[readTokens] {
			return Measured{}, false
		}
		found = u.of[readTokens]
	}
	all, stated := u.all(found)
	if !stated {
		all = int64(tokens)
	}
	if found < 0 || found > all || all > math.MaxInt32 || stated && all <= 0 {
		return Measured{}, true
	}
	m = Measured{Known: true, Cached: int32(found)}
	if stated {
		m.Tokens = int32(all)
	}
	return m, false
}

// Prompt returns the tokens of the prompt and those that the server had of it; ok is false if the fields do not say how
// many the prompt has.
func (u *Usage) Prompt() (tokens, cached int64, ok bool) {
	cached = u.of[foundTokens]
	if !u.known[foundTokens] {
		cached = u.of[readTokens]
	}
	tokens, ok = u.all(cached)
	return tokens, cached, ok
}

// all returns the tokens of the prompt, if the fields say how many they are.
func (u *Usage) all(found int64) (all int64, stated bool) {
	switch {
	case u.known[promptTokens]:
		return u.of[promptTokens], true
	case u.known[missedTokens] && u.known[foundTokens]:
		return found + u.of[missedTokens], true
	case u.known[inputTokens] && u.known[foundTokens]:
		return u.of[inputTokens], true
	case u.known[inputTokens]:
		return u.of[inputTokens] + found + max(0, u.of[writtenTokens]), true
	}
	return 0, false
}
