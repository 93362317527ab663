-- Version 6 counts the results of `once` for each caller and each kind of work, and knows the run that has begun work.
DROP TRIGGER once_added;
DROP TRIGGER once_done;
DROP TRIGGER once_removed;
DROP INDEX once_by_age;
DROP TABLE once;
DELETE FROM usage WHERE scope = 'once';

CREATE TABLE once (
  call BLOB NOT NULL,
  name TEXT NOT NULL,
  claim BLOB NOT NULL,
  -- 'step' or 'call'
  kind TEXT NOT NULL,
  owner TEXT NOT NULL,
  note TEXT NOT NULL,
  result TEXT,
  -- Number of bytes of the name, the note and the result.
  bytes INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (call, name)
) WITHOUT ROWID;
CREATE INDEX once_by_expiry ON once (expires_at);

-- Totals for all work of a kind, with the kind as the `scope`, and for each caller's, with the kind, ' of ' and the
-- caller's key.
CREATE TRIGGER once_added AFTER INSERT ON once BEGIN
  INSERT OR IGNORE INTO usage VALUES (new.kind, 0, 0), (new.kind || ' of ' || new.owner, 0, 0);
  UPDATE usage SET tasks = tasks + 1, bytes = bytes + new.bytes WHERE scope IN (new.kind, new.kind || ' of ' || new.owner);
END;
CREATE TRIGGER once_resized AFTER UPDATE OF bytes ON once WHEN new.bytes <> old.bytes BEGIN
  UPDATE usage SET bytes = bytes + new.bytes - old.bytes WHERE scope IN (new.kind, new.kind || ' of ' || new.owner);
END;
CREATE TRIGGER once_removed AFTER DELETE ON once BEGIN
  UPDATE usage SET tasks = tasks - 1, bytes = bytes - old.bytes WHERE scope IN (old.kind, old.kind || ' of ' || old.owner);
  DELETE FROM usage WHERE scope = old.kind || ' of ' || old.owner AND tasks <= 0;
END;

-- The run that has begun a step. NULL for steps of older versions.
ALTER TABLE steps ADD COLUMN claim BLOB;
