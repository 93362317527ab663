-- Follows the common beginning in the scripts for sessions and their streams. `sessions` has each session's last use.
-- Maximum number of idle sessions considered when a session must be removed to make room.
local MAX_CANDIDATES = 64

local sessions, session_expiry = prefix .. 'sessions', prefix .. 'session-expiry'
local function session_key(id) return prefix .. 'session:' .. id end
local function owner_sessions_key(owner) return prefix .. 'sessions-of:' .. owner end
local function streams_key(session) return prefix .. 'streams:' .. session end
local function state_key(session) return prefix .. 'stream-state:' .. session end
local function events_key(session, stream) return prefix .. 'events:' .. session .. ':' .. stream end

-- A session is one string, which takes less memory than a hash: its version, its record and its owner, in lines. Only the
-- owner can contain line breaks. A version is the number of changes and a digest, because after a failover, another record
-- can have the same number.
local function write_session(id, owner, changes, record)
  local version = changes .. ' ' .. redis.sha1hex(record):sub(1, 16)
  redis.call('SET', session_key(id), version .. '\n' .. record .. '\n' .. owner, 'KEEPTTL')
end

local function read_session(id)
  local text = redis.call('GET', session_key(id))
  if not text then return nil end
  local version, record, owner = text:match('^(.-)\n(.-)\n(.*)$')
  return { version = version, record = record, owner = owner, changes = tonumber(version:match('^%d+')) }
end

-- Returns a session unless it has expired.
local function find_session(id)
  local expires = tonumber(redis.call('ZSCORE', session_expiry, id) or 0)
  if expires <= now then return nil end
  local session = read_session(id)
  if session then session.expires = expires end
  return session
end

-- Records that a session is being used now, and keeps it at least until this time.
local function use_session(id, owner, expires, keep_for)
  expires = math.max(expires, tonumber(redis.call('ZSCORE', session_expiry, id) or 0))
  redis.call('ZADD', session_expiry, expires, id)
  redis.call('ZADD', sessions, now, id)
  local keys = { session_key(id), sessions, session_expiry }
  if owner ~= '' then
    redis.call('ZADD', owner_sessions_key(owner), now, id)
    table.insert(keys, owner_sessions_key(owner))
  end
  for _, key in ipairs(keys) do keep(key, keep_for + HOUR) end
end

local function remove_session(id)
  local session = read_session(id)
  if session and session.owner ~= '' then redis.call('ZREM', owner_sessions_key(session.owner), id) end
  redis.call('DEL', session_key(id))
  redis.call('ZREM', sessions, id)
  redis.call('ZREM', session_expiry, id)
end

-- Removes some of the expired sessions.
local function sweep_sessions()
  local expired = redis.call('ZRANGEBYSCORE', session_expiry, '-inf', now, 'LIMIT', 0, MAX_SWEPT)
  for _, id in ipairs(expired) do remove_session(id) end
end

local function drop_stream(session, stream)
  local state = state_key(session)
  redis.call('HINCRBY', state, 'bytes', 0 - tonumber(redis.call('HGET', state, stream .. ' bytes') or 0))
  redis.call('HDEL', state, stream .. ' bytes', stream .. ' next')
  redis.call('ZREM', streams_key(session), stream)
  redis.call('DEL', events_key(session, stream))
end
