package datasets

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// rolesOption says whose turns are requests.
var rolesOption = params.Param{Name: "roles", Default: "user", Choices: []string{"user", "both"},
	Doc: "which turns are requests: the user's, or both sides'"}

var sgdFormat = source.Format{
	Name: "sgd",
	Options: []params.Param{
		rolesOption,
		{Name: "topic", Default: "turn", Choices: []string{"turn", "dialogue", "none"},
			Doc: "topic label: the service that the turn is about, all services of the dialogue, or none"},
	},
	JSON: true,
	Detect: source.CertainIf(func(head source.Head) bool {
		return source.LooksLikeJSONArray(head, "dialogue_id", "turns") || isSGDSchema(head)
	}),
	Open: openSGD,
}

// isSGDSchema recognises the file of the data set that describes the services.
func isSGDSchema(head source.Head) bool {
	return source.LooksLikeJSONArray(head, "service_name", "intents")
}

// sgdReader collects the turns of a file.
type sgdReader struct {
	file         int
	bothRoles    bool
	topicOfTurn  bool
	topicOfWhole bool
	queries      []dialogueQuery
}

type sgdDialogue struct {
	id       []byte
	services [][]byte
	turns    []sgdTurn
}

// sgdTurn is a turn with the services of its frames.
type sgdTurn struct {
	user     bool
	text     []byte
	services [][]byte
}

// openSGD reads the whole file: it needs memory for the utterances and 120 bytes per turn.
func openSGD(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	src.Reading.Request = "turns as queries (roles=" + opts.Text("roles") + ")"
	if head, err := src.Head(); err != nil {
		return nil, stream.Fields{}, err
	} else if isSGDSchema(head) {
		return nil, stream.Fields{}, src.Errorf("describes services, not dialogues: leave schema.json out and name the " +
			"dialogues_*.json files")
	}
	r := &sgdReader{
		file: src.NextNumber(), bothRoles: opts.Text("roles") == "both",
		topicOfTurn: opts.Text("topic") == "turn", topicOfWhole: opts.Text("topic") == "dialogue",
	}
	err := src.ScanArray("file of dialogues", func(s *source.JSONScanner) error {
		dialogue, err := readSGDDialogue(s)
		if err == nil {
			r.add(dialogue)
		}
		return err
	})
	if err != nil {
		return nil, stream.Fields{}, err
	}
	return openQueries(inOrder(r.queries))
}

func readSGDDialogue(s *source.JSONScanner) (d sgdDialogue, err error) {
	err = s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "dialogue_id":
			d.id, err = s.Words()
		case "services":
			d.services, err = s.Strings()
		case "turns":
			d.turns = d.turns[:0]
			err = s.Array(func() error {
				turn, err := readSGDTurn(s)
				d.turns = append(d.turns, turn)
				return err
			})
		default:
			err = s.Skip()
		}
		return err
	})
	if err == nil && (d.id == nil || d.turns == nil) {
		err = fmt.Errorf("a dialogue without dialogue_id or turns")
	}
	return d, err
}

func readSGDTurn(s *source.JSONScanner) (t sgdTurn, err error) {
	var speaker []byte
	err = s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "speaker":
			speaker, err = s.OneOf("USER", "SYSTEM")
		case "utterance":
			t.text, err = s.Words()
		case "frames":
			t.services, err = readSGDFrames(s)
		default:
			err = s.Skip()
		}
		return err
	})
	if err == nil && (speaker == nil || t.text == nil) {
		err = fmt.Errorf("a turn without speaker or utterance")
	}
	t.user = string(speaker) == "USER"
	return t, err
}

func readSGDFrames(s *source.JSONScanner) (services [][]byte, err error) {
	err = s.Array(func() error {
		return s.Object(func(key []byte) error {
			if string(key) != "service" {
				return s.Skip()
			}
			service, err := s.String()
			services = append(services, service)
			return err
		})
	})
	return services, err
}

func (r *sgdReader) add(d sgdDialogue) {
	session := scopedName(r.file, d.id)
	whole := bytes.Join(d.services, []byte("+"))
	var service []byte
	for _, turn := range d.turns {
		service = turnedTo(turn.services, service)
		q := dialogueQuery{text: bytes.Clone(turn.text), session: session} // does not keep the whole file in memory
		switch {
		case r.topicOfTurn:
			q.topic = bytes.Clone(service)
		case r.topicOfWhole && len(whole) > 0:
			q.topic = whole
		}
		if turn.user || r.bothRoles {
			r.queries = append(r.queries, q)
		}
	}
}

// turnedTo returns the service that a turn is about: the first service of its frames that is not the previous turn's. A
// turn that moves on to another service has a frame for each. A turn without frames keeps the previous service.
func turnedTo(services [][]byte, before []byte) []byte {
	i := slices.IndexFunc(services, func(s []byte) bool { return !bytes.Equal(s, before) })
	switch {
	case i >= 0:
		return services[i]
	case len(services) > 0:
		return services[0]
	}
	return before
}
