package main

import (
	"strings"
	"time"
)

// option is one key of the configuration: the row of the table from which the
// file's keys, flags, variables, help and docs/configuration.md are made.
type option struct {
	key  string
	kind kind
	def  string // as it would be written in the file; "" is not set
	help string
}

// flag is the option's flag without dashes, or "" when only a file can hold it.
func (o option) flag() string {
	if o.kind.entries != nil {
		return ""
	}
	return strings.NewReplacer(".", "-", "_", "-").Replace(o.key)
}

// variable is the option's environment variable, or "" when only a file can
// hold it.
func (o option) variable() string {
	if o.kind.entries != nil {
		return ""
	}
	return "PLEAT_" + strings.ToUpper(strings.ReplaceAll(o.key, ".", "_"))
}

// group is what help shows under one heading.
type group struct {
	title   string
	options []option
}

// optionTable is every option there is, bound to the fields of c. The code
// reads all of them: an option that changes nothing is not to be listed.
func optionTable(c *Config) []group {
	return []group{
		{"Addresses", addressRows(c)},
		{"Folding", foldingRows(c)},
		{"Windows", windowRows(c)},
		{"Overflow", overflowRows(c)},
		{"Summarizer", summarizerRows(c)},
		{"Store", storeRows(c)},
		{"Redis", redisRows(c)},
		{"Tenants", tenantRows(c)},
		{"Limits", limitRows(c)},
		{"Logging", logRows(c)},
	}
}

func addressRows(c *Config) []option {
	return []option{
		{"listen", address(&c.Listen), "127.0.0.1:8080", "where clients connect"},
		{"admin", address(&c.Admin), "127.0.0.1:8081",
			"where /healthz, /readyz and /metrics are served; a loopback address, since it asks for no credential"},
		{"upstream", baseURL(&c.Upstream), "https://api.openai.com/v1",
			"the provider: /v1/x on Pleat is this URL + /x, any other path goes to its origin unchanged"},
	}
}

func foldingRows(c *Config) []option {
	r := &c.ToolResults
	return []option{
		{"trigger", trigger(&c.Trigger), "auto",
			"history tokens above which old turns are folded; auto is a sixteenth of the model's window, " +
				"from 1024 to 8192, and half of what is free of it for agents"},
		{"scope", choice(&c.Scope, "auto", "turns", "steps"), "auto",
			"what may be folded: completed turns; with steps also completed steps of the turn under way (a long run of an agent); " +
				"with auto these only once a request passes 70% of its window"},
		{"keep_first", count(&c.KeepFirst, "messages", 0, 100), "0",
			"user messages at the beginning of a conversation that always stay as they are, in front of the fold; " +
				"1 keeps an agent's task in its own words"},
		{"tool_results", choice(&r.What, "keep", "shorten"), "keep",
			"what becomes of old tool results: shorten sends the first and last lines of those above 1 KiB, in batches, and folds later for it"},
		{"tool_results_keep", count(&r.Keep, "steps", 1, 1000), "10",
			"steps (an assistant's message and the results that answer it), the newest ones, whose results stay whole, " +
				"and steps to a batch; only with tool_results: shorten"},
		{"tool_results_exempt", names(&r.Exempt, "names of tools, as requests declare them"), "",
			"tools whose results always stay whole; only with tool_results: shorten"},
		{"tokens.cache", count(&c.TokensCache, "messages", 1000, 10_000_000), "100000",
			"messages whose token count is remembered, so that a turn costs only its new messages"},
		{"models", modelRules(&c.Models), "",
			"limits and encodings of models that Pleat does not know, or knows wrongly; patterns are tried in the file's order"},
	}
}

func windowRows(c *Config) []option {
	w := &c.Windows
	return []option{
		{"upstream_metadata", toggle(&w.Metadata), "off",
			"ask the upstream at the start what its models' windows are (/models, and what llama.cpp, LM Studio and Ollama have for it); " +
				"never on a request's path, and never with a client's credential"},
		{"upstream_metadata_key", secret(&w.MetadataKey, 1), "", "the credential to ask with; without it none is sent, which local servers do not mind"},
		{"upstream_metadata_key_file", filePath(&w.MetadataKeyFile), "", "a file that holds upstream_metadata_key, read once at the start"},
		{"catalogue", place(&w.Catalogue), "",
			"models' windows in the format of LiteLLM's model_prices_and_context_window.json, before the built-in catalogue; " +
				"a URL is fetched at most once in 24 hours, a file read again when it changes, and a wrong one leaves the last good one in use"},
		{"catalogue_cache", writtenPath(&w.CatalogueCache), "",
			"the file in which the last good catalogue is kept, unless it is to be pleat/catalogue in the user's cache directory"},
	}
}

