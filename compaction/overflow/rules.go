package overflow

import (
	"regexp"
	"strings"
)

// rule matches plain prose (see plain). A rule with also needs both patterns,
// in any order; one with but must not match that.
type rule struct {
	name  string
	match *regexp.Regexp
	also  *regexp.Regexp
	but   *regexp.Regexp
}

func when(name, expr string) rule {
	return rule{name: name, match: regexp.MustCompile(expr)}
}

func (r rule) and(expr string) rule {
	r.also = regexp.MustCompile(expr)
	return r
}

func (r rule) unless(expr string) rule {
	r.but = regexp.MustCompile(expr)
	return r
}

func (r rule) applies(text string) bool {
	return r.match.MatchString(text) &&
		(r.also == nil || r.also.MatchString(text)) &&
		(r.but == nil || !r.but.MatchString(text))
}

// first returns the first rule that applies to text.
func first(rules []rule, text string) (rule, bool) {
	for _, r := range rules {
		if r.applies(text) {
			return r, true
		}
	}
	return rule{}, false
}

// echoes are errors about the request's form, which quote the request. Nothing
// in such an answer is evidence, codes included.
//
//nolint:gochecknoglobals // a table, compiled once, never changed
var echoes = []rule{
	when("json", `\b(?:pars(?:e|ing)|decod(?:e|ing)|invalid|malformed|not valid)\b.{0,24}\bjson\b|\bjson ?(?:pars|decod)|unexpected token`),
	when("validation", `\bvalidation errors? for\b|field required|extra inputs are not permitted|input should be|'loc':`),
	when("parameter", `un(?:recognized|supported|known|expected) (?:request )?(?:argument|parameter|field|name|keyword|value|role)|invalid value:|invalid type for`),
}

// guards are errors that resemble an overflow in words and are none.
//
//nolint:gochecknoglobals // a table, compiled once, never changed
var guards = []rule{
	when("rate", `per[- ](?:min\b|minute|second|sec\b|hour|day)|\b[tr]p[mds]\b|rate[ _-]?limit|throttl|too many requests|please wait|try again (?:later|in \d)|\bquota|overloaded|at capacity|concurren`),
	when("money", `\bcredits?\b|\bafford|\bbilling|\bbalance\b|\bpayment|\bsubscription|extra usage|your (?:current )?(?:plan|tier)\b|余额|额度|欠费`),
	when("rate-zh", `速率|频率|限流|请求过于频繁`),
	when("bytes", `\bbytes?\b|\b\d+(?:\.\d+)? ?(?:[kmg]i?b)\b|\bpixels?\b|file size|image (?:exceeds|is too|size)|image dimensions`),
	when("bytes", `payload|entity too large|(?:request )?body size`).
		unless(`\btokens\b|context`),
	when("field", `\bstrings? (?:value )?(?:is )?(?:too long|length|should)|\barray (?:is )?too long|max_?length\b|maximum of \d+ characters|at most \d+ characters|too many (?:images|messages|tools|functions|files|stop)`).
		unless(`context length`),
	when("items", `number of (?:images|messages|tools|functions|files|documents|stop sequences) .{0,24}(?:exceed|limit|maximum)|(?:number of|max(?:imum)?) (?:retries|attempts|connections|sessions|requests)\b|(?:tools|functions|stop sequences|images) (?:array )?exceed`),
	when("memory", `batch size|\bmemory\b|\bvram\b|\bcuda\b|\bgpu\b|\boom\b`),
	when("time", `deadline|cancell?ed|cancell?ation|timed? ?out`),
	when("model", `(?:window|length|size) (?:is )?too small|minimum (?:is|context)|model.{0,80}(?:not found|does not exist)|content (?:filter|management policy)`),
	when("internal", `(?:computing|calculating|determin\w+|fetching|look\w* up|get(?:ting)?) (?:the )?(?:model's )?(?:max(?:imum)? )?context`),
}

// The words by which answers name the requested output.
const outputNames = `(?:max[_ ]?(?:completion[_ ]|output[_ ]|new[_ ])?tokens|maxoutputtokens|maxtokens|max_gen_len|num_predict|maximum tokens|(?:output|completion) tokens)`

// caps are errors about the requested output alone, with what they state.
//
//nolint:gochecknoglobals // a table, compiled once, never changed
var caps = []rule{
	when("output-cap", `max_tokens: `+num+` > `+num+`,? which is the maximum`),
	when("output-cap", `supports? (?:at most|up to|a maximum of) `+num+` (?:completion|output) tokens`),
	when("output-cap", outputNames+`.{0,24} must be less than or equal to .{0,80}maximum value for`),
	when("output-cap", outputNames).
		and(`too (?:large|high|big)|exceed|cannot|can't|must be|at most|\brange\b|above (?:the )?max|greater than|larger than|>|maximum allowed|参数非法|超`).
		unless(`\binputs?\b|\bprompts?\b|\bmessages\b|\bcontext (?:length|limit|size|window)|must be (?:at least|greater than|positive|>)|below minimum|total token|token count|token limit`),
}

