// Package traces reads traces of requests, in many formats and compressions, into columns that replay fast. Open
// streams the records of a file; Load turns files into a Trace with dense object numbers; Create writes a file.
//
// The formats are in package formats, the formats of a kind of workload in the package of the kind.
package traces
