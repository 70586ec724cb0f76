package promptlogs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/cachesim/cachesim/internal/traces/chattemplate"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// setTemplate sets the template of a name, or that of a file.
func (c *collector) setTemplate(name string) error {
	if known := chattemplate.NamedOf(name); known != nil {
		c.template = known
		return nil
	}
	read, err := c.src.ReadBeside(name, "chat template", func(src *source.Source) (any, error) {
		return parseWhole(src, chattemplate.Parse)
	})
	if err != nil {
		return err
	}
	c.chat, c.chatName = read.(*chattemplate.Template), filepath.Base(name)
	if c.chat.LacksBegin() {
		if err := c.readBegin(filepath.Join(filepath.Dir(name), configName)); err != nil {
			return err
		}
	}
	return nil
}

const configName = "tokenizer_config.json"

// parseWhole parses a file as a whole.
func parseWhole[T any](src *source.Source, parse func([]byte) (T, error)) (any, error) {
	content, err := src.Whole()
	if err != nil {
		return nil, err
	}
	parsed, err := parse(content)
	if err != nil {
		return nil, src.Errorf("%w", err)
	}
	return parsed, nil
}

// readBegin reads the first and the last token of texts, if there is a configuration beside the template.
func (c *collector) readBegin(path string) error {
	read, err := c.src.ReadBeside(path, "configuration of the tokenizer", func(src *source.Source) (any, error) {
		return parseWhole(src, chattemplate.ParseConfig)
	})
	if errors.Is(err, fs.ErrNotExist) {
		c.chatName += " without its first token, as there is no " + configName + " beside it"
		return nil
	} else if err != nil {
		return err
	}
	config := read.(chattemplate.Config)
	c.chat.SetTokens(config.Begin, config.End)
	return nil
}

// setDate sets the time of a request for templates that write the date.
func (c *collector) setDate(q *request) error {
	when, err := c.timeOf(q)
	if err != nil {
		return err
	}
	const earliest = 946_684_800 * int64(time.Second) // 2000: before, times are no dates
	if c.timed && when >= earliest {
		c.when = time.Unix(0, when).UTC()
	}
	return nil
}

// renderChat appends the text of a request by a chat template.
func (c *collector) renderChat(to []byte, q *request) ([]byte, error) {
	conversation := chattemplate.Conversation{Options: q.options, When: c.when}
	if len(q.tools) > 0 {
		conversation.Tools = chattemplate.ToolsJSON(q.tools)
	}
	conversation.Add(q.messages)
	text, err := withContext(c.src, func() (string, error) { return c.chat.Render(conversation) })
	return append(to, text...), err
}
