package embed

import (
	"encoding/json"
	"errors"
	"fmt"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"strconv"
	"strings"
	"unicode"
)

// answer is the answer of a service to a request for embeddings.
type answer struct {
	Data []struct {
		Index     *int     `json:"index"`
		Embedding []number `json:"embedding"`
	} `json:"data"`
	Error any `json:"error"`
}

// number is a component of a vector. Unlike a float32, it refuses null.
type number float32

const longestNumber = 40 // bytes that an error quotes in full

func (n *number) UnmarshalJSON(text []byte) error {
	x, err := strconv.ParseFloat(string(text), 32)
	switch {
	case err != nil && len(text) > longestNumber: // a cut quotation could show a part of the key
		return fmt.Errorf("an embedding with %d bytes that are not a number: want numbers within the range of float32",
			len(text))
	case err != nil:
		return fmt.Errorf("an embedding that contains %q: want numbers within the range of float32", text)
	}
	*n = number(x)
	return nil
}

// parseAnswer returns the vectors of an answer to count texts, in their order and normalized to length 1. Each has dim
// numbers or, if dim is 0, as many as the others.
func (e *Endpoint) parseAnswer(content []byte, count, dim int) ([]float32, error) {
	var a answer
	if err := json.Unmarshal(content, &a); err != nil {
		return nil, fmt.Errorf("cannot read the answer (%w): it begins with %q", err, e.quote(content))
	}
	switch {
	case len(a.Data) == 0 && a.Error != nil:
		return nil, fmt.Errorf("the service answers with an error: %s", e.messageOf(content))
	case len(a.Data) != count:
		return nil, fmt.Errorf("the service answers with %d embeddings: want %d, one for each text", len(a.Data), count)
	}
	if dim == 0 {
		dim = len(a.Data[0].Embedding)
	}
	if dim == 0 || dim > maxDim {
		return nil, fmt.Errorf("an embedding of %d numbers: want 1 to %d", dim, maxDim)
	}
	vectors := make([]float32, count*dim)
	given := make([]bool, count)
	for _, item := range a.Data {
		switch {
		case item.Index == nil:
			return nil, errors.New("an embedding without an index: want one, as it could belong to any text")
		case *item.Index < 0 || *item.Index >= count:
			return nil, fmt.Errorf("an embedding with index %d: want 0 to %d, as there were %d texts", *item.Index,
				count-1, count)
		case given[*item.Index]:
			return nil, fmt.Errorf("two embeddings with index %d: want one for each text", *item.Index)
		case len(item.Embedding) != dim:
			return nil, fmt.Errorf("an embedding of %d numbers: want %d, as requested or as in the others",
				len(item.Embedding), dim)
		}
		given[*item.Index] = true
		vector := vectors[*item.Index*dim:][:dim]
		for i, x := range item.Embedding {
			vector[i] = float32(x)
		}
		if err := queries.Normalize(vector); err != nil {
			return nil, err
		}
	}
	return vectors, nil
}

// messageOf returns the message of an answer that is an error; services wrap it in several ways.
func (e *Endpoint) messageOf(content []byte) string {
	var wrapped struct{ Error, Message, Detail json.RawMessage }
	if json.Unmarshal(content, &wrapped) != nil {
		return e.quote(content)
	}
	for _, part := range []json.RawMessage{wrapped.Error, wrapped.Message, wrapped.Detail} {
		var inner struct{ Message string }
		var text string
		switch {
		case json.Unmarshal(part, &text) == nil && text != "":
			return e.quote([]byte(text))
		case json.Unmarshal(part, &inner) == nil && inner.Message != "":
			return e.quote([]byte(inner.Message))
		}
	}
	return e.quote(content)
}

// quote returns the beginning of a service's text as one printable line, without the key. The cut must not leave a
// part of the key either.
func (e *Endpoint) quote(content []byte) string {
	const longest = 300
	content = content[:min(len(content), maxErrorBytes)]
	text := secret(e.Key).hidden(strings.ToValidUTF8(string(content), ""))
	line := strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return '\uFFFD'
		}
		return r
	}, text))
	if len(line) > longest {
		return strings.ToValidUTF8(line[:longest], "") + "..."
	}
	return line
}
