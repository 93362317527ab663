-- ARGV: call, name, claim, time to keep it, limits on calls and bytes. An entry is '0' and a claim or '1' and a result.
local key, claim, kept = call_key(ARGV[1]), ARGV[3], tonumber(ARGV[4])
for _, id in ipairs(redis.call('ZRANGEBYSCORE', calls, '-inf', now, 'LIMIT', 0, MAX_SWEPT)) do
  local size = 0
  local entries = redis.call('HGETALL', call_key(id))
  for i = 1, #entries, 2 do
    size = size + #entries[i]
    if entries[i + 1]:sub(1, 1) == '1' then size = size + #entries[i + 1] - 1 end
  end
  redis.call('HINCRBY', bytes, 'once', 0 - size)
  redis.call('DEL', call_key(id))
  redis.call('ZREM', calls, id)
end
local known = redis.call('HGET', key, ARGV[2])
if known then
  if known:sub(1, 1) == '1' then return { 'done', known:sub(2) } end
  -- The claim is repeated because the first reply was lost.
  return { known:sub(2) == claim and 'granted' or 'taken' }
end
local is_new = not redis.call('ZSCORE', calls, ARGV[1])
if is_new and redis.call('ZCARD', calls) >= tonumber(ARGV[5]) or used('once') >= tonumber(ARGV[6]) then return { 'full' } end
redis.call('HSET', key, ARGV[2], '0' .. claim)
redis.call('ZADD', calls, now + kept, ARGV[1])
redis.call('HINCRBY', bytes, 'once', #ARGV[2])
for _, kept_key in ipairs({ key, calls, bytes }) do keep(kept_key, kept + DAY) end
return { 'granted' }
