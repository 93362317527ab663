-- Version 3 adds results that are too large to be sent at once.
CREATE TABLE results (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  about TEXT NOT NULL,
  text TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
);
CREATE INDEX results_by_expiry ON results (expires_at);
-- Includes the column that is added up, so that no text has to be read.
CREATE INDEX results_by_owner ON results (owner, expires_at, bytes);
