package dot

func setAssembly(on, onWide bool) { assembly, wide = on, onWide }
