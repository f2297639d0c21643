package overflow

import (
	"regexp"
	"strconv"
	"strings"
)

const (
	// maxTokens is the largest count that is read, in tokens; what is larger
	// counts as not stated. It fits an int of 32 bits.
	maxTokens = 1<<31 - 1
	// The limits between which one can be a model's, in tokens. Below: vLLM has
	// printed max_model_len - max_tokens as the "maximum context length".
	minLimit = 128
	maxLimit = 100_000_000
)

// Building blocks of the patterns. All of them match plain prose.
const (
	num       = `\d[\d,._']*(?:k\b|m\b)?`
	leastWord = `(?P<least>at least |more than |over )?`
	limitNum  = `(?P<limit>` + num + `)`
	inputNum  = `(?P<input>` + num + `)`
	outputNum = `(?P<output>` + num + `)`
	totalNum  = `(?P<total>` + num + `)`
	optTokens = `(?: tokens?)?` //nolint:gosec // of a text, no credential
	isWord    = `(?: is| are| of| was|:| =|=)?(?: only| at most| about)? ?\(?`
)

// pattern reads numbers. A slot that an earlier pattern filled stays, and a
// number that was read is cut out of the text, so that no other pattern takes
// it for something else: order is meaning here.
type pattern struct {
	re      *regexp.Regexp
	limitIs LimitKind
	bound   bool // the input is a lower bound
}

func numbers(limitIs LimitKind, expr string) pattern {
	return pattern{re: regexp.MustCompile(expr), limitIs: limitIs}
}

func lowerBound(p pattern) pattern {
	p.bound = true
	return p
}

// patterns are in order: whole sentences that say several numbers at once, then
// limits, then prompts, outputs and totals.
//
//nolint:gochecknoglobals // a table, compiled once, never changed
var patterns = []pattern{
	// Whole sentences.
	numbers(Window, inputNum+optTokens+` ?\+ ?`+outputNum+optTokens+` ?> ?`+limitNum),
	numbers(Window, inputNum+optTokens+` ?> ?`+limitNum+optTokens+` ?max`),
	numbers(Window, `too large: `+outputNum+`.*maximum context length is `+limitNum+optTokens+` and your request has `+inputNum),
	lowerBound(numbers(Window, `n_keep:? ?[=(]? ?`+inputNum+`\)? ?>=? ?n_ctx:? ?[=(]? ?`+limitNum)),
	numbers(InputLimit, `prompt length \(`+inputNum+`\), query length \((?P<input2>`+num+`)\) should not exceed max_num_tokens \(`+limitNum),
	numbers(Window, `max_seq_len \(`+limitNum+`\) - splited_prompt_len \(`+inputNum+`\) - query_token_len \((?P<input2>`+num+`)`),
	numbers(Window, `must be (?:<=|less than or equal to) `+limitNum+`\. given:? `+inputNum+` inputs tokens and `+outputNum),
	numbers(Window, `inputs must have less than `+limitNum+optTokens+`\. given:? `+inputNum),
	numbers(InputLimit, `input token count is `+inputNum+` but the model only supports up to `+limitNum),
	numbers(Window, `output tokens length is `+outputNum+`.*total length should be less than or equal to `+limitNum),
	numbers(Window, `model(?:'s)? token limit:? `+limitNum+` ?\(requested:? `+totalNum),
	numbers("", `exceed(?:ed|s)? (?:the )?(?:max(?:imum)? )?context (?:length|window|size|limit) by (?P<over>`+num+`)`),
	numbers("", `max_tokens must be at least 1, got -(?P<over>`+num+`)`),

	numbers(Window, `\(`+inputNum+` ?> ?`+limitNum+`\)`),
	numbers(Window, `\(`+inputNum+` ?/ ?`+limitNum+optTokens+`\)`),
	lowerBound(numbers("", `keep the first `+inputNum+optTokens)),
	numbers("", `resulting in a maximum input length of (?P<rest>`+num+`)`),

	// Limits.
	numbers(Window, `n_ctx(?:_slot)?:? ?[=(]? ?`+limitNum),
	numbers(Window, `context[ _-]?(?:length|window|size|limit)? ?`+isWord+limitNum),
	numbers(Window, `context (?:length|window|size|limit) (?:of|for) \S{1,80} is `+limitNum),
	numbers(Window, limitNum+`(?:[ -]tokens?)? (?:of )?(?:max(?:imum)? )?context`),
	numbers(Window, `max(?:imum)? (?:model|sequence|total)(?: sequence| context)? (?:length|size|tokens?)`+isWord+limitNum),
	numbers(Window, `max_(?:model_len|seq_len|position_embeddings|total_tokens)[ =:(]+`+limitNum),
	numbers(InputLimit, `max_(?:prompt|input)_(?:tokens|length|len)[ =:(]+`+limitNum),
	numbers(Window, `range of total length should be (?:less than or equal to |\[\d+, ?)`+limitNum),
	numbers(Window, `current length is `+totalNum+` while limit is `+limitNum),
	numbers(InputLimit, `range of input length should be \[\d+, ?`+limitNum),
	numbers(InputLimit, `max(?:imum)? (?:allowed )?(?:number of )?(?:prompt |input )?tokens?(?: allowed| supported)?(?: count| length| limit)?`+isWord+limitNum),
	numbers(InputLimit, `max(?:imum)? (?:allowed |supported )?(?:prompt |input |request )?(?:length|size)(?: allowed)?`+isWord+limitNum),
	numbers(InputLimit, `max(?:imum)? (?:prompt|input|request)`+isWord+limitNum),
	numbers(InputLimit, `tokens? limit `+limitNum),
	numbers(InputLimit, `(?:supports?|accepts?|allows?|handles?|takes?)(?: only| at most| up to| a maximum of| a max of)+ `+limitNum),
	// "exceeds limit (2013)" is MiniMax's error code: a number needs a verb or a unit.
	numbers(InputLimit, `(?:limit|maximum|max)(?: is| of|:| =) ?\(?`+limitNum),
	numbers(InputLimit, `(?:limit|maximum|max) \(?`+limitNum+` tokens`),
	numbers(InputLimit, `(?:cannot|can't|must not|should not|may not) exceed (?:\w+ )?\(?`+limitNum),
	numbers(InputLimit, `(?:must be|must have|should be)(?: <=| at most| less than or equal to| less than| no more than| under| below)+ `+limitNum),
	numbers(InputLimit, `(?:exceed(?:s|ed|ing)?|longer than|larger than|greater than|more than|over|fit (?:in|into|within))(?: the| its| a| our)? `+limitNum+`[ -]tokens?`),
	numbers(InputLimit, limitNum+`[ -]tokens? (?:limit|maximum|max\b|window)`),

	// Prompts.
	numbers("", `(?:prompt|input|request|messages?|conversation|context)(?: tokens?)?(?: length| count| size)? \((?:length |has |is )?`+leastWord+inputNum+optTokens+`\)`),
	numbers("", `(?:resulted in|results in|passed|sent|provided|supplied|contains?|containing|has|have|had|uses?|used|with) (?:about |approximately )?`+leastWord+inputNum+`(?: input| prompt)? tokens?`),
	numbers("", `(?:input|prompt)(?: tokens?)? (?:length|count|size)`+isWord+inputNum),
	numbers("", `(?:input|prompt) tokens?(?: length| count)?`+isWord+inputNum),
	numbers("", `(?:prompt|input|request|conversation|messages) (?:is|was|are|of|has) (?:about )?`+leastWord+inputNum+optTokens),
	numbers("", `too long:? ?\(?`+inputNum),
	numbers("", `(?:received|got|given|found|actual|counted):? `+leastWord+inputNum),
	numbers("", leastWord+inputNum+` (?:input|prompt) tokens`),

	// Outputs and totals.
	numbers("", `(?:requested|requesting|plus|\+) `+outputNum+` (?:output|completion|new|generated) tokens`),
	numbers("", outputNum+` (?:output|completion) tokens`),
	numbers("", `(?:max_tokens|max_completion_tokens|max_new_tokens|output tokens?|completion tokens?)`+isWord+outputNum),
	numbers("", `total of `+leastWord+totalNum+` tokens`),
	numbers("", `total (?:token count|tokens|number of tokens|length)`+isWord+totalNum),
	numbers("", `(?:will|would) (?:take|need|require|use) (?:about )?`+totalNum+` tokens`),
	numbers("", `current length`+isWord+totalNum),
	numbers("", `(?:requested|requests|asked for|needs|requires):? (?:about |a total of |approximately )?`+totalNum),
}

