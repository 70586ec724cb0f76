// Package similarity finds which vectors are close to each other: Join lists, for each vector, all others with at least
// a given similarity; FindNearest lists the most similar ones. Results do not depend on the machine, the number of
// cores or the backend that did the work.
package similarity
