// Package experiment turns an experiment, given as a file or as a Design in memory, into independent cells and replays
// them. A cell is one policy at one capacity on one trace from one seed. The packages below it store the results in a
// folder, and turn them into tables, figures and checked claims.
package experiment
