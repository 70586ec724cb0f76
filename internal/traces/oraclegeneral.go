package traces

// oracleGeneral is the binary trace format of libCacheSim: packed little-endian records of 24 bytes,
// uint32 time in seconds, uint64 key, uint32 size in bytes, int64 next access. The last is the 1-based position in the file of the
// object's next request; -1, or the largest int64 in some files, says that there is none.
const (
	oracleGeneralRecord = 24
	oracleGeneralNever  = -1
)
