-- Version 2 adds legacy sessions and the events on their streams.
CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  owner TEXT,
  changes INTEGER NOT NULL,
  -- JSON
  record TEXT NOT NULL,
  used_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
CREATE INDEX sessions_by_use ON sessions (used_at);
CREATE INDEX sessions_by_owner ON sessions (owner, used_at) WHERE owner IS NOT NULL;

-- A stream's entries have positions from `first` up to, but not including, `next`.
CREATE TABLE streams (
  number INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  stream INTEGER NOT NULL,
  first INTEGER NOT NULL,
  next INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  has_ended INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  UNIQUE (session, stream)
);
CREATE INDEX streams_by_expiry ON streams (expires_at);

-- `kind` is 0 for the beginning of a stream, 1 for a message and 2 for the end.
CREATE TABLE events (
  stream INTEGER NOT NULL,
  position INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  message BLOB,
  PRIMARY KEY (stream, position)
) WITHOUT ROWID;
CREATE TRIGGER stream_removed AFTER DELETE ON streams BEGIN
  DELETE FROM events WHERE stream = old.number;
END;

-- Without its session, a stream cannot be read.
CREATE TRIGGER session_removed AFTER DELETE ON sessions BEGIN
  DELETE FROM streams WHERE session = old.id;
END;
