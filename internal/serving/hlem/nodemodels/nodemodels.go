// Package nodemodels has the models of the time that requests to serving nodes take: one simulates every request on
// nodes, GPUs and links, the other computes what happens in each epoch without simulating a request. docs/models.md
// describes both.
package nodemodels

import "github.com/cachesim/cachesim/internal/clock/models"

// Entries are the models of this package.
var Entries = []models.Entry{recommenderEntry, fluidEntry}
