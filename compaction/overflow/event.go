package overflow

import (
	"bytes"
	"strconv"
)

// RecogniseEvent reads one event of a stream that began with a 2xx: its raw
// lines, or its data alone. It is true for an error event that tells a context
// overflow, in any of the forms that servers use: event: error, an error or
// response.failed object as data, llama.cpp's error: field. What an assistant
// says in a delta is never read. For events without an error it costs a
// search for two words.
func RecogniseEvent(event []byte) (Report, bool) {
	return recogniseEvent(200, event)
}

// recogniseEvent reads an event of an answer with the given status.
func recogniseEvent(status int, event []byte) (Report, bool) {
	if success(status) && !suspect(event) {
		return Report{}, false
	}
	claimed, data, isError := parseEvent(clip(event, maxBody))
	switch {
	case claimed != 200:
		status = claimed
	case isError && success(status):
		status = 400
	}
	return recogniseBody(status, data)
}

// suspect is the cheap test that almost every event fails. The words are those
// that one of any error envelope's keys holds.
func suspect(event []byte) bool {
	return bytes.Contains(event, []byte("rror")) ||
		bytes.Contains(event, []byte(`"code"`)) ||
		bytes.Contains(event, []byte("base_resp"))
}

// recogniseStream reads events until one is an overflow. Without one it
// reports the first output cap that an event told.
func recogniseStream(status int, body []byte) (Report, bool) {
	var seen Report
	for len(body) > 0 {
		var event []byte
		event, body = cutEvent(body)
		report, ok := recogniseEvent(status, event)
		if ok {
			return report, true
		}
		if seen.Kind == "" {
			seen = report
		}
	}
	return seen, false
}

// cutEvent splits off the first event: everything up to an empty line.
func cutEvent(body []byte) (event, rest []byte) {
	for i := 0; i < len(body); {
		line, size := cutLine(body[i:])
		if len(line) == 0 {
			return body[:i], body[i+size:]
		}
		i += size
	}
	return body, nil
}

// cutLine returns the first line and its size with the line end: LF, CRLF or CR.
func cutLine(b []byte) (line []byte, size int) {
	end := bytes.IndexAny(b, "\r\n")
	switch {
	case end < 0:
		return b, len(b)
	case b[end] == '\r' && end+1 < len(b) && b[end+1] == '\n':
		return b[:end], end + 2
	}
	return b[:end], end + 1
}

// parseEvent returns an event's data, the status that it claims (200 without
// one) and whether its fields say that it is an error. Bytes that are no event
// are data.
func parseEvent(event []byte) (status int, data []byte, isError bool) {
	status = 200
	if trimmed := bytes.TrimSpace(event); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
		return status, trimmed, false
	}
	var lines [][]byte
	for len(event) > 0 {
		line, size := cutLine(event)
		event = event[size:]
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			lines = append(lines, value)
		case "error": // llama.cpp before its streams followed OpenAI's
			lines, isError = append(lines, value), true
		case "event":
			isError = isError || bytes.EqualFold(bytes.TrimSpace(value), []byte("error"))
		case "": // a comment; DashScope's carries the real status
			if code, found := bytes.CutPrefix(value, []byte("HTTP_STATUS/")); found {
				status = statusOf(code)
			}
		}
	}
	return status, bytes.Join(lines, []byte("\n")), isError
}

// statusOf reads a status, 200 if it is none.
func statusOf(code []byte) int {
	if n, err := strconv.Atoi(string(bytes.TrimSpace(code))); err == nil && n >= 100 && n < 600 {
		return n
	}
	return 200
}
