package parquet

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/read/promptlogs"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// conversationColumns are the cursors of a file whose rows are conversations: lists of messages, as LMSYS-Chat-1M and
// WildChat have them.
type conversationColumns struct {
	*reader
	role, text *list
	turnTime   *list   // nil without
	time       *cursor // of the conversation; nil without
	model      *cursor // that answers; nil without
	turns      []promptlogs.Turn
	room       []byte // for the texts of a row
}

// findConversations returns the column of conversations, nil if the file has none or the user named a key.
func findConversations(all []*parquet.Column, opts params.Values) *parquet.Column {
	i := slices.IndexFunc(all, func(c *parquet.Column) bool {
		return (c.Name() == "conversation" || c.Name() == "conversations") && !c.Leaf() && messageOf(c) != nil
	})
	if i < 0 || opts.Text("key") != "" {
		return nil
	}
	return all[i]
}

// messageOf returns the struct in a list of messages, nil if a column is something else.
func messageOf(column *parquet.Column) *parquet.Column {
	for node := column; !node.Leaf(); node = node.Columns()[0] {
		if part(node, "role", "from") != nil && part(node, "content", "value") != nil {
			return node
		}
		if len(node.Columns()) != 1 {
			return nil
		}
	}
	return nil
}

// part returns the part of a struct with one of these names that has single values; nil without one.
func part(node *parquet.Column, names ...string) *parquet.Column {
	for _, name := range names {
		for _, c := range node.Columns() {
			if c.Name() == name && c.Leaf() && !c.Repeated() {
				return c
			}
		}
	}
	return nil
}

// nameHere is the name of an option of conversations in JSON: block is that of reads of files here.
func nameHere(option params.Param) string {
	if option.Name == "block" {
		return "block-tokens"
	}
	return option.Name
}

func conversationOptions() []params.Param {
	options := promptlogs.ConversationOptions()
	for i := range options {
		options[i].Name, options[i].Doc = nameHere(options[i]), "of conversations: "+options[i].Doc
	}
	return options
}

// checkConversationOptions refuses options that are for conversations where there are none, and others where there are.
func (p *reader) checkConversationOptions(conversations bool, opts params.Values) error {
	changed := func(all []params.Param) string {
		for _, o := range all {
			if opts[o.Name] != o.Default && o.Name != "time-unit" {
				return o.Name
			}
		}
		return ""
	}
	if name := changed(conversationOptions()); name != "" && !conversations {
		return p.src.Errorf("the option %s is for conversations: want a column named conversation, a list of structs with "+
			"role and content", name)
	}
	if name := changed(slices.Concat(source.ColumnOptions(), readsOptions())); name != "" && conversations {
		return p.src.Errorf("conversations have no option %s; the option key reads single columns instead", name)
	}
	return nil
}

// openConversations reads a file whose rows are conversations. All are read before the first request.
func (p *reader) openConversations(all []*parquet.Column, column *parquet.Column, opts params.Values) (stream.Reader,
	stream.Fields, error) {
	c := &conversationColumns{reader: p}
	message := messageOf(column)
	c.role, c.text = newList(message, part(message, "role", "from")), newList(message, part(message, "content", "value"))
	if !c.role.isText() || !c.text.isText() {
		return nil, stream.Fields{}, p.src.Errorf("column %q: want messages with texts in role and content", column.Name())
	}
	p.chosen = append(p.chosen, &c.role.cursor, &c.text.cursor)
	if at := part(message, "timestamp"); at != nil {
		if list := newList(message, at); list.acceptTime() == nil {
			c.turnTime = list
			p.chosen = append(p.chosen, &list.cursor)
		}
	}
	if i := slices.IndexFunc(all, func(c *parquet.Column) bool { return c.Name() == "timestamp" }); i >= 0 {
		c.time = &cursor{column: all[i]}
		if c.time.acceptTime(source.TimeUnit(opts, p.firstNumber(all[i]))) != nil {
			c.time = nil
		} else {
			p.chosen = append(p.chosen, c.time)
		}
	}
	if i := slices.IndexFunc(all, func(c *parquet.Column) bool { return c.Name() == "model" }); i >= 0 {
		if model := (&cursor{column: all[i]}); model.acceptText() == nil {
			c.model = model
			p.chosen = append(p.chosen, model)
		}
	}
	values := params.Values{}
	for _, option := range promptlogs.ConversationOptions() {
		values[option.Name] = opts[nameHere(option)]
	}
	made, err := promptlogs.NewConversations(p.src, values)
	if err != nil {
		return nil, stream.Fields{}, err
	}
	for {
		if err := c.next(made); err == io.EOF {
			return made.Open()
		} else if err != nil {
			return nil, stream.Fields{}, err
		}
	}
}

