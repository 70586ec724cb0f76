// Package queries is the workload kind of semantic caches: requests in words with their embeddings, their columns, and
// their formats.
package queries

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Columns are requests in words, which a semantic cache may answer with an entry for a similar one. An object is a
// query id; its fields are from its first request. It needs 4 bytes per dimension and object for Vectors, 4 per
// object for each of Topics and Answers, 4 per request for Sessions, and 16 per object plus the bytes for the texts.
// While it loads, Vectors grows by moving, and needs up to three times as much.
type Columns struct {
	Dim     int       // numbers in a vector; 0 without embeddings
	Vectors []float32 // Dim per object, of length 1; nil without embeddings
	// Embeddings says where the vectors come from: "trace", or as Workload.Embeddings of package workload states it; ""
	// without any.
	Embeddings string

	Texts  []string // per object; nil if the trace has none
	Topics []int32  // per object: the dense number of its topic, -1 if unknown; nil if no object has one
	// Answers has, per object, the dense number of the right answer, -1 if unknown; nil if no object has one.
	Answers []int32
	// Sessions has, per request, the dense number of its dialogue, -1 if unknown; nil if no request has one.
	Sessions []int32

	NumTopics, NumAnswers, NumSessions int
	TopicNames                         []string // per topic
}

// Of returns the columns of queries; nil if the requests are not queries.
func Of(kind stream.Columns) *Columns {
	q, _ := kind.(*Columns)
	return q
}

func (q *Columns) Slice(requests, _ stream.Span) stream.Columns {
	part := *q
	part.Sessions = stream.Cut(q.Sessions, requests)
	return &part
}

func (q *Columns) Only(chosen stream.Chosen) stream.Columns {
	part := *q
	part.Texts = stream.Pick(q.Texts, chosen.Objects)
	part.Topics = stream.Pick(q.Topics, chosen.Objects)
	part.Answers = stream.Pick(q.Answers, chosen.Objects)
	part.Sessions = stream.Pick(q.Sessions, chosen.Requests)
	if q.Dim > 0 {
		part.Vectors = make([]float32, 0, q.Dim*len(chosen.Objects))
		for _, object := range chosen.Objects {
			part.Vectors = append(part.Vectors, q.Vectors[int(object)*q.Dim:][:q.Dim]...)
		}
	}
	return &part
}

func (q *Columns) Torn() bool { return false }

func (q *Columns) Bytes() int64 {
	bytes := stream.ColumnBytes(q.Vectors) + stream.ColumnBytes(q.Texts) + stream.ColumnBytes(q.Topics) +
		stream.ColumnBytes(q.Answers) + stream.ColumnBytes(q.Sessions)
	for _, text := range q.Texts {
		bytes += int64(len(text))
	}
	return bytes
}

// EmbeddingsInTrace says that the trace holds its embeddings.
const EmbeddingsInTrace = "trace"

// Formats are the formats of queries. Writables can be written; two of them hold only embeddings.
var (
	Formats   = []source.Format{linesFormat, textFormat}
	Writables = []source.Writable{npyWritable, fvecsWritable, linesWritable}
)

// Kind are queries in words.
type Kind struct{ stream.Single }

func (Kind) Name() string   { return "queries" }
func (Kind) Format() string { return linesFormat.Name }
func (Kind) Lost() string   { return "everything about the queries except their ids" }

// Unrepeated implements Kind: a repeated question often has other words.
func (Kind) Unrepeated() string { return "similar queries (--cache semantic)" }

func (Kind) NewColumns(stream.Fields) stream.ColumnsBuilder {
	return &builder{topics: stream.NewNumbering(), answers: stream.NewNumbering(), sessions: stream.NewNumbering()}
}

// Table implements Kind: rows are queries if they have a text or an embedding.
func (Kind) Table() *stream.Table {
	return &stream.Table{
		Columns: []stream.TableColumn{
			{Name: "session", Repeats: true}, {Name: "topic", Repeats: true}, {Name: "answer", Repeats: true},
			{Name: "text"}, {Name: "embedding"},
		},
		Is:    func(has []bool) bool { return has[3] || has[4] },
		Of:    Kind{},
		New:   func() stream.Row { return &Head{} },
		Check: checkQueryRow,
	}
}

// checkQueryRow makes sure that all rows have embeddings of the same length with a direction, or none has.
func checkQueryRow(first, row stream.Row) error {
	want, got := first.(*Head).Vector, row.(*Head).Vector
	switch {
	case len(got) != len(want):
		return lengthError(len(got), len(want))
	case len(got) == 0:
		return nil
	}
	return checkVector(got)
}

// Head is what is known about a query besides its id. It is valid until the next call of Read. It implements Extra and
// Row.
type Head struct {
	Session, Topic, Answer []byte // names; nil if unknown
	Text                   []byte // nil if unknown
	Vector                 []float32
}

// are reports whether records with these fields are queries.
func are(fields stream.Fields) bool {
	_, ok := fields.Kind.(Kind)
	return ok
}

// HeadOf returns what is known about a request as a query; nil if nothing is.
func HeadOf(rec *stream.Record) *Head {
	head, _ := rec.Extra.(*Head)
	return head
}

