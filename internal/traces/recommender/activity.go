package recommender

// hotShare is the share of the users that count as hot: those with the most requests (HLEM, section V-A).
const hotShare = 0.05

// activity counts the requests of users, and tells the most active ones: a user is hot if at most hotShare of the users
// so far have made as many requests. Users with equally many are hot together or not at all.
type activity struct {
	requests []uint32 // per user; users who are not counted here have none
	users    int      // with a request
	with     []int    // with[n]: users with n requests
	least    uint32   // requests of a hot user
	above    int      // users with that many or more
}

func (a *activity) hot(user uint32) bool {
	return a.users > 0 && int(user) < len(a.requests) && a.requests[user] >= a.least
}

// add counts a request.
func (a *activity) add(user uint32) {
	for int(user) >= len(a.requests) {
		a.requests = append(a.requests, 0)
	}
	if a.requests[user] == 0 {
		a.users++
	} else {
		a.with[a.requests[user]]--
	}
	a.requests[user]++
	n := a.requests[user]
	for int(n) >= len(a.with) {
		a.with = append(a.with, 0)
	}
	a.with[n]++
	if a.least = max(a.least, 1); n == a.least {
		a.above++
	}
	a.settle()
}

// settle moves the limit to where it divides the users. Each request moves it by few steps, as the share changes by
// one user.
func (a *activity) settle() {
	most := int(float64(hotShare*float64(a.users)) + 0.5)
	for a.above > most {
		a.above -= a.at(a.least)
		a.least++
	}
	for a.least > 1 && a.above+a.at(a.least-1) <= most {
		a.least--
		a.above += a.at(a.least)
	}
}

// at returns the users with a number of requests.
func (a *activity) at(n uint32) int {
	if int(n) < len(a.with) {
		return a.with[n]
	}
	return 0
}
