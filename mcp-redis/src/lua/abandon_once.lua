-- ARGV: call, name.
local key = call_key(ARGV[1])
local known = redis.call('HGET', key, ARGV[2])
if known and known:sub(1, 1) == '0' then
  redis.call('HDEL', key, ARGV[2])
  redis.call('HINCRBY', bytes, 'once', 0 - #ARGV[2])
  if redis.call('EXISTS', key) == 0 then redis.call('ZREM', calls, ARGV[1]) end
end
return 1
