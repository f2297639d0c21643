package main

import (
	"net/url"
	"strconv"
	"time"

	"github.com/pleat-proxy/pleat/compaction"
)

// Config is what the options say, checked and in the types that the rest of the
// program takes. The meaning of each field is told where its option is
// (options.go).
type Config struct {
	Listen, Admin string
	Upstream      *url.URL

	Trigger     compaction.Trigger
	Scope       string
	KeepFirst   int
	ToolResults ToolResultsConfig
	TokensCache int
	Models      []modelRule
	Windows     WindowsConfig
	Overflow    OverflowConfig

	Summarizer SummarizerConfig
	Store      StoreConfig
	Tenant     TenantConfig
	Limits     LimitsConfig
	Log        LogConfig

	// values tells for every option what was written and where.
	values map[string]value
}

// SummarizerConfig holds the options below summarizer.
type SummarizerConfig struct {
	Models             []string
	Upstream           *url.URL // nil: where the client's request goes
	APIKey, APIKeyFile string
	Timeout            time.Duration
	Workers, Queue     int
	Memory             int64
	Share              float64 // 0 to 1
	Retries            int
}

// ToolResultsConfig holds tool_results and the options named tool_results_….
type ToolResultsConfig struct {
	What   string // keep or shorten
	Keep   int    // steps
	Exempt []string
}

// WindowsConfig holds the options about what is known of models' windows.
type WindowsConfig struct {
	Metadata                     bool
	MetadataKey, MetadataKeyFile string
	Catalogue, CatalogueCache    string
}

// OverflowConfig holds the options below overflow.
type OverflowConfig struct {
	Policy string // recover, report or forward
	Wait   time.Duration
}

// StoreConfig holds store and the options named store_….
type StoreConfig struct {
	Kind                string // "memory", or which Redis, without user and password
	URL                 string // of a Redis; "" is none. It may hold a password
	Memory              int64
	FoldTTL, SessionTTL time.Duration
	Redis               RedisConfig
}

// RedisConfig holds the options named store_… that are for Redis alone.
type RedisConfig struct {
	Prefix                                                   string
	PoolSize                                                 int
	DialTimeout, ReadTimeout, WriteTimeout, Budget           time.Duration
	Cache                                                    int64
	Username, Password, PasswordFile                         string
	SentinelUsername, SentinelPassword, SentinelPasswordFile string
	CA, Cert, Key, ServerName                                string // of TLS; the first three are paths
}

// TenantConfig holds the options below tenant.
type TenantConfig struct {
	Key, KeyFile string
}

// LimitsConfig holds the options below limits.
type LimitsConfig struct {
	Body, Memory, Headers                   int64
	BodyTimeout, HeaderTimeout, IdleTimeout time.Duration
	Drain, Shutdown                         time.Duration
}

// LogConfig holds the options below log.
type LogConfig struct {
	Level, Format string
	Access        bool
}

// value is an option as somebody wrote it.
type value struct {
	shown  string // fit for logs: secrets are masked
	origin origin
}

// origin says where a value was written, as an error begins: "flag --listen",
// "variable PLEAT_LISTEN" or "pleat.yml:3".
type origin string

// byDefault is the origin of what nobody wrote.
const byDefault origin = "default"

// optionError is a value that will not do. It is one line that can be read
// without knowing the code: where it was written, which key, which value, what
// is wrong with it, what would do.
type optionError struct {
	origin  origin
	key     string
	shown   string // the value, quoted and without secrets; "" if there is none
	problem string
	allowed string
}

func (e *optionError) Error() string {
	line := string(e.origin) + ": " + onOneLine(e.key)
	if e.shown != "" {
		line += " = " + e.shown
	}
	line += ": " + e.problem
	if e.allowed != "" {
		line += "; allowed: " + e.allowed
	}
	return line
}

// onOneLine is the text itself, or quoted where it holds what would break a
// line or a terminal.
func onOneLine(text string) string {
	if quoted := strconv.Quote(text); quoted != `"`+text+`"` {
		return quoted
	}
	return text
}
