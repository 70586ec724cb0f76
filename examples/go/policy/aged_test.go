package main

import (
	"testing"

	"github.com/cachesim/cachesim/policytest"
)

func TestAged(t *testing.T) {
	policytest.Run(t, "aged")
	policytest.Run(t, "aged(turnovers=0.1)")
}
