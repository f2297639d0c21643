package overflow

import "strings"

// marks reports whether a document says by its structure that it is an error.
func marks(doc node) bool {
	if doc.shape == listShape {
		return len(doc.items) > 0 && doc.items[0].shape == objectShape && marks(doc.items[0])
	}
	coded, worded, answered := false, false, false
	for i, name := range doc.names {
		v := doc.items[i]
		switch key := fold(name); key {
		case "error", "errors", "errortype", "errorcode", "errormessage", "errormsg", "lasterror":
			if !v.empty() {
				return true
			}
		case "type", "object", "status":
			if t := fold(v.text); t == "error" || t == "failure" || t == "failed" {
				return true
			}
		case "response", "baseresp", "choices":
			answered = answered || key == "choices" && len(v.items) > 0
			if inner(v) {
				return true
			}
		case "code":
			coded = !v.empty() && v.text != "200"
		case "message", "msg", "detail":
			worded = v.shape == textShape && !v.empty()
		}
	}
	return coded && worded && !answered
}

// inner reports whether an envelope within a successful document holds an
// error: a failed response object, MiniMax's base_resp, a choice.
func inner(v node) bool {
	for _, item := range v.items {
		if v.shape == listShape && inner(item) {
			return true
		}
	}
	for i, name := range v.names {
		switch fold(name) {
		case "error", "statuscode":
			if item := v.items[i]; !item.empty() {
				return true
			}
		}
	}
	return false
}

// empty reports whether a value says nothing: null, false, 0, "" or [] or {}.
func (n node) empty() bool {
	switch n.shape {
	case objectShape, listShape:
		return len(n.items) == 0
	case wordShape:
		return n.text == "" || n.text == "null" || n.text == "None" || n.text == "false" || n.text == "0"
	default:
		return strings.TrimSpace(n.text) == ""
	}
}
