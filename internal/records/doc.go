// Package records defines the result of one replay as one flat record, which contains its identity (what was replayed,
// and how) and values of metrics. It reads and writes records as JSON lines, CSV and Parquet. Tables, figures and
// checks are made from records alone, so that any of them can be redrawn without replaying.
package records
