package kvlogs

import (
	"testing"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// RedisOverhead is for tests of other packages.
const RedisOverhead = redisOverhead

// TestTypesOfCommands: each command that changes a value bit by bit says of what type that is.
func TestTypesOfCommands(t *testing.T) {
	for name := range changes {
		if valueTypes[name] == stream.ValueUnknown {
			t.Errorf("%s has no type", name)
		}
		if commands[name] == nil {
			t.Errorf("%s is no command", name)
		}
	}
	for name := range extensions {
		if valueTypes[name] == stream.ValueUnknown && name != "restore" {
			t.Errorf("%s has no type", name)
		}
		if commands[name] == nil {
			t.Errorf("%s is no command", name)
		}
	}
	for name := range valueTypes {
		if commands[name] == nil {
			t.Errorf("%s has a type, and is no command", name)
		}
	}
}
