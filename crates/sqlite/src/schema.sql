CREATE TABLE tasks (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  tool TEXT NOT NULL,
  status TEXT NOT NULL,
  message TEXT,
  -- All times are in milliseconds, either since 1970 or as a duration.
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ttl INTEGER NOT NULL,
  poll_interval INTEGER NOT NULL,
  version INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  state TEXT NOT NULL,
  call TEXT NOT NULL,
  -- 'result', 'failure' (a result that says that the tool failed) or 'error'
  outcome_kind TEXT,
  outcome TEXT,
  -- From this time on, a process can claim the task. NULL unless the task is working.
  due INTEGER,
  -- Number of bytes of the task and its steps.
  bytes INTEGER NOT NULL
);
CREATE INDEX tasks_by_owner ON tasks (owner, number);
CREATE INDEX tasks_by_due ON tasks (due) WHERE due IS NOT NULL;
CREATE INDEX tasks_by_expiry ON tasks (expires_at);

-- The results of `once` in tasks. A step without a result was begun, but its outcome is unknown.
CREATE TABLE steps (
  task INTEGER NOT NULL,
  name TEXT NOT NULL,
  result TEXT,
  PRIMARY KEY (task, name)
) WITHOUT ROWID;

-- The results of `once` in other calls.
CREATE TABLE once (
  call BLOB NOT NULL,
  name TEXT NOT NULL,
  begun_at INTEGER NOT NULL,
  result TEXT,
  PRIMARY KEY (call, name)
) WITHOUT ROWID;
CREATE INDEX once_by_age ON once (begun_at);

-- Totals for all tasks, with the `scope` 'all', and for each caller's tasks, with 'of ' and the caller's key.
CREATE TABLE usage (
  scope TEXT PRIMARY KEY,
  tasks INTEGER NOT NULL,
  bytes INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO usage VALUES ('all', 0, 0);
-- The number and total bytes of the rows in `once`.
INSERT INTO usage VALUES ('once', 0, 0);
CREATE TRIGGER once_added AFTER INSERT ON once BEGIN
  UPDATE usage SET tasks = tasks + 1, bytes = bytes + length(new.name) WHERE scope = 'once';
END;
CREATE TRIGGER once_done AFTER UPDATE OF result ON once BEGIN
  UPDATE usage SET bytes = bytes + coalesce(length(new.result), 0) - coalesce(length(old.result), 0) WHERE scope = 'once';
END;
CREATE TRIGGER once_removed AFTER DELETE ON once BEGIN
  UPDATE usage SET tasks = tasks - 1, bytes = bytes - length(old.name) - coalesce(length(old.result), 0) WHERE scope = 'once';
END;
CREATE TRIGGER task_added AFTER INSERT ON tasks BEGIN
  INSERT OR IGNORE INTO usage VALUES ('of ' || new.owner, 0, 0);
  UPDATE usage SET tasks = tasks + 1, bytes = bytes + new.bytes WHERE scope IN ('all', 'of ' || new.owner);
END;
CREATE TRIGGER task_resized AFTER UPDATE OF bytes ON tasks WHEN new.bytes <> old.bytes BEGIN
  UPDATE usage SET bytes = bytes + new.bytes - old.bytes WHERE scope IN ('all', 'of ' || new.owner);
END;
CREATE TRIGGER task_removed AFTER DELETE ON tasks BEGIN
  DELETE FROM steps WHERE task = old.number;
  UPDATE usage SET tasks = tasks - 1, bytes = bytes - old.bytes WHERE scope IN ('all', 'of ' || old.owner);
  DELETE FROM usage WHERE scope = 'of ' || old.owner AND tasks <= 0;
END;
