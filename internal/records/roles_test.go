package records

// The policies in the tests of this package are what the simulator says they are.
func init() {
	DeclareRole("infinite", Role{Unlimited: true})
	DeclareRole("belady-size", Role{Bound: "pfoo-l"})
	DeclareRole("farthest-similar", Role{Bound: "pfoo-similar"})
}
