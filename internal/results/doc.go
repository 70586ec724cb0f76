// Package results groups what people see: records of replays and their tables, series over time, targets,
// figures and pages. They know the names that records give to parts, and none of the parts.
package results
