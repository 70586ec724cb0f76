// Package jsonlogs reads logs that are JSON objects on lines: those of web servers and proxies, which it recognises,
// and any others by the paths of their fields, such as key=.request.uri.
package jsonlogs
