package tokens

// pattern names one of the regular expressions by which encodings cut text
// into pieces, whose bytes are then merged (openai/tiktoken, openai_public.py).
// Each has a function below that finds the same pieces: the alternatives in the
// expression's order, what an expression finds by going back worked out in
// advance.
type pattern uint8

const (
	patternO200K pattern = iota
	patternCL100K
	patternGPT2 // r50k_base and p50k_base
)

// piece returns the end of the piece that begins at text[i]. The text must be
// UTF-8, and i less than its length.
func (p pattern) piece(c *classes, text []byte, i int) int {
	switch p {
	case patternO200K:
		return pieceO200K(c, text, i)
	case patternCL100K:
		return pieceCL100K(c, text, i)
	default:
		return pieceGPT2(c, text, i)
	}
}

// pieceO200K matches
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+|\s+(?!\S)|\s+
func pieceO200K(c *classes, text []byte, i int) int {
	if end := shortWord(text, i, true); end > 0 {
		return contraction(text, end, true)
	}
	first, size := c.at(text, i)
	word := i
	if first&leads != 0 {
		word += size
	}
	end, lowered := wordO200K(c, text, word)
	if first == mark && !lowered {
		// The first expression goes back and takes the mark as a word's tail
		// rather than what stands before a word: it needs no more than that.
		end = word
	}
	if end > word || first == mark {
		return contraction(text, end, true)
	}
	switch {
	case first == number:
		return upToThree(c, text, i, size)
	case first&signs != 0:
		return lineEnd(text, c.run(text, word, signs), true)
	}
	if end := signsAfterSpace(c, text, i); end > 0 {
		return lineEnd(text, end, true)
	}
	return blankBeforeLine(c, text, i)
}

// wordO200K returns the end of the heads and tails at text[i:], which is i if
// there are none. They are lowered if they match the first expression, which
// wants a tail; the second takes capitals alone.
func wordO200K(c *classes, text []byte, i int) (end int, lowered bool) {
	tailEnd := -1 // of the last head that is a tail too
	for i < len(text) {
		class, size := c.at(text, i)
		if class&heads == 0 {
			if class == lower {
				return c.run(text, i+size, tails), true
			}
			break
		}
		i += size
		if class != upper {
			tailEnd = i
		}
	}
	if tailEnd >= 0 {
		return tailEnd, true
	}
	return i, false
}

// pieceCL100K matches
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)
//	[^\r\n\p{L}\p{N}]?\p{L}+
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n]*
//	\s*[\r\n]+|\s+(?!\S)|\s+
func pieceCL100K(c *classes, text []byte, i int) int {
	if end := contraction(text, i, true); end > i {
		return end
	}
	if end := shortWord(text, i, false); end > 0 {
		return end
	}
	first, size := c.at(text, i)
	word := i
	if first&leads != 0 {
		word += size
	}
	if end := c.run(text, word, letters); end > word {
		return end
	}
	switch {
	case first == number:
		return upToThree(c, text, i, size)
	case first&signs != 0:
		return lineEnd(text, c.run(text, word, signs), false)
	}
	if end := signsAfterSpace(c, text, i); end > 0 {
		return lineEnd(text, end, false)
	}
	return blankBeforeLine(c, text, i)
}

// pieceGPT2 matches
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func pieceGPT2(c *classes, text []byte, i int) int {
	if end := contraction(text, i, false); end > i {
		return end
	}
	if end := shortWord(text, i, false); end > 0 {
		return end
	}
	word := i
	if text[i] == ' ' && i+1 < len(text) {
		word++
	}
	switch class, size := c.at(text, word); {
	case class&letters != 0:
		return c.run(text, word+size, letters)
	case class == number:
		return c.run(text, word+size, number)
	case class&signs != 0:
		return c.run(text, word+size, signs)
	}
	end, last, _ := blankRun(c, text, i)
	return beforeLast(text, i, end, last)
}

// contraction returns the end of one of 's 't 'm 'd 're 've 'll at text[i:],
// i if there is none. With fold, capitals are as good. (The long s, which
// regular expressions in Rust fold to s, is no s to regexp2.)
func contraction(text []byte, i int, fold bool) int {
	if i+1 >= len(text) || text[i] != '\'' {
		return i
	}
	var fit byte
	if fold {
		fit = 'a' - 'A'
	}
	var second byte
	switch text[i+1] | fit {
	case 's', 't', 'm', 'd':
		return i + 2
	case 'r', 'v':
		second = 'e'
	case 'l':
		second = 'l'
	default:
		return i
	}
	if i+2 < len(text) && text[i+2]|fit == second {
		return i + 3
	}
	return i
}

// upToThree returns the end of \p{N}{1,3} at text[i:], whose first number is of
// the given size.
func upToThree(c *classes, text []byte, i, size int) int {
	i += size
	for range 2 {
		if i == len(text) {
			break
		}
		class, size := c.at(text, i)
		if class != number {
			break
		}
		i += size
	}
	return i
}

// signsAfterSpace returns the end of " [^\s\p{L}\p{N}]+" at text[i:], 0 if that
// is not what is there.
func signsAfterSpace(c *classes, text []byte, i int) int {
	if text[i] != ' ' {
		return 0
	}
	if end := c.run(text, i+1, signs); end > i+1 {
		return end
	}
	return 0
}

// lineEnd returns the end of [\r\n]* at text[i:], with slash that of [\r\n/]*.
func lineEnd(text []byte, i int, slash bool) int {
	for i < len(text) && (text[i] == '\n' || text[i] == '\r' || slash && text[i] == '/') {
		i++
	}
	return i
}

// blankBeforeLine returns the end of \s*[\r\n]+|\s+(?!\S)|\s+ at text[i:].
func blankBeforeLine(c *classes, text []byte, i int) int {
	end, last, line := blankRun(c, text, i)
	if line > 0 {
		return line
	}
	return beforeLast(text, i, end, last)
}

// blankRun returns the end of the white space at text[i:], where its last
// character begins, and the end of its last CR or LF, 0 if it has none.
func blankRun(c *classes, text []byte, i int) (end, last, line int) {
	last = i
	for i < len(text) {
		class, size := c.at(text, i)
		if class&blanks == 0 {
			break
		}
		last = i
		i += size
		if class == newline {
			line = i
		}
	}
	return i, last, line
}

// beforeLast returns the end of \s+(?!\S)|\s+ for white space that begins at i,
// whose last character begins at last and ends at end: that character goes with
// what follows it, unless it is the only one.
func beforeLast(text []byte, i, end, last int) int {
	if end == len(text) || last == i {
		return end
	}
	return last
}
