package softmax

func setAssembly(on bool) { assembly = on }
