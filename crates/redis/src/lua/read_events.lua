-- ARGV: session, stream, position of the last known entry. Returns the entries after it, or nothing.
local session, stream = ARGV[1], ARGV[2]
local expires = redis.call('ZSCORE', streams_key(session), stream)
if not expires or tonumber(expires) <= now then return false end
local events = events_key(session, stream)
local length, next = redis.call('LLEN', events), tonumber(redis.call('HGET', state_key(session), stream .. ' next') or 0)
local from = tonumber(ARGV[3]) + 1 - (next - length)
if length == 0 or from < 0 or from > length then return false end
return redis.call('LRANGE', events, from, -1)
