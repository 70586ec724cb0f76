package dot

func setAssembly(on bool) { assembly = on }
