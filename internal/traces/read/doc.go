// Package read reads traces of requests, in many formats and compressions. Open streams the records of a file; Load
// turns files into a traces.Trace.
//
// The formats are in the packages below, the formats of a kind of workload in the package of the kind.
package read
