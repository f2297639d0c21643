package scripted

import (
	"regexp"
	"slices"
	"strings"
)

// misfits is how many sentences in a row may fail to fit before Extract is
// done: what room is left then is not worth a search through all of a long
// transcript.
const misfits = 12

// Extract writes a summary by taking over what it finds: the sentences of the
// transcript that name the most identifiers, names and numbers not yet named,
// in their own order, as many as fit in maxTokens as count counts them. The
// same transcript gives the same summary.
//
// It makes no sentence of its own, so what a demonstration or a test finds in
// the summary was in the transcript.
func Extract(transcript string, maxTokens int, count func(text string) int) string {
	rest := sentences(transcript)
	if len(rest) == 0 {
		return ""
	}
	opening := rest[0].text
	named := make(map[string]bool)
	var taken []sentence
	for missed := 0; len(rest) > 0 && missed < misfits; {
		best := mostTelling(rest, named)
		if rest[best].gain(named) == 0 {
			break
		}
		s := rest[best]
		rest = slices.Delete(rest, best, best+1)
		longer := insert(taken, s)
		if count(text(longer)) > maxTokens {
			missed++
			continue
		}
		taken, missed = longer, 0
		for _, f := range s.facts {
			named[f] = true
		}
	}
	if len(taken) == 0 {
		return firstWords(opening, maxTokens, count)
	}
	return text(taken)
}

// Fenced returns what stands between the last two equal lines that begin with
// "=====": the part of a question that is to be summarized. It is empty if
// there are no two such lines.
func Fenced(question string) string {
	lines := strings.Split(strings.TrimRight(question, "\n"), "\n")
	end := -1
	for i, line := range slices.Backward(lines) {
		switch {
		case !strings.HasPrefix(line, "====="):
		case end < 0:
			end = i
		case line == lines[end]:
			return strings.Join(lines[i+1:end], "\n")
		}
	}
	return ""
}

// sentence is one sentence of a transcript.
type sentence struct {
	at    int // its place in the transcript
	text  string
	facts []string // what it names
}

// gain is how much the sentence would add, for its length, to what was named.
func (s sentence) gain(named map[string]bool) float64 {
	fresh := 0
	for _, f := range s.facts {
		if !named[f] {
			fresh++
		}
	}
	return float64(fresh) / float64(len(s.text)+40) // 40: so that one bare number is not the best sentence
}

// mostTelling returns the index of the sentence that gains most, the earliest
// of equals.
func mostTelling(list []sentence, named map[string]bool) int {
	best := 0
	for i := range list {
		if list[i].gain(named) > list[best].gain(named) {
			best = i
		}
	}
	return best
}

// insert returns the list with s at its place; the list itself is kept.
func insert(list []sentence, s sentence) []sentence {
	i, _ := slices.BinarySearchFunc(list, s, func(a, b sentence) int { return a.at - b.at })
	return slices.Insert(slices.Clone(list), i, s)
}

func text(list []sentence) string {
	var texts []string
	for _, s := range list {
		texts = append(texts, s.text)
	}
	return strings.Join(texts, " ")
}

// firstWords is the beginning of a text, as long as it may be.
func firstWords(s string, maxTokens int, count func(string) int) string {
	words := strings.Fields(s)
	for len(words) > 0 && count(strings.Join(words, " ")) > maxTokens {
		words = words[:len(words)*3/4]
	}
	return strings.Join(words, " ")
}

var (
	sentenceEnd = regexp.MustCompile(`[.!?。！？]["')\]]?\s+`)

	// fact matches what a summary must not lose: a word with a digit, a word
	// joined by inner marks (an identifier, a path, an address), a capital
	// that begins no sentence.
	fact = regexp.MustCompile(`[\p{L}\d]*\d[\p{L}\d.,:%-]*|[\p{L}\d]+(?:[_/.@-][\p{L}\d]+)+|\p{Lu}[\p{L}]+`)

	// speaker matches what a transcript puts before a message: a number or a
	// title in brackets, and who speaks.
	speaker = regexp.MustCompile(`^(?:\[[^\]]{1,20}\]\s*)?(?:(?i:user|assistant|system|tool|function|developer)(?: \([^)]*\))?:\s*)?`)
)

// sentences cuts a transcript at lines and full stops. Who speaks is left off,
// and what has no letter is no sentence.
func sentences(transcript string) []sentence {
	var list []sentence
	for line := range strings.Lines(transcript) {
		line = strings.TrimSpace(speaker.ReplaceAllString(line, ""))
		for line != "" {
			end := len(line)
			if m := sentenceEnd.FindStringIndex(line); m != nil {
				end = m[1]
			}
			s := strings.TrimSpace(line[:end])
			line = line[end:]
			if facts := factsOf(s); len(strings.Fields(s)) > 2 {
				list = append(list, sentence{at: len(list), text: s, facts: facts})
			}
		}
	}
	return list
}

// factsOf lists what a sentence names, its first word aside.
func factsOf(s string) []string {
	var facts []string
	for _, at := range fact.FindAllStringIndex(s, -1) {
		f := strings.TrimRight(s[at[0]:at[1]], ".,:-")
		if at[0] > 0 && !slices.Contains(facts, f) {
			facts = append(facts, f)
		}
	}
	return facts
}
