//go:build race

package tokens

// raceEnabled makes tests take fewer texts: the race detector slows
// tiktoken-go's regular expressions tenfold.
const raceEnabled = true
