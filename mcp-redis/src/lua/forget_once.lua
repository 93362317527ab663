-- ARGV: call, name, result. Removes the entry if it has exactly this result.
local key = call_key(ARGV[1])
if redis.call('HGET', key, ARGV[2]) == '1' .. ARGV[3] then
  redis.call('HDEL', key, ARGV[2])
  redis.call('HINCRBY', bytes, 'once', 0 - #ARGV[2] - #ARGV[3])
  if redis.call('EXISTS', key) == 0 then redis.call('ZREM', calls, ARGV[1]) end
end
return 1
