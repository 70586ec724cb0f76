// Package traces contains traces of requests as columns that replay fast, with dense object numbers. Package read loads
// them from files, package write writes files, package workload also generates them.
package traces
