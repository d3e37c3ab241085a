package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"sync"
	"time"
)

// A record is a file with a line for each message, which holds the hash of the line
// before. Nothing is synced.
type record struct {
	mu   sync.Mutex
	file *os.File
	prev string
}

// An entry is one line: of a request all that was asked for, of an answer only whose
// it is.
type entry struct {
	TS     string          `json:"ts"`
	Event  string          `json:"event"`
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Prev   string          `json:"prev"`
}

func openRecord(name string) (*record, error) {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return &record{file: file}, err
}

// note puts a message on record.
func (r *record) note(event string, message []byte) error {
	if r == nil {
		return nil
	}
	var e entry
	if err := json.Unmarshal(message, &e); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e.TS, e.Event, e.Prev = time.Now().UTC().Format(time.RFC3339Nano), event, r.prev
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(line)
	r.prev = hex.EncodeToString(sum[:])
	_, err = r.file.Write(append(line, '\n'))
	return err
}
