// Package experiments knows the experiments that are built into the program. Tools that run them ask the program itself.
package experiments

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// Names returns the names of all experiments of a program, in the order of its list.
func Names(ctx context.Context, program string) (names []string, err error) {
	list := exec.CommandContext(ctx, program, "reproduce", "--list", "--format", "json")
	list.Stderr = os.Stderr
	lines, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%s reproduce --list: %w", program, err)
	}
	for line := range bytes.Lines(lines) {
		var listed struct{ Name string }
		if err := json.Unmarshal(line, &listed); err != nil {
			return nil, err
		}
		names = append(names, listed.Name)
	}
	return names, nil
}
