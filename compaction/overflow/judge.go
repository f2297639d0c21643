package overflow

import "strings"

// judge decides over the evidence. Machine-readable codes come before words,
// what resembles an overflow before what is one.
func judge(status int, ev evidence) (Report, bool) {
	texts := make([]string, len(ev.texts))
	for i, t := range ev.texts {
		texts[i] = plain(t)
		if _, quotes := first(echoes, texts[i]); quotes {
			return Report{}, false
		}
	}
	code := ""
	for _, c := range ev.codes {
		switch {
		case otherCode(c):
			return Report{}, false
		case code == "" && overflowCode(c):
			code = "code"
		}
	}
	if code == "" {
		for _, t := range texts {
			if _, guarded := first(guards, t); guarded {
				return Report{}, false
			}
		}
		code = promptCode(ev.codes, texts)
	}
	return ev.decide(status, code, texts)
}

// promptCode returns the form of a provider's numeric code, if the words agree.
func promptCode(codes, texts []string) string {
	for _, c := range codes {
		format := providerCode(c)
		if format == "" {
			continue
		}
		for _, t := range texts {
			if strings.Contains(t, "prompt") || strings.Contains(t, "context") || strings.Contains(t, "输入") {
				return format
			}
		}
	}
	return ""
}

// decide looks for the text that tells an overflow, or an output cap. code is
// the form that a code told already, "" if none did.
func (ev *evidence) decide(status int, code string, texts []string) (Report, bool) {
	capped := Report{}
	for i, t := range texts {
		if code == "" {
			if _, ok := first(caps, t); ok {
				capped = capReport(t, ev.texts[i])
				continue
			}
		}
		if f, ok := first(families, t); ok {
			return ev.report(f.name, t, ev.texts[i]), true
		}
		if status == 500 && strings.Contains(t, "no user query found") {
			// Ollama cut the prompt until no user message was left.
			return ev.report("ollama", "", ev.texts[i]), true
		}
	}
	if code == "" {
		return capped, false
	}
	words, message := "", ""
	if len(texts) > 0 {
		words, message = texts[0], ev.texts[0]
	}
	return ev.report(code, words, message), true
}

// report reads the numbers of an overflow told by text.
func (ev *evidence) report(format, text, message string) Report {
	r := readNumbers(text)
	if ev.limit > 0 {
		r.limit, r.limitIs = slot{tokens: ev.limit, stated: true}, Window
	}
	if ev.input > 0 {
		r.input = slot{tokens: ev.input, stated: true}
	}
	switch {
	case r.limit.tokens == 0:
		r.limitIs = ""
	case r.bogus() || r.limit.bound:
		r.limitIs = Bogus
	}
	return Report{
		Kind:      r.kind(text),
		Limit:     r.limit.number(),
		LimitIs:   r.limitIs,
		Input:     r.input.number(),
		Output:    r.output.number(),
		Total:     r.total.number(),
		Overshoot: r.over.tokens,
		Format:    format,
		Message:   truncate(message, maxMessage),
	}
}

// kind follows from which numbers were stated, and from the words if none was.
func (r *reading) kind(text string) Kind {
	switch {
	case r.output.stated && r.output.tokens > 0:
		return Total
	case r.output.stated || r.input.stated || r.over.stated:
		return Input
	case r.total.stated || totalWords.MatchString(text):
		return Total
	}
	return Input
}

// capReport reads an output-cap error.
func capReport(text, message string) Report {
	r := reading{text: text}
	for _, p := range capNumbers {
		r.apply(p)
	}
	return Report{
		Kind:    Output,
		Limit:   r.limit.number(),
		LimitIs: r.limitIs,
		Output:  r.output.number(),
		Format:  "output-cap",
		Message: truncate(message, maxMessage),
	}
}