// capNumbers read the cap and what was asked for.
//
//nolint:gochecknoglobals // a table, compiled once, never changed
var capNumbers = []pattern{
	numbers(OutputLimit, `: `+outputNum+` > `+limitNum),
	numbers(Window, outputNames+`[ =]\(?`+outputNum+`\)? cannot be greater than (?:[a-z_]+=)*`+limitNum),
	numbers(OutputLimit, `from 1 \(inclusive\) to (?P<exclusive>`+num+`) \(exclusive\)`),
	numbers(OutputLimit, `\[\d+, ?`+limitNum),
	numbers(OutputLimit, `(?:at most|up to|maximum of|<=|less than or equal to|cannot exceed|must not exceed|limit of|limit is|no more than|less than) `+limitNum),
	numbers(OutputLimit, `(?:maximum|max|limit)(?: \w+){0,3}`+isWord+limitNum),
	numbers("", `(?:provided|got|given|received|requested|value of) `+outputNum),
	numbers("", outputNames+`[ =:]+\(?`+outputNum),
}

// Building blocks of the wording families.
const (
	subjectWords = `(?:prompts?|inputs?|requests?|conversation|messages|context|history|quer(?:y|ies)|text|tokens|token count|sequence|you)\b`
	beyondWords  = `(?:exceed(?:s|ed|ing)?|(?:longer|larger|greater|bigger|more|higher) than|surpass\w*|(?:goes|went|is|are) (?:over|beyond|above)|overflow(?:s|ed)?|(?:does not|doesn't|do not|don't|cannot|can't|won't|will not) fit|too (?:long|large|big) (?:for|to fit)|>=?)`
	windowWords  = `(?:context\b|context[_ -](?:length|window|size|limit)|(?:prompt|input|sequence|model) (?:length|limit|size|window)|max(?:imum)? (?:\w+ ){0,3}(?:length|tokens?|prompt|input|context)|number of tokens|(?:token|configured) limit|max_(?:prompt|input|context|model|seq)|n_ctx|limit of ` + num + ` tokens|model(?:'s)? (?:limit|capacity)|` + num + `[ -]tokens?)`
)

