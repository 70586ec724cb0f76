// Package base groups the packages that know nothing about caches: parameters, declarations of metrics, random draws,
// statistics, neural networks, memory, files, text and the terminal. Packages here import each other, and nothing else
// of the program.
package base
