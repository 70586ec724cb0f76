package jsonlines

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// TestParse: errors name no types of this program.
func TestParse(t *testing.T) {
	type shape struct {
		Count uint32   `json:"count"`
		Size  int64    `json:"size"`
		Names []string `json:"names"`
		On    bool     `json:"on"`
		Text  string   `json:"text"`
		Share float64  `json:"share"`
		Inner struct {
			Count int `json:"count"`
		} `json:"inner"`
	}
	for text, want := range map[string]string{
		`[]`:                       "the JSON array: want a shape",
		`{`:                        "unexpected end of JSON input: want a shape",
		`{"count": -1}`:            `"count" is the JSON number -1: want a whole number from 0 below 2^32`,
		`{"size": 1e30}`:           `"size" is the JSON number 1e30: want a whole number below 2^63`,
		`{"names": "a"}`:           `"names" is the JSON string: want a list in brackets`,
		`{"on": 1}`:                `"on" is the JSON number: want true or false`,
		`{"text": {}}`:             `"text" is the JSON object: want a text in quotes`,
		`{"share": "1"}`:           `"share" is the JSON string: want a number`,
		`{"inner": 1}`:             `"inner" is the JSON number: want an object in braces`,
		`{"inner": {"count": ""}}`: `"inner.count" is the JSON string: want a whole number below 2^63`,
	} {
		var s shape
		must.Fail(t, Parse([]byte(text), &s, "a shape"), want, text)
	}
	var s shape
	must.Do(t, Parse([]byte(`{"count": 3, "inner": {"count": 4}}`), &s, "a shape"))
	if s.Count != 3 || s.Inner.Count != 4 {
		t.Errorf("%+v", s)
	}
}
