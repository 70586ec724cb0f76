// Package commands is the program: a file here, or a package below, for each command, with its flags, a call, and what
// it prints. Main runs it on the arguments of the process, with the parts that are registered.
package commands
