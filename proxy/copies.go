package proxy

import "sync"

// copySize is what ReverseProxy copies at a time, in bytes.
const copySize = 32 << 10

// copyPool lends ReverseProxy its copy buffers. The zero value is ready for use.
type copyPool struct{ arrays sync.Pool }

// Get returns copySize bytes of unspecified content.
func (p *copyPool) Get() []byte {
	if array, ok := p.arrays.Get().(*[copySize]byte); ok {
		return array[:]
	}
	return make([]byte, copySize)
}

// Put takes back what Get lent.
func (p *copyPool) Put(b []byte) { p.arrays.Put((*[copySize]byte)(b)) }
