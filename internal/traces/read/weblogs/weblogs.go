// Package weblogs reads access logs of web servers and proxies: each line that a cache would serve is a request, with
// the URL as its key. Rules turn what a log says into requests, and are the same for logs of text and of JSON.
package weblogs
