package ptxrun

// Lanes of a warp that went different ways come together where their ways meet: at post-dominators. Lanes in blocks
// that are deeper in the tree of post-dominators run first, so that no lane passes a place that others will reach.

// flow divides the code into blocks and gives each step the depth of its block.
func (p *program) flow() {
	leads := make([]bool, len(p.code)+1)
	leads[0] = true
	for i := range p.code {
		s := &p.code[i]
		leads[i] = leads[i] || s.meets()
		leads[i+1] = leads[i+1] || s.kind != plain
		if s.kind == jumps {
			leads[s.target] = true
		}
	}
	of, exit := make([]int, len(p.code)), -1
	for i := range p.code {
		if leads[i] {
			exit++
		}
		of[i] = exit
	}
	exit++
	after, before := make([][]int, exit+1), make([][]int, exit+1)
	edge := func(from, to int) {
		after[from], before[to] = append(after[from], to), append(before[to], from)
	}
	for i := range p.code {
		s := &p.code[i]
		if s.ends = leads[i+1]; !s.ends {
			continue
		}
		switch s.kind {
		case jumps:
			edge(of[i], of[s.target])
		case leaves:
			edge(of[i], exit)
		}
		if s.guard >= 0 || s.kind != jumps && s.kind != leaves {
			edge(of[i], of[i+1])
		}
	}
	depth := postDominators(after, before, exit)
	for i := range p.code {
		p.code[i].depth = depth[of[i]]
	}
}

// postDominators returns the depths of blocks in the tree of post-dominators, whose root is the exit (Cooper, Harvey
// and Kennedy, A simple, fast dominance algorithm, 2001). Blocks from which no way leads to the exit are the deepest.
func postDominators(after, before [][]int, exit int) []int {
	order, number := []int{}, make([]int, len(after)) // in postorder from the exit, backwards; numbers from 1
	seen := make([]bool, len(after))
	var visit func(block int)
	visit = func(block int) {
		seen[block] = true
		for _, b := range before[block] {
			if !seen[b] {
				visit(b)
			}
		}
		order = append(order, block)
		number[block] = len(order)
	}
	visit(exit)
	up := make([]int, len(after)) // the next post-dominator, -1 if not known yet
	for i := range up {
		up[i] = -1
	}
	up[exit] = exit
	for changed := true; changed; {
		changed = false
		for i := len(order) - 2; i >= 0; i-- { // the last is the exit
			b, found := order[i], -1
			for _, s := range after[b] {
				if up[s] < 0 {
					continue
				}
				if found < 0 {
					found = s
					continue
				}
				for a := s; a != found; {
					for number[a] < number[found] {
						a = up[a]
					}
					for number[found] < number[a] {
						found = up[found]
					}
				}
			}
			if found >= 0 && up[b] != found {
				up[b] = found
				changed = true
			}
		}
	}
	depth := make([]int, len(after))
	for i := range depth {
		depth[i] = len(after) + 1
	}
	depth[exit] = 0
	for i := len(order) - 2; i >= 0; i-- { // parents come before their children
		depth[order[i]] = depth[up[order[i]]] + 1
	}
	return depth
}
