package records

// The policies in this package's tests have the simulator's roles.
func init() {
	DeclareRole("infinite", Role{Unlimited: true})
	DeclareRole("belady-size", Role{Bound: "pfoo-l"})
	DeclareRole("farthest-similar", Role{Bound: "pfoo-similar"})
}
