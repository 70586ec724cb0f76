// Package results is what people see of records: tables of runs, pivot tables, and the layouts that tables and figures
// share. The folders below it have figures, pages, costs, targets and the statistics of traces and predictors.
package results
