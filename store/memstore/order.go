package memstore

import (
	"iter"
	"slices"
	"sort"
	"time"
)

// deadlines is a heap.Interface: the entry that expires first is at the top.
type deadlines []*entry //nolint:recvcheck // of a heap, Push and Pop alone change the slice

func (d deadlines) Len() int           { return len(d) }
func (d deadlines) Less(i, j int) bool { return d[i].expires.Before(d[j].expires) }

func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].deadline, d[j].deadline = i, j
}

// Push implements heap.Interface.
func (d *deadlines) Push(x any) {
	e := x.(*entry) //nolint:forcetypeassert // the heap is this package's own
	e.deadline = len(*d)
	*d = append(*d, e)
}

// Pop implements heap.Interface.
func (d *deadlines) Pop() any {
	last := len(*d) - 1
	e := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	return e
}

// expired returns the entry that expired first, or nil if all live.
func (d deadlines) expired(now time.Time) *entry {
	if len(d) == 0 || !d[0].expired(now) {
		return nil
	}
	return d[0]
}

// roster holds the rows of counters in the order in which they were made, so
// that a listing can go on where it stopped, whatever was used, made or removed
// meanwhile.
type roster struct {
	places []place // by serial
	gaps   int     // places whose row is gone
	last   uint64  // the highest serial given so far; the first is 1
}

// place is where a row stands, or stood: a removed row leaves a gap.
type place struct {
	serial uint64
	row    *entry
}

func (r *roster) add(e *entry) {
	r.last++
	e.serial = r.last
	r.places = append(r.places, place{e.serial, e})
}

// remove leaves a gap, and closes all gaps once they are more than half.
func (r *roster) remove(e *entry) {
	r.places[r.search(e.serial-1)].row = nil
	r.gaps++
	if r.gaps*2 > len(r.places) {
		r.places = slices.DeleteFunc(r.places, func(p place) bool { return p.row == nil })
		r.gaps = 0
	}
}

// after yields the rows that were made after the one with that serial.
func (r *roster) after(serial uint64) iter.Seq2[uint64, *entry] {
	return func(yield func(uint64, *entry) bool) {
		for _, p := range r.places[r.search(serial):] {
			if p.row != nil && !yield(p.serial, p.row) {
				return
			}
		}
	}
}

// search returns the index of the first place after that serial.
func (r *roster) search(serial uint64) int {
	return sort.Search(len(r.places), func(i int) bool { return r.places[i].serial > serial })
}
