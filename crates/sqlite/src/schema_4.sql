-- Version 4 adds the keys that seal the state of calls between their rounds.
CREATE TABLE sealing_keys (
  key TEXT NOT NULL,
  made_at INTEGER NOT NULL
);