func (q *Head) Clone() stream.Extra {
	return &Head{
		Session: bytes.Clone(q.Session), Topic: bytes.Clone(q.Topic), Answer: bytes.Clone(q.Answer),
		Text: bytes.Clone(q.Text), Vector: slices.Clone(q.Vector),
	}
}

func (q *Head) Cells(to []any) []any {
	return append(to, &q.Session, &q.Topic, &q.Answer, &q.Text, &q.Vector)
}

// builder collects the queries of a trace while it loads. It implements ColumnsBuilder.
type builder struct {
	Columns
	topics, answers, sessions *stream.Numbering
}

// numberOf returns the dense number of a name, -1 for none.
func numberOf(name []byte, names *stream.Numbering) int32 {
	if name == nil {
		return -1
	}
	return int32(names.OfText(name))
}

func (c *builder) Add(rec *stream.Record, object uint32) error {
	head := HeadOf(rec)
	if head == nil {
		head = &Head{}
	}
	c.Sessions = append(c.Sessions, numberOf(head.Session, c.sessions))
	if int(object) < len(c.Topics) {
		return c.checkRepeat(rec, head.Vector, object)
	}
	c.Topics = append(c.Topics, numberOf(head.Topic, c.topics))
	c.Answers = append(c.Answers, numberOf(head.Answer, c.answers))
	c.Texts = append(c.Texts, string(head.Text))
	return c.addVector(head.Vector)
}

// leastRepeat is the least similarity of the embeddings of two requests for the same query. Services that embed a text
// twice may differ in the last digits.
const leastRepeat = 0.99

// checkRepeat refuses an embedding that differs from the one of the first request for an object: a cache could not tell
// which of the two is meant.
func (c *builder) checkRepeat(rec *stream.Record, vector []float32, object uint32) error {
	if len(vector) != c.Dim {
		return lengthError(len(vector), c.Dim)
	}
	if c.Dim == 0 {
		return nil
	}
	length := squares(vector)
	if err := checkDirection(length); err != nil {
		return err
	}
	var product float64
	for i, x := range c.Vectors[int(object)*c.Dim:][:c.Dim] {
		product += float64(x) * float64(vector[i])
	}
	if similarity := product / math.Sqrt(length); similarity < leastRepeat {
		return fmt.Errorf("the embedding of the query %.60q has a similarity of %.2f to its first request's: want "+
			"the same, or another id", stream.Key{Num: rec.Num, Text: string(rec.Text)}.String(), similarity)
	}
	return nil
}

// addVector appends the vector of the next object, scaled to length 1.
func (c *builder) addVector(vector []float32) error {
	first := len(c.Topics) == 1
	switch {
	case first:
		c.Dim = len(vector)
	case len(vector) != c.Dim:
		return lengthError(len(vector), c.Dim)
	}
	if c.Dim == 0 {
		return nil
	}
	c.Vectors = append(c.Vectors, vector...)
	return Normalize(c.Vectors[len(c.Vectors)-c.Dim:])
}

func lengthError(got, want int) error {
	switch {
	case got == 0:
		return fmt.Errorf("no embedding after others of %d numbers: want one for all queries or for none", want)
	case want == 0:
		return fmt.Errorf("an embedding of %d numbers after queries without any: want one for all queries or for none", got)
	}
	return fmt.Errorf("an embedding of %d numbers after others of %d: want the same length for all", got, want)
}

// Normalize scales a vector to length 1. A vector without a direction, or with a number that is not finite, is an
// error.
func Normalize(vector []float32) error {
	sum := squares(vector)
	if err := checkDirection(sum); err != nil {
		return err
	}
	length := math.Sqrt(sum)
	for i, x := range vector {
		vector[i] = float32(float64(x) / length)
	}
	return nil
}

// checkVector returns the error of Normalize without changing the vector.
func checkVector(vector []float32) error { return checkDirection(squares(vector)) }

func squares(vector []float32) (sum float64) {
	for _, x := range vector {
		sum += float64(x) * float64(x)
	}
	return sum
}

// checkDirection refuses a vector with this sum of squares if it has no direction.
func checkDirection(sum float64) error {
	switch {
	case math.IsNaN(sum) || math.IsInf(sum, 0):
		return errors.New("an embedding with a number that is not finite: want finite numbers")
	case sum == 0:
		return errors.New("an embedding of zeros, which is similar to nothing: want a vector with a direction")
	}
	return nil
}

// Finish implements ColumnsBuilder. It leaves out empty columns.
func (c *builder) Finish() stream.Columns {
	q := &c.Columns
	if q.Dim > 0 {
		q.Embeddings = EmbeddingsInTrace
	}
	q.NumTopics, q.NumAnswers, q.NumSessions = c.topics.Len(), c.answers.Len(), c.sessions.Len()
	if q.TopicNames = c.topics.Texts(); q.NumTopics == 0 {
		q.Topics, q.TopicNames = nil, nil
	}
	if q.NumAnswers == 0 {
		q.Answers = nil
	}
	if q.NumSessions == 0 {
		q.Sessions = nil
	}
	if !slices.ContainsFunc(q.Texts, func(text string) bool { return text != "" }) {
		q.Texts = nil
	}
	return q
}
