package main

// task is what both programs do with the same file. Ours computes the optimum besides, which its table shows.
type task struct {
	name       string
	file       string // the ending, which says the format and the compression
	ours, peer string // the policy
	capacities string // in objects, separated by commas
}

const (
	raw       = ".oracleGeneral"
	zstd      = ".oracleGeneral.zst"
	csv       = ".csv"
	tenth     = "100000"
	eightSize = "1000,5000,10000,50000,100000,200000,300000,500000"
)

// tasks are the rows of the table, in its order.
var tasks = []task{
	{"fifo", raw, "fifo", "FIFO", tenth},
	{"clock", raw, "clock", "Clock", tenth},
	{"sieve", raw, "sieve", "Sieve", tenth},
	{"s3fifo", raw, "s3fifo", "S3FIFO", tenth},
	{"lru", raw, "lru", "LRU", tenth},
	{"lru, compressed by zstd", zstd, "lru", "LRU", tenth},
	{"lru, CSV", csv, "lru", "LRU", tenth},
	{"lru at 8 capacities", raw, "lru", "LRU", eightSize},
	{"2q", raw, "2q", "TwoQ", tenth},
	{"slru", raw, "slru(segments=4)", "SLRU", tenth},
	{"lfu", raw, "lfu", "LFU", tenth},
	{"gdsf", raw, "gdsf", "GDSF", tenth},
	{"arc", raw, "arc", "ARC", tenth},
	{"lirs", raw, "lirs(stack=2)", "LIRS", tenth},
	{"w-tinylfu", raw, "w-tinylfu", "WTinyLFU", tenth},
	{"cacheus", raw, "cacheus", "Cacheus", tenth},
	{"lecar", raw, "lecar(counts=false)", "LeCaR", tenth},
	{"hyperbolic", raw, "hyperbolic(leeway=1)", "Hyperbolic", tenth},
	{"lhd", raw, "lhd", "LHD", tenth},
	{"opt", raw, "opt", "Belady", tenth},
}
