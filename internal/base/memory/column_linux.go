package memory

import "syscall"

// adviseLarge requests large pages in b, which consists of whole ones. Systems that have none, or none left, give small
// ones.
func adviseLarge(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }
