//go:build !amd64

package dot

func setAssembly(bool) {}
