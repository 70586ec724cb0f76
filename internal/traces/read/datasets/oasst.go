package datasets

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var oasstFormat = source.Format{
	Name: "oasst",
	Options: []params.Param{
		{Name: "roles", Default: "user", Choices: []string{"user", "both"}, Doc: "whose messages are requests: only the " +
			"prompter's, or both sides'"},
		{Name: "deleted", Default: "keep", Choices: []string{"keep", "drop"}, Doc: "what to do with deleted messages"},
		{Name: "lang", Default: "all", Doc: "language of the messages that are requests, as the file names it: en, de, " +
			"pt-BR, ..."},
		{Name: "unit", Default: unitTrees, Choices: []string{unitTrees, unitThreads}, Doc: "what is requested whole: " +
			"trees, each message once, depth first; or threads, the paths from the first message of a tree to one " +
			"without replies, which share their first messages. A session is a unit"},
		{Name: "part", Default: -1, Min: -1, Doc: "use only this part of the trace, counted from 0; -1: all parts"},
		{Name: "length", Default: 10000, Min: 1, Doc: "requests per part; a part ends with the unit that " +
			"reaches this number"},
	},
	JSON: true,
	Detect: source.CertainIf(func(head source.Head) bool {
		if len(head.Lines) > 0 { // later ones of other formats may have such fields
			head.Bytes = head.Lines[0]
		}
		return source.LooksLikeJSON(head, "message_id", "text", "role")
	}),
	Open: openOASST,
}

// What is requested whole.
const (
	unitTrees   = "trees"
	unitThreads = "threads"
)

// maxReplyDepth is the greatest depth of replies to replies within a line, and of requests in a thread.
const maxReplyDepth = 1000

// oasstMessage is a message in its tree. Links to messages are numbers in the file, -1 for none.
type oasstMessage struct {
	text                        []byte // nil if it is no request
	id, parentID, tree          string // parentID only if the parent is not the message around it
	line                        int
	created                     int64 // nanoseconds; -1 if unknown
	parent                      int32
	request                     int32 // the last request on the way from the root to here, in oasstTree.requests; -1: none
	firstReply, lastReply, next int32 // the first and the last reply to it, and the next reply to its parent
}

// oasstReader collects the messages of a file.
type oasstReader struct {
	src       *source.Source
	scanner   source.JSONScanner
	bothRoles bool
	drop      bool   // deleted messages
	threads   bool   // are the units
	lang      string // "" for all
	messages  []oasstMessage
}

// oasstTree is a tree with its requests, depth first.
type oasstTree struct {
	id       []byte
	created  int64
	requests []oasstRequest
	line     int
}

// oasstRequest is a message that is a request.
type oasstRequest struct {
	text  []byte
	above int32 // the nearest request above, as a number in the tree; -1: none
	depth int32 // requests from the root to here
	leaf  bool  // no request is below it
}

// oasstUnit is what is requested whole: a tree, or a thread that ends at a leaf.
type oasstUnit struct {
	tree *oasstTree
	leaf int32 // -1: all of the tree
	size int   // requests
	// number is that of a thread among those of its tree, from 1 on.
	number int
}

// openOASST reads the whole file, since trees are not sorted by time. It needs memory for the texts of requests, and
// 400 bytes per message.
func openOASST(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	r := &oasstReader{src: src, bothRoles: opts.Text("roles") == "both", drop: opts.Text("deleted") == "drop",
		threads: opts.Text("unit") == unitThreads}
	if lang := opts.Text("lang"); lang != "all" {
		r.lang = lang
	}
	unit := ""
	if r.threads {
		unit = ", unit=threads"
	}
	src.Reading.Request = "messages as queries (roles=" + opts.Text("roles") + unit + ")"
	trees, err := r.read()
	if err != nil {
		return nil, stream.Fields{}, err
	}
	var units []oasstUnit
	for i := range trees {
		units = trees[i].appendUnits(units, r.threads)
	}
	if part := opts.Int("part"); part >= 0 {
		if units, err = partOf(units, part, opts.Int("length")); err != nil {
			return nil, stream.Fields{}, src.Errorf("%w", err)
		}
	}
	return openQueries(unitsInOrder(units))
}

// appendUnits appends the units of a tree. Threads share messages, so they are made when they are read.
func (t *oasstTree) appendUnits(to []oasstUnit, threads bool) []oasstUnit {
	if !threads {
		return append(to, oasstUnit{tree: t, leaf: -1, size: len(t.requests)})
	}
	number := 0
	for i, r := range t.requests {
		if r.leaf {
			number++
			to = append(to, oasstUnit{tree: t, leaf: int32(i), size: int(r.depth), number: number})
		}
	}
	return to
}

