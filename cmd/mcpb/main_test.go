package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// build makes the bridge for this system.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "mcpx-bridge.exe")
	cmd := exec.Command("go", "build", "-trimpath", "-o", binary, "../mcpx-bridge")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// unpack does what a client does with a bundle.
func unpack(t *testing.T, file string) (dir string, m map[string]any) {
	t.Helper()
	dir = t.TempDir()
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		if !filepath.IsLocal(f.Name) {
			t.Fatalf("%s leads out of the bundle", f.Name)
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, f.Mode()); err != nil {
			t.Fatal(err)
		}
		if f.Name == "manifest.json" {
			if err := json.Unmarshal(text, &m); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir, m
}

// What the form of a manifest asks for is there, and what is in the bundle runs
// with the variables that it names.
func TestABundle(t *testing.T) {
	out := filepath.Join(t.TempDir(), "x.mcpb")
	if err := bundle(out, build(t), runtime.GOOS, "1.2.3-rc.1"); err != nil {
		t.Fatal(err)
	}
	dir, m := unpack(t, out)
	for _, key := range []string{"manifest_version", "name", "version", "description", "author", "server"} {
		if m[key] == nil || m[key] == "" {
			t.Errorf("the manifest has no %s", key)
		}
	}
	var said manifest
	text, _ := json.Marshal(m)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&said); err != nil || said.Author.Name == "" || said.Server.Type != "binary" {
		t.Fatalf("%v: %s", err, text)
	}
	program := filepath.Join(dir, said.Server.EntryPoint)
	if got := strings.ReplaceAll(said.Server.Config.Command, "${__dirname}", dir); filepath.Clean(got) != program {
		t.Errorf("it starts %s and its entry point is %s", got, program)
	}
	cmd := exec.Command(program, "version")
	cmd.Env = []string{"HOME=" + dir}
	for key, value := range said.Server.Config.Env {
		name := strings.TrimSuffix(strings.TrimPrefix(value, "${user_config."), "}")
		if _, ok := said.UserConfig[name]; !ok || value != "${user_config."+name+"}" {
			t.Errorf("%s is %s, which nobody is asked for", key, value)
		}
		cmd.Env = append(cmd.Env, key+"=x")
	}
	answer, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(answer), "mcpx-bridge ") || strings.Contains(string(answer), "not ours") {
		t.Errorf("%v: %s", err, answer)
	}
}

// The same program makes the same bundle.
func TestBundlesAreAlike(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "p")
	if err := os.WriteFile(program, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	var made [][]byte
	for _, name := range []string{"a", "b"} {
		if err := bundle(filepath.Join(dir, name), program, "windows", "1.0.0"); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, text)
	}
	if !bytes.Equal(made[0], made[1]) {
		t.Error("they differ")
	}
	if _, m := unpack(t, filepath.Join(dir, "a")); m["server"].(map[string]any)["entry_point"] != "server/mcpx-bridge.exe" {
		t.Errorf("on Windows a program ends in .exe: %v", m["server"])
	}
}

func TestWhatNoBundleCanBeMadeOf(t *testing.T) {
	dir := t.TempDir()
	for _, c := range [][3]string{{"nowhere", "linux", "1.0.0"}, {"main.go", "plan9", "1.0.0"}, {"main.go", "linux", "v1"}} {
		if err := bundle(filepath.Join(dir, "x"), c[0], c[1], c[2]); err == nil {
			t.Errorf("%v: one was made", c)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
