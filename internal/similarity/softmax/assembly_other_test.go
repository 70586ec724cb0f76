//go:build !amd64

package softmax

func setAssembly(bool) {}
