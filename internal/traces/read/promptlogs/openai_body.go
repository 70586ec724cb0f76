package promptlogs

import (
	"bytes"
	"slices"

	"github.com/cachesim/cachesim/internal/traces/chattemplate"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// body reads requests of OpenAI's API and the answers to them, as servers and proxies log them, field by field.
type body struct {
	request
	prompts  [][]byte   // texts, if several are in one request
	idLists  [][]uint64 // likewise, lists of token ids
	created  []byte     // when the answer was made
	hasInput bool       // there are messages or a prompt, even if they are empty
	depth    int        // envelopes around what is being read

	// Of the Responses API and of Anthropic's.
	system     []byte    // instructions, which come before all messages
	previous   string    // the response that the request continues
	responseID string    // the name of the answer
	reply      []message // the answer
	thought    []byte    // what the model thought before its answer
	answering  bool      // what is being read is an answer, whose model may have another name than the request's
}

// mostEnvelopes are how many objects within each other may be around a request or an answer.
const mostEnvelopes = 8

// enters reports whether an object is read as what an envelope holds, and counts it until leave.
func (b *body) enters(s *source.JSONScanner) bool {
	if s.Peek() != '{' || b.depth == mostEnvelopes {
		return false
	}
	b.depth++
	return true
}

func (b *body) leave() { b.depth-- }

func (b *body) reset() {
	b.request.reset()
	b.prompts, b.idLists = b.prompts[:0], b.idLists[:0]
	b.created, b.hasInput, b.depth = nil, false, 0
	b.system, b.previous, b.responseID, b.reply = nil, "", "", nil
	b.thought, b.answering = nil, false
}

// addBody adds the prompts of a request, which may continue earlier ones.
func (c *collector) addBody(earlier *responses, b *body) error {
	if err := c.checkBudget(earlier.complete(b)); err != nil {
		return err
	}
	return b.each(c.add)
}

// each calls add with each prompt of the request: completions may have several.
func (b *body) each(add func(*request) error) error {
	if b.when == nil {
		b.when = b.created
	}
	if b.answer != nil {
		b.answer = thinks(b.thought, b.answer)
	}
	if len(b.messages) > 0 {
		if len(b.system) > 0 {
			b.messages = slices.Insert(b.messages, 0, message{Role: chattemplate.System, Text: b.system})
		}
		return add(&b.request)
	}
	n := len(b.prompts) + len(b.idLists)
	if n == 0 {
		return add(&b.request) // ids alone, or nothing
	}
	for i := range n {
		if i < len(b.prompts) {
			b.text = b.prompts[i]
		} else {
			b.text, b.ids = nil, b.idLists[i-len(b.prompts)]
		}
		if n > 1 { // they share an answer, whose length is then unknown
			b.output, b.answer, b.answerIDs, b.usage = -1, nil, nil, prompts.Usage{}
		}
		if err := add(&b.request); err != nil {
			return err
		}
	}
	return nil
}

// bodyFields read the fields of requests and answers, also of the Responses API and of Anthropic's.
var bodyFields map[string]func(*body, *source.JSONScanner) error

func init() {
	ids := func(b *body, s *source.JSONScanner) error { return readIDs(s, &b.ids) }
	tools := func(b *body, s *source.JSONScanner) error { return keepRaw(s, &b.tools) }
	bodyFields = map[string]func(*body, *source.JSONScanner) error{
		"messages": (*body).readInput, "input": (*body).readInput, "prompt": (*body).readPromptField,
		"prompt_token_ids": ids, "input_ids": ids, "tools": tools, "functions": tools,
		"chat_template_kwargs": func(b *body, s *source.JSONScanner) error { return keepRaw(s, &b.options) },
		"choices":              (*body).readChoices, "usage": (*body).readUsage, "error": (*body).readError,
		"created": func(b *body, s *source.JSONScanner) (err error) {
			b.created, err = timeText(s)
			return err
		},
		"instructions": (*body).readSystem, "system": (*body).readSystem, "conversation": (*body).readConversation,
		"previous_response_id": (*body).readPrevious, "output": (*body).readReplies,
		"content": (*body).readAnthropicAnswer, "id": (*body).readResponseID, "url": (*body).readURL,
		"model": (*body).readModel, "max_tokens": (*body).readMost, "max_completion_tokens": (*body).readMost,
		"max_output_tokens": (*body).readMost,
	}
}

// field reads a field of a request or an answer, and skips any other.
func (b *body) field(key []byte, s *source.JSONScanner) error {
	if read, ok := bodyFields[string(key)]; ok {
		return read(b, s)
	}
	if ok, err := b.served.read(string(key), s); ok {
		return err
	}
	return ReadUsage(&b.usage, key, s)
}

// readMost reads how many tokens the answer may have. What is no such number says nothing.
func (b *body) readMost(s *source.JSONScanner) error {
	if c := s.Peek(); c < '0' || c > '9' {
		return s.Skip()
	}
	text, err := s.Number()
	if n, ok := source.ParseWhole(text); ok && n <= maxTokens {
		b.most = int32(n)
	}
	return err
}

// readError reads why a request failed, if it did.
func (b *body) readError(s *source.JSONScanner) error {
	s.Peek()
	start := s.Pos
	err := s.Skip()
	if !slices.Contains([]string{"null", "false", `""`, "{}", "[]", "0"}, string(s.Text[start:s.Pos])) {
		b.leftOut = "failed"
	}
	return err
}

// readInput reads messages, or one text. Only the first are read: a log may have those of a request twice, by
// themselves and within the request, and answers repeat what the request says.
func (b *body) readInput(s *source.JSONScanner) error {
	if s.Peek() != '"' && s.Peek() != '[' || len(b.messages) > 0 {
		return s.Skip()
	}
	b.hasInput = true
	return b.readMessages(s)
}

// readPromptField reads the prompt of a request; again the first counts. In the Responses API it is the name of a text
// that the server keeps.
func (b *body) readPromptField(s *source.JSONScanner) error {
	if s.Peek() == '{' {
		b.parts = append(b.parts, "stored prompts")
	}
	if len(b.prompts)+len(b.idLists) > 0 {
		return s.Skip()
	}
	b.hasInput = true
	return b.readPrompt(s)
}

// keepRaw reads a value as it is written, unless it is empty: answers repeat fields of the request, perhaps without
// their values.
func keepRaw(s *source.JSONScanner, to *[]byte) error {
	raw, err := rawValue(s)
	if raw != nil {
		*to = raw
	}
	return err
}

// readMessages reads an array of messages, or one text.
func (b *body) readMessages(s *source.JSONScanner) error {
	switch s.Peek() {
	case '"':
		text, err := s.String()
		b.messages = append(b.messages, message{Role: chattemplate.User, Text: text})
		return err
	case '[':
		return s.Array(func() error { return b.readMessage(s) })
	}
	return s.Skip()
}

// partName returns what parts of a type are called.
func partName(kind string) string {
	switch kind {
	case "image_url", "image", "input_image":
		return "images"
	case "input_audio", "audio", "audio_url":
		return "audio"
	case "video", "video_url":
		return "videos"
	case "file", "input_file", "document":
		return "files"
	case "thinking", "redacted_thinking":
		return "thinking"
	}
	return "parts without text"
}

// readPrompt reads a text, token ids, or an array of either.
func (b *body) readPrompt(s *source.JSONScanner) error {
	switch s.Peek() {
	case '"':
		text, err := s.String()
		b.prompts = append(b.prompts, text)
		return err
	case '[':
	default:
		return s.Skip()
	}
	var flat []uint64
	err := s.Array(func() (err error) {
		switch s.Peek() {
		case '"':
			var text []byte
			text, err = s.String()
			b.prompts = append(b.prompts, text)
		case '[':
			var ids []uint64
			err = readIDs(s, &ids)
			b.idLists = append(b.idLists, ids)
		default:
			var id uint64
			id, err = readID(s)
			flat = append(flat, id)
		}
		return err
	})
	if len(flat) > 0 {
		b.idLists = append(b.idLists, flat)
	}
	return err
}

// readIDs reads an array of token ids; anything else is skipped.
func readIDs(s *source.JSONScanner, ids *[]uint64) error {
	*ids = (*ids)[:0]
	return eachElement(s, func() error {
		id, err := readID(s)
		*ids = append(*ids, id)
		return err
	})
}

// maxTokenID is more than any vocabulary has.
const maxTokenID = 1 << 40

func readID(s *source.JSONScanner) (uint64, error) {
	s.Peek()
	start := s.Pos
	text, err := s.Number()
	if err != nil {
		return 0, err
	}
	id, ok := source.ParseWhole(text)
	if !ok || id >= maxTokenID {
		s.Pos = start
		return 0, s.Fail("the id of a token, a whole number from 0")
	}
	return id, nil
}

// readChoices reads the text of an answer, and its calls of tools as their JSON.
func (b *body) readChoices(s *source.JSONScanner) error {
	return eachElement(s, func() error {
		return eachField(s, func(key []byte) error {
			switch string(key) {
			case "text":
				return b.readAnswer(s)
			case "message", "delta":
				return b.readReply(s)
			case "token_ids":
				return readIDs(s, &b.answerIDs)
			}
			return s.Skip()
		})
	})
}

// readReply reads a message of the model.
func (b *body) readReply(s *source.JSONScanner) error {
	return eachField(s, func(key []byte) error {
		switch string(key) {
		case "content":
			return b.readAnswer(s)
		case "reasoning_content":
			thought, err := optional(s)
			if b.thought = append(b.thought, thought...); len(thought) > 0 {
				b.addAnswer(nil)
			}
			return err
		case "tool_calls":
			calls, err := rawValue(s)
			b.addAnswer(calls)
			b.calls = b.calls || calls != nil
			return err
		}
		return s.Skip()
	})
}

// readAnswer adds a text to the answer; null adds nothing.
func (b *body) readAnswer(s *source.JSONScanner) error {
	if s.Peek() != '"' {
		return s.Skip()
	}
	text, err := s.String()
	b.addAnswer(text)
	return err
}

func (b *body) addAnswer(text []byte) {
	if b.answer == nil {
		b.answer = []byte{}
	}
	b.answer = append(b.answer, text...)
}

// readUsage reads how many tokens the server counted in the answer and in the prompt.
func (b *body) readUsage(s *source.JSONScanner) error {
	return eachField(s, func(key []byte) error {
		if string(key) == "completion_tokens" || string(key) == "output_tokens" {
			return readCount(s, &b.output)
		}
		return ReadUsage(&b.usage, key, s)
	})
}

// readCount reads a number of tokens, oddCount for one that cannot be; null leaves it as it is.
func readCount(s *source.JSONScanner, n *int32) error {
	if s.Null() {
		return nil
	}
	text, err := s.Number()
	if err == nil {
		*n = countOf(text)
	}
	return err
}

// rawValue returns a value as it is written; nil for null, nothing and an empty array or object.
func rawValue(s *source.JSONScanner) ([]byte, error) {
	s.Peek()
	start := s.Pos
	if err := s.Skip(); err != nil {
		return nil, err
	}
	raw := s.Text[start:s.Pos]
	if blank := bytes.TrimSpace(raw); len(blank) < len("{0}") || string(blank) == "null" {
		return nil, nil
	}
	return raw, nil
}

// timeText returns a time as it is written, a number or a date; nil for null.
func timeText(s *source.JSONScanner) ([]byte, error) {
	switch s.Peek() {
	case '"':
		return s.String()
	case 'n':
		return nil, s.Skip()
	}
	return s.Number()
}

// optional reads a text; nothing for any other value.
func optional(s *source.JSONScanner) ([]byte, error) {
	if s.Peek() != '"' {
		return nil, s.Skip()
	}
	return s.String()
}

// readText is optional for a variable.
func readText[T ~string | ~[]byte](s *source.JSONScanner, to *T) error {
	text, err := optional(s)
	*to = T(text)
	return err
}

// eachField calls read in front of each value of an object; what is no object is skipped.
func eachField(s *source.JSONScanner, read func(key []byte) error) error {
	if s.Peek() != '{' {
		return s.Skip()
	}
	return s.Object(read)
}

// eachElement calls read in front of each value of an array; what is no array is skipped.
func eachElement(s *source.JSONScanner, read func() error) error {
	if s.Peek() != '[' {
		return s.Skip()
	}
	return s.Array(read)
}