// queries returns the requests of a unit.
func (u oasstUnit) queries() []dialogueQuery {
	all := make([]dialogueQuery, u.size)
	if u.leaf < 0 {
		for i, r := range u.tree.requests {
			all[i] = dialogueQuery{text: r.text, session: u.tree.id}
		}
		return all
	}
	session := fmt.Appendf(nil, "%s/%d", u.tree.id, u.number)
	for i, at := u.size-1, u.leaf; at >= 0; i, at = i-1, u.tree.requests[at].above {
		all[i] = dialogueQuery{text: u.tree.requests[at].text, session: session}
	}
	return all
}

// unitsInOrder returns a function that hands out the requests of units one after another, for openQueries.
func unitsInOrder(units []oasstUnit) func() (dialogueQuery, bool) {
	var left []dialogueQuery
	return func() (q dialogueQuery, ok bool) {
		for len(left) == 0 {
			if len(units) == 0 {
				return q, false
			}
			left, units = units[0].queries(), units[1:]
		}
		q, left = left[0], left[1:]
		return q, true
	}
}

func (r *oasstReader) read() ([]oasstTree, error) {
	if err := r.readLines(); err != nil {
		return nil, err
	}
	if err := r.linkReplies(); err != nil {
		return nil, err
	}
	trees, err := r.trees()
	if err != nil {
		return nil, err
	}
	for _, t := range trees {
		if (t.created < 0) != (trees[0].created < 0) {
			r.src.LineNumber = t.line
			return nil, r.src.LineErrorf("want a created_date in every tree or in none")
		}
	}
	slices.SortStableFunc(trees, func(a, b oasstTree) int { return cmp.Compare(a.created, b.created) })
	return trees, nil
}

func (r *oasstReader) readLines() error {
	for {
		text, err := r.src.LongLine()
		if err == nil && len(source.TrimBlanks(text)) == 0 {
			err = r.src.OnlyBlankLines()
		}
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		r.scanner = source.JSONScanner{Text: text}
		if err := r.readLine(); err != nil {
			return r.src.LineSyntaxError(err)
		}
	}
}

// readLine reads a tree or a message. It skips unknown fields.
func (r *oasstReader) readLine() error {
	s := &r.scanner
	if !isTree(s.Text) {
		if err := r.message(-1, maxReplyDepth); err != nil {
			return err
		}
		return s.End()
	}
	first := len(r.messages)
	var tree []byte
	err := s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "message_tree_id":
			tree, err = s.Words()
		case "prompt":
			if !s.Null() { // null: nobody replied
				err = r.message(-1, maxReplyDepth)
			}
		default:
			err = s.Skip()
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case tree == nil:
		return fmt.Errorf("a tree without message_tree_id")
	case first < len(r.messages):
		r.messages[first].tree = string(tree)
	}
	return s.End()
}

// isTree reports whether a line is a tree around its first message, not a message.
func isTree(line []byte) (tree bool) {
	s := &source.JSONScanner{Text: line}
	known := errors.New("known")
	err := s.Object(func(key []byte) error {
		switch string(key) {
		case "prompt":
			tree = true
			return known
		case "message_id":
			return known
		}
		return s.Skip()
	})
	return tree && err == known // a line that is broken before that is reported when it is read as a message
}

// message reads a message with the replies in it.
func (r *oasstReader) message(parent int32, depth int) error {
	s := &r.scanner
	if depth == 0 {
		return s.Fail("at most %d levels of replies", maxReplyDepth)
	}
	number := int32(len(r.messages))
	r.messages = append(r.messages, oasstMessage{line: r.src.LineNumber, created: -1, parent: parent, firstReply: -1,
		lastReply: -1, next: -1})
	var role, text []byte
	lang, deleted := "", false
	err := s.Object(func(key []byte) (err error) {
		m := &r.messages[number]
		switch string(key) {
		case "message_id":
			m.id, err = s.OptionalString()
		case "parent_id":
			m.parentID, err = s.OptionalString()
		case "message_tree_id":
			m.tree, err = s.OptionalString()
		case "created_date":
			m.created, err = s.Date()
		case "role":
			role, err = s.OneOf("prompter", "assistant")
		case "text":
			text, err = s.String()
		case "lang":
			lang, err = s.OptionalString()
		case "deleted":
			deleted = s.Peek() == 't'
			err = s.Skip()
		case "replies":
			if !s.Null() {
				err = s.Array(func() error { return r.message(number, depth-1) })
			}
		default:
			err = s.Skip()
		}
		return err
	})
	m := &r.messages[number]
	switch {
	case err != nil:
		return err
	case m.id == "" || role == nil || text == nil:
		return fmt.Errorf("a message without message_id, role or text")
	}
	if r.wants(string(role), lang, deleted) && len(bytes.TrimSpace(text)) > 0 {
		m.text = bytes.Clone(text)
	}
	return nil
}

// wants reports whether a message is a request.
func (r *oasstReader) wants(role, lang string, deleted bool) bool {
	return (r.bothRoles || role == "prompter") && (r.lang == "" || r.lang == lang) && !(r.drop && deleted)
}

// linkReplies finds the parents of messages that are not nested in them, and links all replies in the order of the
// file. A message whose parent is not in the file gets none.
func (r *oasstReader) linkReplies() error {
	numbers := make(map[string]int32, len(r.messages))
	for i, m := range r.messages {
		if _, ok := numbers[m.id]; ok {
			r.src.LineNumber = m.line
			return r.src.LineErrorf("duplicate message_id %.60q", m.id)
		}
		numbers[m.id] = int32(i)
	}
	for i := range r.messages {
		m := &r.messages[i]
		if m.parent < 0 {
			parent, ok := numbers[m.parentID]
			if !ok {
				continue
			}
			m.parent = parent
		}
		parent := &r.messages[m.parent]
		if parent.firstReply < 0 {
			parent.firstReply = int32(i)
		} else {
			r.messages[parent.lastReply].next = int32(i)
		}
		parent.lastReply = int32(i)
	}
	return nil
}

// trees returns the trees in the order of the file. If the root of a tree is not in the file, what remains of it is
// still one tree, by its message_tree_id.
func (r *oasstReader) trees() (trees []oasstTree, err error) {
	numbers := map[string]int{}
	visited := 0
	for i, m := range r.messages {
		if m.parent >= 0 {
			continue
		}
		tree := cmp.Or(m.tree, m.id)
		n, ok := numbers[tree]
		if !ok {
			n = len(trees)
			numbers[tree] = n
			trees = append(trees, oasstTree{id: []byte(tree), created: -1, line: m.line})
		}
		count, err := r.flatten(&trees[n], int32(i))
		if err != nil {
			return nil, err
		}
		visited += count
	}
	if visited < len(r.messages) {
		return nil, r.src.Errorf("%d messages reply to each other in a circle: want trees", len(r.messages)-visited)
	}
	return trees, nil
}

// flatten appends the requests of a message and all below it, depth first, and returns how many messages these are. It
// does not recurse, as flat files can have replies of any depth.
func (r *oasstReader) flatten(t *oasstTree, root int32) (visited int, err error) {
	for at := root; ; {
		m := &r.messages[at]
		visited++
		if m.request = -1; at != root {
			m.request = r.messages[m.parent].request
		}
		if m.text != nil {
			if err := r.request(t, m); err != nil {
				return 0, err
			}
		}
		if m.created >= 0 && (t.created < 0 || m.created < t.created) {
			t.created = m.created
		}
		if m.firstReply >= 0 {
			at = m.firstReply
			continue
		}
		for at != root && r.messages[at].next < 0 {
			at = r.messages[at].parent
		}
		if at == root {
			return visited, nil
		}
		at = r.messages[at].next
	}
}

// request appends a message to the requests of its tree. Threads of any depth could make a small file a trace of any
// length.
func (r *oasstReader) request(t *oasstTree, m *oasstMessage) error {
	request := oasstRequest{text: m.text, above: m.request, depth: 1, leaf: true}
	if m.request >= 0 {
		above := &t.requests[m.request]
		above.leaf = false
		request.depth = above.depth + 1
	}
	if r.threads && request.depth > maxReplyDepth {
		r.src.LineNumber = m.line
		return r.src.LineErrorf("a thread of more than %d requests: want unit=trees for so deep a tree", maxReplyDepth)
	}
	m.request = int32(len(t.requests))
	t.requests = append(t.requests, request)
	return nil
}

// partOf returns the units of a part. Parts follow each other without gaps; each ends with the unit that reaches length
// requests.
func partOf(units []oasstUnit, part, length int) ([]oasstUnit, error) {
	start, requests, number := 0, 0, 0
	for i, u := range units {
		if requests += u.size; requests < length {
			continue
		}
		if number == part {
			return units[start : i+1], nil
		}
		start, requests, number = i+1, 0, number+1
	}
	return nil, fmt.Errorf("has %d whole parts of %d requests: want a part below that number, or another length",
		number, length)
}
