package allocate

// Point says how many hits a pool has at a capacity.
type Point struct {
	Capacity int64
	Hits     float64
}

// Curve is a miss curve in terms of hits: points of growing capacity, each with more hits than the previous one.
// Between two points the lower one's hits apply; at capacity 0, and below the first point, there are none.
type Curve []Point

func (c Curve) At(capacity int64) float64 {
	low, high := 0, len(c) // c[:low] are at most capacity, c[high:] are larger
	for low < high {
		if mid := (low + high) / 2; c[mid].Capacity <= capacity {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == 0 {
		return 0
	}
	return c[low-1].Hits
}

// Hull returns the upper convex hull of the curve from capacity 0 on: the points with the most hits per capacity, in
// descending order of that. Points on a line between two others belong to it.
func (c Curve) Hull() Curve { return c.hullFrom(Point{}) }

// hullFrom returns the hull of the points after a point of the curve.
func (c Curve) hullFrom(start Point) Curve {
	var hull Curve
	for _, p := range c {
		if p.Capacity <= start.Capacity {
			continue
		}
		for n := len(hull); n > 0; n = len(hull) {
			before := start
			if n > 1 {
				before = hull[n-2]
			}
			if worth(before, hull[n-1]) >= worth(hull[n-1], p) {
				break
			}
			hull = hull[:n-1]
		}
		hull = append(hull, p)
	}
	return hull
}

func worth(from, to Point) float64 { return (to.Hits - from.Hits) / float64(to.Capacity-from.Capacity) }

// inUnits returns a curve with its capacities in units, rounded up, as far as there are units.
func (c Curve) inUnits(unit, most int64) Curve {
	var result Curve
	for _, p := range c {
		n := (p.Capacity + unit - 1) / unit
		if last := len(result) - 1; last >= 0 && result[last].Capacity == n {
			result[last].Hits = p.Hits
		} else if n <= most {
			result = append(result, Point{n, p.Hits})
		}
	}
	return result
}
