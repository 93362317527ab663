-- ARGV: session, stream, position, entry, time to keep the stream, the limits on entries and bytes.
-- Returns 1, or 0 if the entry does not follow the previous one.
local session, stream, position, keep_for = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[5])
local max_entries, max_bytes = tonumber(ARGV[6]), tonumber(ARGV[7])
local expiries, state, events = streams_key(session), state_key(session), events_key(session, stream)
for _, expired in ipairs(redis.call('ZRANGEBYSCORE', expiries, '-inf', now)) do drop_stream(session, expired) end
local next = tonumber(redis.call('HGET', state, stream .. ' next') or position)
-- The instance did not learn that its first attempt had succeeded.
if next == position + 1 then return 1 end
if next ~= position then return 0 end
local added = #ARGV[4] - 1
redis.call('RPUSH', events, ARGV[4])
-- The last entry is kept regardless of its size.
while redis.call('LLEN', events) > 1 do
  local used = tonumber(redis.call('HGET', state, stream .. ' bytes') or 0)
  if redis.call('LLEN', events) <= max_entries and used + added <= max_bytes then break end
  added = added - (#redis.call('LPOP', events) - 1)
end
redis.call('HSET', state, stream .. ' next', position + 1)
redis.call('HINCRBY', state, stream .. ' bytes', added)
redis.call('HINCRBY', state, 'bytes', added)
redis.call('ZADD', expiries, now + keep_for, stream)
redis.call('PEXPIRE', events, keep_for)
keep(expiries, keep_for)
keep(state, keep_for)
-- While the session has too many streams or bytes, drops ended streams, starting with the first one to expire.
local function is_full()
  return redis.call('ZCARD', expiries) > max_entries or tonumber(redis.call('HGET', state, 'bytes')) > max_bytes
end
if is_full() then
  for _, other in ipairs(redis.call('ZRANGE', expiries, 0, -1)) do
    if not is_full() then break end
    if redis.call('LINDEX', events_key(session, other), -1) == '2' then drop_stream(session, other) end
  end
end
return 1
