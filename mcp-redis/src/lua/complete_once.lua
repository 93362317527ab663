-- ARGV: call, name, result, time to keep it.
local key = call_key(ARGV[1])
local known = redis.call('HGET', key, ARGV[2])
if known and known:sub(1, 1) == '1' then return 1 end
redis.call('HSET', key, ARGV[2], '1' .. ARGV[3])
redis.call('ZADD', calls, now + tonumber(ARGV[4]), ARGV[1])
redis.call('HINCRBY', bytes, 'once', #ARGV[3] + (known and 0 or #ARGV[2]))
for _, kept_key in ipairs({ key, calls, bytes }) do keep(kept_key, tonumber(ARGV[4]) + DAY) end
return 1
