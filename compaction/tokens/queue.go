package tokens

// queue is a binary heap, the least number first.
type queue []uint64

// order makes a heap of numbers in any order.
func (q queue) order() {
	for i := len(q)/2 - 1; i >= 0; i-- {
		q.down(i)
	}
}

func (q *queue) push(x uint64) {
	h := append(*q, x)
	*q = h
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent] <= x {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = x
}

// pop takes the least number away. The queue must not be empty.
func (q *queue) pop() uint64 {
	h := *q
	least, last := h[0], len(h)-1
	h[0] = h[last]
	*q = h[:last]
	if last > 1 {
		h[:last].down(0)
	}
	return least
}

func (q queue) down(i int) {
	x := q[i]
	for {
		child := 2*i + 1
		if child >= len(q) {
			break
		}
		if child+1 < len(q) && q[child+1] < q[child] {
			child++
		}
		if x <= q[child] {
			break
		}
		q[i] = q[child]
		i = child
	}
	q[i] = x
}
