//go:build !amd64

package dot

func setAssembly(_, _ bool) {}
