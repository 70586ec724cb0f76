package experiments

import (
	"context"
	"strings"
	"testing"
)

// A user who stops a sweep while its report is written does not wait for it, and reads that the cells are finished.
func TestReportingDoesNotWaitForFigures(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	forever := make(chan int)
	defer close(forever)
	_, err := reporting(ctx, func() (int, error) {
		cancel()
		return <-forever, nil
	})
	if err == nil || !strings.HasPrefix(err.Error(), "interrupted: the cells are finished") {
		t.Errorf("error %v", err)
	}
}
