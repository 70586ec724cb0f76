// Package base has the folders of what knows no cache: parameters, declarations of metrics, random draws, statistics,
// neural networks, memory, files, text and the terminal. Packages here import each other, and nothing else of the
// program.
package base
