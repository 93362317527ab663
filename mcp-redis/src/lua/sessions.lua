-- Follows the common beginning in the scripts for sessions and their streams. `sessions` has each session's last use.
-- Maximum number of idle sessions considered when a session must be removed to make room.
local MAX_CANDIDATES = 64

local sessions, session_expiry = prefix .. 'sessions', prefix .. 'session-expiry'
local function session_key(id) return prefix .. 'session:' .. id end
local function owner_sessions_key(owner) return prefix .. 'sessions-of:' .. owner end
local function streams_key(session) return prefix .. 'streams:' .. session end
local function state_key(session) return prefix .. 'stream-state:' .. session end
local function events_key(session, stream) return prefix .. 'events:' .. session .. ':' .. stream end

-- Returns a session unless it has expired.
local function find_session(id)
  local expires = tonumber(redis.call('ZSCORE', session_expiry, id) or 0)
  local f = redis.call('HMGET', session_key(id), 'owner', 'changes')
  if not f[1] or expires <= now then return nil end
  return { owner = f[1], changes = tonumber(f[2]), expires = expires }
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
  local owner = redis.call('HGET', session_key(id), 'owner')
  if owner and owner ~= '' then redis.call('ZREM', owner_sessions_key(owner), id) end
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
