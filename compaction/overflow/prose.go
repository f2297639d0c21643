package overflow

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMessage bounds Report.Message, in bytes.
const maxMessage = 1024

// plain brings prose into the one spelling that the rules are written for:
// lower case, single spaces, no backticks, no HTML escapes, no quoted passages,
// no thousands separators made of spaces.
func plain(s string) string {
	if strings.Contains(s, "&") {
		s = html.UnescapeString(s)
	}
	s = dropQuotes(s)
	var b strings.Builder
	b.Grow(len(s))
	gap := false
	for _, r := range s {
		switch {
		case r == '`' || r == '*':
			continue
		case r == '\u202f' || r == '\u2009' || r == '\u200b':
			continue // French thousands, zero width
		case unicode.IsSpace(r):
			gap = b.Len() > 0
			continue
		case r == '’':
			r = '\''
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		b.WriteRune(unicode.ToLower(r))
	}
	text := b.String()
	// LiteLLM's appendix names its own settings after the context window.
	text, _, _ = strings.Cut(text, " set 'context_window_fallback'")
	return strings.ReplaceAll(text, "context_window_fallbacks", "fallbacks")
}

const (
	// shortQuote is up to how many bytes a quoted passage is a name or a value
	// that belongs to the sentence: 'max_tokens', "middle-out".
	shortQuote = 32
	// introBytes is how far before a quote the word that introduces it may be.
	introBytes = 24
)

// dropQuotes removes long quoted passages: a validation error quotes what the
// client sent, and that may well be the text of an overflow error. It keeps a
// passage that the sentence introduces as another error's words.
func dropQuotes(s string) string {
	if !strings.ContainsAny(s, "\"'“") {
		return s
	}
	var b strings.Builder
	start := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		end := closing(r)
		if end == 0 || !opens(s, i) {
			i += size
			continue
		}
		rest := s[i+size:]
		if i == 0 || passage(truncate(rest, shortQuote+1), end) <= shortQuote ||
			introduced(s[max(0, i-introBytes):i]) {
			i += size
			continue
		}
		length := passage(rest, end)
		b.WriteString(s[start:i])
		i += size + length
		start = i
	}
	b.WriteString(s[start:])
	return b.String()
}

// closing returns the mark that closes a passage opened by r, 0 if r opens none.
func closing(r rune) rune {
	switch r {
	case '"', '\'':
		return r
	case '“':
		return '”'
	}
	return 0
}

// opens reports whether the quote at i opens a passage: no letter before it.
func opens(s string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	if before == 'b' { // Python's b'…'
		before, _ = utf8.DecodeLastRuneInString(s[:i-1])
	}
	return i == 0 || !unicode.IsLetter(before) && !unicode.IsDigit(before)
}

// passage returns the length of a quoted passage without its closing mark, up
// to the end if it is not closed. An apostrophe within a word closes nothing.
func passage(s string, end rune) int {
	for i, r := range s {
		if r != end {
			continue
		}
		after, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		if !unicode.IsLetter(after) && !unicode.IsDigit(after) {
			return i
		}
	}
	return len(s)
}

// introduced reports whether the words before a quote say that an error follows.
func introduced(before string) bool {
	before = strings.ToLower(strings.TrimRight(before, " :=-(b"))
	for _, word := range []string{
		"error", "errors", "exception", "returned", "reason", "response", "detail", "details",
		"cause", "upstream", "raw", "failed", "error message", "error was",
	} {
		if strings.HasSuffix(before, word) {
			return true
		}
	}
	return false
}

// truncate cuts s to at most n bytes without splitting a character.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// ends cuts the middle out of s if it is longer than n bytes, n >= 0: a trace
// says what happened on its last line.
func ends(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n/2]+"\n"+s[len(s)-n/2:], "")
}
