package main

import (
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// address is a TCP address to listen on.
func address(p *string) kind {
	return kind{
		name:    "address",
		allowed: "HOST:PORT, such as 127.0.0.1:8080 (an empty HOST is every interface, port 0 any free one)",
		parse: func(text string) error {
			_, port, err := net.SplitHostPort(text)
			if err != nil {
				return errors.New("not HOST:PORT")
			}
			if _, err := strconv.ParseUint(port, 10, 16); err != nil {
				return errors.New("the port is not a number from 0 to 65535")
			}
			*p = text
			return nil
		},
	}
}

// baseURL is where an HTTP API begins.
func baseURL(p **url.URL) kind {
	k := queryURL(p)
	parse := k.parse
	k.parse = func(text string) error {
		if strings.Contains(text, "?") {
			return errors.New("a query is not supported here")
		}
		return parse(text)
	}
	return k
}

// queryURL is a base URL that may have a query, which each request then has
// (api-version=…).
func queryURL(p **url.URL) kind {
	return kind{
		name:    "URL",
		allowed: "an absolute http or https URL, such as https://api.openai.com/v1",
		parse: func(text string) error {
			u, err := url.Parse(text)
			switch {
			case err != nil || (u.Host == "" && u.Scheme != "http" && u.Scheme != "https"):
				return errors.New("no http:// or https:// in front of a host")
			case u.Scheme != "http" && u.Scheme != "https":
				return errors.New("neither http nor https")
			case u.Hostname() == "":
				return errors.New("no host")
			case u.User != nil:
				return errors.New("a name or password in the URL is not supported")
			case u.Fragment != "":
				return errors.New("a fragment (#…) is never sent")
			case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions"):
				return errors.New("the base URL ends before /chat/completions")
			}
			if port := u.Port(); port != "" {
				if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
					return errors.New("the port is not a number from 1 to 65535")
				}
			}
			*p = u
			return nil
		},
	}
}

// place is a URL or the path of a file.
func place(p *string) kind {
	return kind{
		name:    "place",
		allowed: "an absolute http or https URL, or the path of a file; a relative path begins at the working directory",
		parse: func(text string) error {
			if text == "" {
				return errors.New("empty")
			}
			if isURL(text) {
				if err := queryURL(new(*url.URL)).parse(text); err != nil {
					return err
				}
			}
			*p = text
			return nil
		},
	}
}