// families are the wordings of an overflow. The first that applies names the
// form; more particular ones stand first.
//
//nolint:gochecknoglobals // a table, compiled once, never changed
var families = []rule{
	// Forms of one server.
	when("vllm", `max_tokens must be at least 1, got -(?:[2-9]|\d\d)`),
	when("tensorrt-llm", `default_max_tokens \(-`+num+`\) must be greater than 0|prompt length \(.{0,60}max_num_tokens`),
	when("anthropic", `(?:prompt|input) is too long: ?`+num+` tokens? ?>|input length and max_tokens exceed|request size exceeds model context`),
	when("gemini", `input token count .{0,40}(?:exceeds the maximum number of tokens|only supports up to)`),
	when("tgi", `inputs tokens \+ max_new_tokens must be|inputs must have less than`),
	when("lmstudio", `n_keep.{0,24}>=.{0,8}n_ctx|tokens to keep from the initial prompt|trying to keep the first .{0,40}context`),
	when("dashscope", `range of (?:input|total) length should be|input tokens length is .{0,60}output tokens length is`),
	when("mistral", `draft tokens, too large for model`),
	when("cerebras", `current length is `+num+` while limit is`),
	when("moonshot", `exceed(?:s|ed)? (?:the )?model(?:'s)? token limit`),
	when("github-models", `too large for .{0,80}max size: `+num+` tokens`),
	when("xai", `maximum prompt length is `+num),
	when("llama.cpp", `available context size|larger than the max context size`),
	when("ollama", `longer than the context length currently|exceeded max context length by|input length exceeds the context length`),
	when("minimax", `context window exceeds limit`),
	when("sglang", `longer than the model's context length|requested token count exceeds`),
	when("vllm", `(?:decoder|encoder) prompt \(length|your request has `+num+` input tokens|requested `+num+` output tokens|you passed `+num+` input`),
	when("openai-responses", `your input exceeds the context window`),
	when("openai", `(?:maximum context length is|configured limit of) `+num),

	// Families that any server may use.
	when("context-size", `context (?:length|window|size|limit) (?:is|of) (?:only )?`+num+`.{0,60}\b(?:requested|resulted|prompt|however|but)\b`),
	when("context-size", `\b(?:prompt|input|requests?|messages|conversation) (?:has|have|contains?|is|uses?|resulted in|needs?) (?:about |at least )?`+num+` (?:input )?tokens.{0,60}\b(?:context|max\w*|limit)\b`),
	when("context-exceeded", `\bcontext(?:[ _-](?:length|window|size|limit|budget))*(?: (?:has been|has|have been|was|is|were|limit))* (?:exceed(?:ed|s|ing)?|overflow(?:ed|s)?|overrun|full|reached|exhausted)\b`),
	when("context-exceeded", `context_?(?:length|window|size|limit)_?exceeded|contextwindowexceeded|(?:exceed|overflow)\w* (?:\w+'?s? ){0,4}context (?:length|window|size|limit)`),
	when("beyond-window", `\b`+subjectWords+`.{0,80}?(?:\b|\s)`+beyondWords+`.{0,80}?`+windowWords),
	when("beyond-limit", `\b(?:prompt|input|context|tokens|token count)(?: (?:token count|tokens?|length|size|count))?(?: (?:of )?\(?`+num+`\)?)?(?: tokens)? `+beyondWords+` (?:the |its )?(?:allowed |model |model's |length |token |size )?(?:limit|max\w*)`),
	when("beyond-window", `exceed(?:s|ed|ing)? (?:the |its |this |our )?(?:model(?:'s)? )?max(?:imum)? (?:number of )?(?:allowed )?(?:input|prompt|context|sequence|tokens)\b`),
	when("beyond-window", `max(?:imum)? (?:allowed )?(?:input|prompt|context|sequence) (?:length|size|tokens?)(?: limit)?(?: was| has been| is)? exceeded`),
	when("beyond-limit", `\b(?:tokens?|prompt|input) limit (?:was |has been |is )?exceeded`).
		and(`context|model|input|prompt`),
	when("too-long", `message you submitted was too long`),
	when("too-long", `\b(?:prompt|input|conversation|context|chat history|history|messages)(?: text| tokens?| length| size)?(?: \([^)]{0,40}\))?(?: is| are| was| were| has become| became| may be)?(?: much| far| way)? too long\b`),
	when("too-long", `\b(?:prompt|input|conversation|context|history|messages)(?: text| tokens?| length| size)?(?: \([^)]{0,40}\))?(?: is| are| was| were)? too (?:large|big)\b`).
		and(`tokens?\b|context|model`),
	when("too-many-tokens", `too many (?:input |prompt |context |total )?tokens`).
		and(`\bprompt|\binput|context|cannot exceed|\bmax|model`),
	when("reduce-length", `(?:reduce|shorten|trim|decrease) (?:the )?(?:length|size|number of tokens) (?:of|in) (?:the |your |either )?(?:input |chat )?(?:messages?|prompt|input|conversation|context|history|text)`),
	when("reduce-length", `(?:reduce|shorten|trim|decrease) (?:the |your )?(?:prompt|input|messages|conversation|context)\b`).
		and(`\btokens?\b|context (?:length|window|size|limit)|max(?:imum)? length`),
	when("prompt-maximum", `\b(?:prompt|input|total)(?: tokens?| length| token count)*(?: `+num+`)? (?:must|should|can|may) ?(?:not)? (?:be|exceed|have) .{0,40}`+num).
		and(`\btokens?\b|length`).
		unless(`at least|empty|greater than|minimum`),
	when("prompt-maximum", `(?:supports?|accepts?|takes?|handles?) (?:only )?(?:up to|at most|a maximum of) `+num+` (?:input |prompt )?tokens.{0,60}\b(?:but|received|got|requested|however)\b`),
	when("zh", `(?:输入|上下文|提示词?|prompt|消息|对话|内容|tokens?).{0,24}?(?:过长|超长|太长|超过|超出|超限)`).
		and(`长|上下文|tokens?|输入|prompt`),
}

// totalWords say that the requested output counts too, where no numbers do.
var totalWords = regexp.MustCompile(`or (?:the )?completion|\btotal (?:number of )?(?:requested )?tokens?\b|max_tokens|max_completion_tokens|context size has been exceeded|\boutput\b`)

// overflowCode knows a code, a type or an exception's name that by itself
// says overflow: context_length_exceeded, exceed_context_size_error,
// ContextWindowExceededError, model_max_prompt_tokens_exceeded and their kin.
func overflowCode(code string) bool {
	c := fold(code)
	far := strings.Contains(c, "exceed") || strings.Contains(c, "overflow") ||
		strings.Contains(c, "toolong") || strings.Contains(c, "toolarge") || strings.Contains(c, "toomanyprompt")
	return far && (strings.Contains(c, "context") || strings.Contains(c, "prompt") ||
		strings.HasPrefix(c, "input") && !strings.Contains(c, "rate")) ||
		c == "tokenslimitreached" || c == "tokenstoolong"
}

// providerCode knows codes that are only numbers. One of them counts if the
// prose is about the prompt: others use the same numbers.
func providerCode(code string) (format string) {
	switch code {
	case "1261":
		return "zhipu"
	case "3051":
		return "mistral"
	}
	return ""
}

// otherCode knows codes that say what the error is, and it is no overflow.
func otherCode(code string) bool {
	switch code {
	case "401", "402", "403", "407", "429", "504":
		return true
	}
	c := fold(code)
	if c == "tokens" || c == "requests" { // OpenAI's types of rate limits
		return true
	}
	for _, part := range []string{
		"ratelimit", "quota", "billing", "balance", "contentfilter", "abovemaxlength", "stringtoolong",
		"unsupportedparameter", "requesttoolarge", "authentication", "permission", "notfound", "throttl",
		"resourceexhausted", "overloaded", "toomanyrequests", "timeout", "policyviolation",
	} {
		if strings.Contains(c, part) {
			return true
		}
	}
	return false
}
