package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// modelsWorld is a configuration in which every source but the learned limits
// says something, and each something else.
func modelsWorld(t *testing.T) (args []string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sk-operator" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"data":[{"id":"gpt-4o","context_window":65536},{"id":"gpt-4.1","context_window":65536}]}`)
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	config, catalogue := filepath.Join(dir, "pleat.yml"), filepath.Join(dir, "models.json")
	for path, data := range map[string]string{
		config:    "models:\n  gpt-4o: {total: 32000}\n  prod-*: {same_as: gpt-4.1-mini, output: 5000}\n",
		catalogue: `{"gpt-4o":{"max_input_tokens":100000,"max_output_tokens":16384},"gpt-4.1-mini":{"max_input_tokens":90000}}`,
	} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{
		"--config", config, "--catalogue", catalogue, "--catalogue-cache", filepath.Join(dir, "kept"),
		"--upstream", s.URL + "/v1", "--upstream-metadata=on", "--upstream-metadata-key=sk-operator",
	}
}

// runModels runs `pleat models`.
func runModels(t *testing.T, args ...string) string {
	t.Helper()
	var out, complaints strings.Builder
	if err := run(t.Context(), append([]string{"models"}, args...), nil, &out, &complaints); err != nil || complaints.Len() > 0 {
		t.Fatal(err, complaints.String())
	}
	return out.String()
}

func TestModelsGolden(t *testing.T) {
	world := modelsWorld(t)
	var all strings.Builder
	for _, name := range []string{"gpt-4o", "gpt-4.1", "prod-eu", "azure/gpt-5", "llama3.1:8b-instruct-q4_K_M", "nobody's"} {
		all.WriteString("$ pleat models " + name + "\n" + runModels(t, append(world, name)...) + "\n")
	}
	all.WriteString("$ pleat models --json gpt-4o\n" + runModels(t, append(world, "--json", "gpt-4o")...) + "\n")
	all.WriteString("$ pleat models --json\n" + runModels(t, append(world, "--json")...) + "\n")
	catalogue := world[3]
	all.WriteString("$ pleat models\n" + strings.ReplaceAll(runModels(t, world...), catalogue, "models.json"))
	all.WriteString("\n# Without any configuration\n$ pleat models\n" + runModels(t))
	golden(t, "testdata/models.txt", all.String())
}

func TestModelsJSON(t *testing.T) {
	world := append(modelsWorld(t), "--json")
	var got struct {
		limitsJSON

		Model    string       `json:"model"`
		Encoding string       `json:"encoding"`
		Exact    bool         `json:"exact"`
		Sources  []limitsJSON `json:"sources"`
	}
	if err := json.Unmarshal([]byte(runModels(t, append(world, "gpt-4o")...)), &got); err != nil {
		t.Fatal(err)
	}
	if got.Model != "gpt-4o" || *got.Total != 32_000 || *got.Input != 32_000 || *got.Output != 16_384 || *got.Source != "config" ||
		got.Encoding != "o200k_base" || !got.Exact {
		t.Errorf("%+v", got)
	}
	var sources []string
	for _, s := range got.Sources {
		sources = append(sources, *s.Source)
	}
	if want := "config upstream catalogue_file catalogue"; strings.Join(sources, " ") != want {
		t.Errorf("sources %v, want %s", sources, want)
	}

	got.Source, got.Total = nil, nil
	if err := json.Unmarshal([]byte(runModels(t, append(world, "nobody's")...)), &got); err != nil {
		t.Fatal(err)
	}
	if got.Input != nil || got.Total != nil || got.Source != nil || got.Exact || len(got.Sources) != 0 {
		t.Errorf("of an unknown model: %+v", got)
	}

	var summary struct {
		Rules []ruleJSON     `json:"rules"`
		Names map[string]int `json:"names"`
	}
	if err := json.Unmarshal([]byte(runModels(t, world...)), &summary); err != nil {
		t.Fatal(err)
	}
	if len(summary.Rules) != 2 || *summary.Rules[0].Total != 32_000 || *summary.Rules[1].SameAs != "gpt-4.1-mini" ||
		summary.Names["upstream"] != 2 || summary.Names["catalogue_file"] != 2 {
		t.Errorf("%+v", summary)
	}
}

// TestModelsWithoutSources: what cannot be had is said on stderr, and the rest
// is told.
func TestModelsWithoutSources(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	var out, complaints strings.Builder
	dir := t.TempDir()
	err := run(t.Context(), []string{
		"models", "--upstream-metadata=on", "--upstream", s.URL + "/v1",
		"--catalogue", filepath.Join(dir, "absent.json"), "--catalogue-cache", filepath.Join(dir, "kept"), "gpt-4o",
	}, nil, &out, &complaints)
	if err != nil || !strings.Contains(out.String(), "from the built-in catalogue") {
		t.Errorf("%v:\n%s", err, out.String())
	}
	for _, want := range []string{"404 Not Found", "no such file or directory", "the built-in one"} {
		if !strings.Contains(complaints.String(), want) {
			t.Errorf("stderr does not say %q:\n%s", want, complaints.String())
		}
	}
}