// next reads a row.
func (c *conversationColumns) next(to *promptlogs.Conversations) error {
	if err := c.nextRow(); err != nil {
		return err
	}
	whole, err := c.readRow()
	if err == nil {
		err = to.Add(c.turns, whole)
	}
	if err != nil {
		return c.At(err)
	}
	return nil
}

// readRow reads the messages of a row into turns, and returns what is known of the whole conversation.
func (c *conversationColumns) readRow() (whole promptlogs.Turn, err error) {
	c.turns, c.room = c.turns[:0], c.room[:0]
	most := int(c.src.In.Budget.Part(pageShare, maxPage))
	add := func(v parquet.Value) ([]byte, error) {
		if v.IsNull() {
			return nil, nil
		}
		from := len(c.room)
		c.room = append(c.room, v.ByteArray()...)
		if len(c.room) > most {
			return nil, fmt.Errorf("a conversation of more than %s", memory.Bytes(int64(most)))
		}
		return c.room[from:len(c.room):len(c.room)], nil
	}
	err = c.role.next(func(v parquet.Value) error {
		role, err := add(v)
		c.turns = append(c.turns, promptlogs.Turn{Role: role})
		return err
	})
	if err != nil {
		return whole, err
	}
	at := 0
	err = c.text.next(func(v parquet.Value) (err error) {
		if at < len(c.turns) {
			c.turns[at].Text, err = add(v)
		}
		at++
		return err
	})
	if err == nil && at != len(c.turns) {
		err = errContradictory
	}
	if err != nil {
		return whole, err
	}
	if c.turnTime != nil {
		at := 0
		err = c.turnTime.next(func(v parquet.Value) (err error) {
			if at < len(c.turns) && !v.IsNull() {
				c.turns[at].Timed = true
				c.turns[at].Time, err = c.turnTime.timeOf(v)
			}
			at++
			return err
		})
	}
	if err == nil && c.model != nil {
		var name parquet.Value
		if name, err = c.model.nextOrNull(); err == nil {
			whole.Model, err = add(name)
		}
	}
	if err != nil || c.time == nil {
		return whole, err
	}
	whole.Time = -1
	err = readAny(c.time, &whole.Time, (*cursor).timeOf)
	if whole.Timed = whole.Time >= 0; !whole.Timed {
		whole.Time = 0
	}
	return whole, err
}

// list reads a part of the structs in a list, row by row.
type list struct {
	cursor
	present int // the least definition level of an element; below it, the list is null or empty
}

func newList(message, leaf *parquet.Column) *list {
	level := 0
	if leaf.Optional() {
		level = 1
	}
	structs := 0
	if message.Optional() {
		structs = 1
	}
	return &list{cursor: cursor{column: leaf}, present: leaf.MaxDefinitionLevel() - level - structs}
}

// isText reports whether the elements are texts in a list, and not in a list of lists.
func (l *list) isText() bool {
	kind := l.column.Type().Kind()
	return l.column.MaxRepetitionLevel() == 1 && (kind == parquet.ByteArray || kind == parquet.FixedLenByteArray)
}

// acceptTime accepts timestamps and dates as text.
func (l *list) acceptTime() error {
	if l.column.MaxRepetitionLevel() != 1 {
		return errContradictory
	}
	return l.cursor.acceptTime(source.TimeUnits["s"])
}

// next calls each with every element of the next row; the value is valid during the call.
func (l *list) next(each func(parquet.Value) error) error {
	for first := true; ; first = false {
		if len(l.filled) == 0 {
			if err := l.fill(); err == io.EOF && !first {
				return nil
			} else if err == io.EOF {
				return errors.New("damaged Parquet: fewer lists than its row group has rows")
			} else if err != nil {
				return err
			}
		}
		value := l.filled[0]
		if begins := value.RepetitionLevel() == 0; begins && !first {
			return nil
		} else if !begins && first {
			return errors.New("damaged Parquet: a list that continues in another row group")
		}
		l.filled = l.filled[1:]
		if value.DefinitionLevel() < l.present {
			continue
		}
		if err := each(value); err != nil {
			return err
		}
	}
}
