-- Adds the processes that share the file, and the messages that they send each other.
CREATE TABLE instances (
  name TEXT PRIMARY KEY,
  -- Tells the inbox apart from those of earlier times in which the instance was alive.
  inbox INTEGER NOT NULL,
  alive_until INTEGER NOT NULL
) WITHOUT ROWID;
-- Numbers are not used again, so that a position in an inbox remains valid.
CREATE TABLE messages (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  instance TEXT NOT NULL,
  text TEXT NOT NULL
);
CREATE INDEX messages_by_instance ON messages (instance, number);
CREATE TRIGGER instance_deleted AFTER DELETE ON instances BEGIN
  DELETE FROM messages WHERE instance = old.name;
END;