// part is one summand of "(6683 in the messages, 730 in the functions, and 800
// in the completion)", in the spellings of OpenAI, vLLM, SGLang and OpenRouter.
const part = `(?P<count>` + num + `)(?: tokens?)? (?:in|of|from|for) (?:the |your )?` +
	`(?P<class>(?:text |tool |image |audio |file |chat )?(?:input messages|inputs?|messages|prompt|functions?|tools?|schemas?)|completion|output|response)`

// partLead is the verb after which parts stand; a limit may be "of input" too.
var (
	partsRE    = regexp.MustCompile(part)
	partLeadRE = regexp.MustCompile(`\b(?:requested|resulted in|results in|total of|contains?)\b`)
)

// parts sums the summands of a sum that is spelled out, and cuts them out.
func (r *reading) parts() {
	lead := partLeadRE.FindStringIndex(r.text)
	if lead == nil {
		return
	}
	from := lead[1]
	sumIn, sumOut, in, out := 0, 0, false, false
	for _, m := range partsRE.FindAllStringSubmatchIndex(r.text[from:], 16) {
		n := tokens(r.text[from+m[2] : from+m[3]])
		switch class := r.text[from+m[4] : from+m[5]]; class {
		case "completion", "output", "response":
			sumOut, out = sumOut+n, true
		default:
			sumIn, in = sumIn+n, true
		}
		r.cut(from+m[2], from+m[3])
	}
	if in {
		r.fill(&r.input, sumIn)
	}
	if out {
		r.fill(&r.output, sumOut)
	}
}

// tokens reads a count: thousands separators, floats, "128k". It returns 0 for
// what is no sensible count.
func tokens(s string) int {
	s = strings.TrimRight(s, ",._'")
	scale := 1.0
	switch {
	case strings.HasSuffix(s, "k"):
		s, scale = s[:len(s)-1], 1e3
	case strings.HasSuffix(s, "m"):
		s, scale = s[:len(s)-1], 1e6
	}
	s = strings.NewReplacer(",", "", "_", "", "'", "").Replace(s)
	// A dot before three digits is a separator: no server prints such a float.
	if dot := strings.LastIndexByte(s, '.'); dot >= 0 && scale == 1 &&
		(strings.Count(s, ".") > 1 || len(s)-dot == 4) {
		s = strings.ReplaceAll(s, ".", "")
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f*scale > maxTokens {
		return 0
	}
	return int(f * scale)
}
