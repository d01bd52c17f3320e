package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A ledger notes events of calls as files in a folder. Another call, also of another process, waits for them.
type ledger struct{ folder string }

func (l ledger) path(key, event string) string {
	return filepath.Join(l.folder, key+" "+event)
}

func (l ledger) note(key, event string) error {
	return os.WriteFile(l.path(key, event), nil, 0o600)
}

func (l ledger) wait(ctx context.Context, key, event string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		if _, err := os.Stat(l.path(key, event)); err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("not %s within 5 s", event)
		}
	}
}
