package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	clientopt "github.com/openai/openai-go/v3/option"
)

// demoPlayer holds a conversation through Pleat with the official client, as
// any program would: it keeps the whole history and sends all of it each turn.
type demoPlayer struct {
	chats   openai.ChatCompletionService
	model   string
	settle  func(context.Context) error // returns when nothing waits or runs in the background
	history []openai.ChatCompletionMessageParamUnion
}

// demoResult is what one turn showed.
type demoResult struct {
	turn           int // from 1
	received, sent int // tokens, as Pleat's response headers say
	prompt, cached int // tokens, as the provider's usage says
	folded         int // messages that a fold stood in for
	status         string
	added          time.Duration // that Pleat took before sending
}

func newDemoPlayer(client *http.Client, baseURL, key, model string, settle func(context.Context) error) *demoPlayer {
	return &demoPlayer{
		// The service alone, and not openai.NewClient: that one reads the
		// environment.
		chats: openai.NewChatCompletionService(
			clientopt.WithBaseURL(baseURL), clientopt.WithAPIKey(key), clientopt.WithHTTPClient(client)),
		model:   model,
		settle:  settle,
		history: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(demoSystem)},
	}
}

// turn says the script's turn n, from 0, reads the answer to its end, and then
// gives the background the time that a person would take to read and to type:
// it waits until nothing is left to do there, however short that is.
func (p *demoPlayer) turn(ctx context.Context, n int) (demoResult, error) {
	user, _ := demoTurn(n)
	p.history = append(p.history, openai.UserMessage(user))
	var head *http.Response
	stream := p.chats.NewStreaming(ctx, openai.ChatCompletionNewParams{
		Model:         p.model,
		Messages:      p.history,
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}, clientopt.WithResponseInto(&head))
	defer func() { _ = stream.Close() }()

	var whole openai.ChatCompletionAccumulator
	for stream.Next() {
		whole.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil {
		if refused, ok := errors.AsType[*openai.Error](err); ok { // whose text takes every provider for OpenAI
			err = fmt.Errorf("the answer is %d %s", refused.StatusCode, http.StatusText(refused.StatusCode))
		}
		return demoResult{}, fmt.Errorf("turn %d: %w", n+1, err)
	}
	if len(whole.Choices) == 0 || strings.TrimSpace(whole.Choices[0].Message.Content) == "" {
		return demoResult{}, fmt.Errorf("turn %d: the model answered nothing", n+1)
	}
	p.history = append(p.history, openai.AssistantMessage(whole.Choices[0].Message.Content))

	r, err := readDemoHeaders(head.Header)
	if err != nil {
		return demoResult{}, fmt.Errorf("turn %d: %w", n+1, err)
	}
	r.turn = n + 1
	r.prompt, r.cached = int(whole.Usage.PromptTokens), int(whole.Usage.PromptTokensDetails.CachedTokens)
	if err := p.settle(ctx); err != nil {
		return demoResult{}, fmt.Errorf("turn %d: waiting for the background: %w", n+1, err)
	}
	return r, nil
}

// readDemoHeaders reads what Pleat says of a request in its response's headers.
func readDemoHeaders(h http.Header) (demoResult, error) {
	r := demoResult{status: h.Get("X-Pleat-Status")}
	var errs []error
	number := func(name string, to *int) {
		n, err := strconv.Atoi(h.Get(name))
		if err != nil {
			errs = append(errs, fmt.Errorf("response header %s is %q", name, h.Get(name)))
		}
		*to = n
	}
	number("X-Pleat-Tokens-Received", &r.received)
	number("X-Pleat-Tokens-Sent", &r.sent)
	number("X-Pleat-Folded-Messages", &r.folded)
	for timing := range strings.SplitSeq(h.Get("Server-Timing"), ",") {
		if text, ok := strings.CutPrefix(strings.TrimSpace(timing), "pleat;dur="); ok {
			ms, err := strconv.ParseFloat(text, 64)
			if err != nil {
				errs = append(errs, fmt.Errorf("response header Server-Timing is %q", timing))
			}
			r.added = time.Duration(ms * float64(time.Millisecond))
		}
	}
	return r, errors.Join(errs...)
}
