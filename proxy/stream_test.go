package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/pleat-proxy/pleat/compaction"
)

// Each event reaches the client before the upstream makes the next, whatever
// the response calls itself.
func TestEventsArriveAtOnce(t *testing.T) {
	for _, contentType := range []string{
		"text/event-stream", "text/event-stream; charset=utf-8", "text/event-stream;charset=UTF-8",
		"application/x-ndjson", "application/octet-stream", "",
	} {
		for _, path := range []string{chatPath, "/v1/responses"} {
			t.Run(contentType+path, func(t *testing.T) {
				next := make(chan struct{})
				up := newUpstreamServer(t, func(w http.ResponseWriter, req *http.Request) {
					w.Header()["Content-Type"] = nil
					if contentType != "" {
						w.Header().Set("Content-Type", contentType)
					}
					for i := range 3 {
						fmt.Fprintf(w, "data: {\"n\":%d}\n\n", i)
						_ = http.NewResponseController(w).Flush()
						select {
						case <-next:
						case <-req.Context().Done():
							return
						}
					}
				})
				r := newRig(t, up.URL, nil)
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+path, strings.NewReader("{}"))
				res, err := r.client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = res.Body.Close() }()
				if got := res.Header.Get("Content-Type"); got != contentType {
					t.Errorf("content type %q", got)
				}
				in := bufio.NewReader(res.Body)
				for i := range 3 {
					want := fmt.Sprintf("data: {\"n\":%d}\n", i)
					if line, err := in.ReadString('\n'); line != want || err != nil {
						t.Fatalf("read %q, %v", line, err)
					}
					_, _ = in.ReadString('\n')
					next <- struct{}{} // only now may the upstream go on
				}
			})
		}
	}
}

// Events of any size pass whole, and what comes after them too.
func TestHugeEvents(t *testing.T) {
	var stream strings.Builder
	for _, size := range []int{200_000, 4 << 20, 10} {
		fmt.Fprintf(&stream, ": ping\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"%s\"}}]}\r\n\r\n", strings.Repeat("é\\\"", size/5))
	}
	stream.WriteString("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":6}}\n\ndata: [DONE]\n\n")
	up := newUpstreamServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream.String())
	})
	r := newRig(t, up.URL, nil)
	if _, got := r.post(t, "{}"); got != stream.String() {
		t.Errorf("%d bytes arrived of %d", len(got), stream.Len())
	}
	if u := r.fake.waitEnd(t); u != (compaction.Usage{Prompt: 5, Completion: 6}) {
		t.Errorf("usage %+v", u)
	}
}

// A client that leaves ends the upstream's work: before the headers, in the
// middle of a stream, and with a body of unknown end.
func TestClientLeaves(t *testing.T) {
	for _, path := range []string{chatPath, "/v1/models"} {
		for _, begun := range []bool{false, true} {
			t.Run(fmt.Sprint(path, begun), func(t *testing.T) {
				arrived, answered, cancelled := make(chan struct{}), make(chan struct{}), make(chan struct{})
				up := newUpstreamServer(t, func(w http.ResponseWriter, req *http.Request) {
					_, _ = io.Copy(io.Discard, req.Body)
					if begun {
						_, _ = io.WriteString(w, "data: 1\n\n")
						_ = http.NewResponseController(w).Flush()
					}
					close(arrived)
					<-req.Context().Done()
					close(cancelled)
				})
				r := newRig(t, up.URL, nil)
				ctx, leave := context.WithCancel(t.Context())
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, r.URL+path, strings.NewReader("{}"))
				gone := make(chan struct{})
				go func() {
					defer close(gone)
					if res, err := r.client.Do(req); err == nil {
						close(answered)
						_, _ = io.Copy(io.Discard, res.Body)
						_ = res.Body.Close()
					}
				}()
				<-arrived
				if begun {
					<-answered
				}
				leave()
				<-gone
				select {
				case <-cancelled:
				case <-time.After(5 * time.Second):
					t.Fatal("the upstream goes on working")
				}
				if path != chatPath {
					return
				}
				r.fake.waitEnd(t)
				r.Close()
				if got := len(r.fake.statuses); (got == 1) != begun {
					t.Errorf("Responded called %d times, response begun: %v", got, begun)
				}
				if log := r.log.String(); !strings.Contains(log, `"ended":"client_gone"`) || !begun && !strings.Contains(log, `"status":499`) {
					t.Errorf("log: %s", log)
				}
			})
		}
	}
}

// An upstream that breaks off is no clean end: the client must see it.
func TestUpstreamBreaksMidStream(t *testing.T) {
	for _, path := range []string{chatPath, "/v1/models"} {
		t.Run(path, func(t *testing.T) {
			base := rawUpstream(t, func(conn net.Conn, in *bufio.Reader) {
				_, _ = rawHead(in)
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"+
					"9\r\ndata: 1\n\n\r\n")
			})
			r := newRig(t, base, nil)
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+path, http.NoBody)
			res, err := r.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = res.Body.Close() }()
			body, err := io.ReadAll(res.Body)
			if string(body) != "data: 1\n\n" || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("read %q, %v; want an unexpected end", body, err)
			}
			if path == chatPath {
				r.fake.waitEnd(t)
			}
			r.Close()
			if !strings.Contains(r.log.String(), `"ended":"upstream_broke"`) {
				t.Errorf("log: %s", r.log)
			}
			if got := r.metric(t, "pleat_aborted_total", "by=upstream_broke"); got != 1 {
				t.Errorf("counted %v", got)
			}
		})
	}
}

func TestTrailersBothWays(t *testing.T) {
	for _, path := range []string{chatPath, "/v1/files"} {
		t.Run(path, func(t *testing.T) {
			seen := make(chan http.Header, 1)
			up := newUpstreamServer(t, func(w http.ResponseWriter, req *http.Request) {
				_, _ = io.Copy(io.Discard, req.Body)
				seen <- req.Trailer
				w.Header().Set("Trailer", "X-Announced")
				_, _ = io.WriteString(w, "body")
				w.Header().Set("X-Announced", "a")
				w.Header().Set(http.TrailerPrefix+"X-Late", "l")
			})
			r := newRig(t, up.URL, nil)
			body := io.MultiReader(strings.NewReader("{}"))
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+path, body)
			req.Trailer = http.Header{"X-Sum": {"42"}}
			res, _ := r.do(t, req)
			if got := (<-seen).Get("X-Sum"); got != "42" {
				t.Errorf("request trailer %q", got)
			}
			if res.Trailer.Get("X-Announced") != "a" || res.Trailer.Get("X-Late") != "l" {
				t.Errorf("response trailers %v", res.Trailer)
			}
		})
	}
}

func TestInformationalResponsesPass(t *testing.T) {
	up := newUpstreamServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		w.Header()["Content-Type"] = nil
		_, _ = io.WriteString(w, "<html>")
	})
	r := newRig(t, up.URL, nil)
	var hints []string
	trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		hints = append(hints, fmt.Sprint(code, h.Get("Link")))
		return nil
	}}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+chatPath, strings.NewReader("{}"))
	res, _ := r.do(t, req.WithContext(httptrace.WithClientTrace(t.Context(), trace)))
	if len(hints) != 1 || hints[0] != "103</a>; rel=preload" {
		t.Errorf("hints %q", hints)
	}
	if _, ok := res.Header["Content-Type"]; ok || res.Header.Get("Link") != "" {
		t.Errorf("header %v", res.Header)
	}
}
