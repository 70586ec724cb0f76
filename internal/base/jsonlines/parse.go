package jsonlines

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// Parse reads JSON, which should be what want says. The error says what is wrong in terms of JSON.
func Parse(text []byte, v any, want string) error {
	err := json.Unmarshal(text, v)
	var mismatch *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &mismatch):
		return fmt.Errorf("%w: want %s", err, want)
	case mismatch.Field == "":
		return fmt.Errorf("the JSON %.60s: want %s", mismatch.Value, want)
	}
	return fmt.Errorf("%.60q is the JSON %.60s: want %s", mismatch.Field, mismatch.Value, jsonType(mismatch.Type.Kind()))
}

// jsonType describes the JSON values that become a kind of Go value.
func jsonType(kind reflect.Kind) string {
	switch kind {
	case reflect.Int, reflect.Int64:
		return "a whole number below 2^63"
	case reflect.Uint32:
		return "a whole number from 0 below 2^32"
	case reflect.Float64:
		return "a number"
	case reflect.String:
		return "a text in quotes"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list in brackets"
	}
	return "an object in braces"
}