func overflowRows(c *Config) []option {
	o := &c.Overflow
	return []option{
		{"overflow.policy", choice(&o.Policy, "recover", "report", "forward"), "recover",
			"what is done about a request that exceeds its window: recover makes it fit, before it is sent and once more after a refusal, " +
				"and reports what cannot fit; report explains a refusal in OpenAI's form with what used the tokens; " +
				"forward passes the provider's refusal as it is; none of them refuses a request by an estimate"},
		{"overflow.wait", duration(&o.Wait, time.Second, 5*time.Minute), "20s",
			"how long a request that would exceed its window may wait for a summary that makes it fit; no other request waits"},
	}
}

func summarizerRows(c *Config) []option {
	s := &c.Summarizer
	return []option{
		{"summarizer.models", names(&s.Models, "names of models, the first one asked first; same is the conversation's own"), "same",
			"models that write summaries, tried in order; same is the conversation's own, at its price"},
		{"summarizer.upstream", queryURL(&s.Upstream), "",
			"the summarizer's base URL, if it is another than the client's request goes to; a query in it is kept; needs a key of its own"},
		{"summarizer.api_key", secret(&s.APIKey, 1), "",
			"the summarizer's credential; without it the client's own is used"},
		{"summarizer.api_key_file", filePath(&s.APIKeyFile), "",
			"a file that holds summarizer.api_key, read once at the start"},
		{"summarizer.timeout", duration(&s.Timeout, time.Second, 2*time.Minute), "60s",
			"how long one model may take over one summary"},
		{"summarizer.workers", count(&s.Workers, "jobs", 1, 1024), "4", "summaries being written at the same time"},
		{"summarizer.queue", count(&s.Queue, "jobs", 1, 100_000), "256",
			"summaries waiting to be written; one too many is dropped and comes again with the next turn"},
		{"summarizer.memory", size(&s.Memory, mib, 64*gib), "64MiB", "text that all waiting and running jobs may hold"},
		{"summarizer.share", percent(&s.Share, 1, 100), "50%",
			"the part of a tenant's received tokens that its summaries may cost"},
		{"summarizer.retries", count(&s.Retries, "attempts", 0, 10), "2",
			"further attempts after a failed one; only with summarizer.api_key, on the client's own there are none"},
	}
}

// minTenantKey is the least length of tenant.key, in characters: 128 bits where
// they are hexadecimal digits.
const minTenantKey = 32

func tenantRows(c *Config) []option {
	return []option{
		{"tenant.key", secret(&c.Tenant.Key, minTenantKey), "",
			"the key under which credentials are hashed into tenants; replicas need the same one, " +
				"without it one is derived from the upstream"},
		{"tenant.key_file", filePath(&c.Tenant.KeyFile), "", "a file that holds tenant.key, read once at the start"},
	}
}

func limitRows(c *Config) []option {
	l := &c.Limits
	return []option{
		{"limits.body", size(&l.Body, kib, 4*gib), "64MiB", "largest body of a chat request, also after inflating it; more is answered 413"},
		{"limits.memory", size(&l.Memory, mib, 1024*gib), "1GiB",
			"what the bodies of all chat requests may hold together until their answers begin; a request above it is relayed " +
				"without folding, never refused; planning takes up to as much again"},
		{"limits.body_timeout", duration(&l.BodyTimeout, time.Second, 10*time.Minute), "30s",
			"how long a client may pause while it sends a chat request's body"},
		{"limits.header_timeout", duration(&l.HeaderTimeout, time.Second, 5*time.Minute), "10s",
			"how long a client may take over a request's header"},
		{"limits.idle_timeout", duration(&l.IdleTimeout, time.Second, time.Hour), "3m",
			"how long a client's connection may stay open without a request"},
		{"limits.headers", size(&l.Headers, 4*kib, 16*mib), "1MiB", "largest header of a request; more is answered 431"},
		{"limits.drain", duration(&l.Drain, 0, 5*time.Minute), "3s",
			"how long Pleat still takes requests once it is told to stop, while /readyz says that it is stopping, so that " +
				"load balancers can turn away; a second signal cuts it short"},
		{"limits.shutdown", duration(&l.Shutdown, time.Second, 10*time.Minute), "30s",
			"how long running answers and summaries may take to end after limits.drain"},
	}
}

func logRows(c *Config) []option {
	l := &c.Log
	return []option{
		{"log.level", choice(&l.Level, "debug", "info", "warn", "error"), "info", "the least severe lines to write"},
		{"log.format", choice(&l.Format, "text", "json"), "text", "how a line is written"},
		{"log.access", toggle(&l.Access), "on", "one line for each request, never with its text; off leaves the lines of those that went wrong"},
	}
}
