-- ARGV: name, lease, an id for the inbox if it is new, position or ''. Returns the position after the last entry,
-- 'texts' or 'missed', and the entries. A position is the inbox's id and the number of entries that have been in it.
local name, lease = ARGV[1], tonumber(ARGV[2])
local inbox, state = inbox_key(name), inbox_state_key(name)
redis.call('ZREMRANGEBYSCORE', instances, '-inf', now)
redis.call('ZADD', instances, now + lease, name)
keep(instances, lease)
redis.call('HSETNX', state, 'id', ARGV[3])
local f = redis.call('HMGET', state, 'id', 'number', 'bytes')
local id, number, used = f[1], tonumber(f[2] or 0), tonumber(f[3] or 0)
local length = redis.call('LLEN', inbox)
local received = 0
local is_missed = false
if ARGV[4] == '' then
  received = length
else
  local of_inbox, seen = ARGV[4]:match('^(%S+) (%d+)$')
  received = of_inbox == id and tonumber(seen) - (number - length) or -1
  is_missed = received < 0 or received > length
end
if not is_missed then
  for _ = 1, received do used = used - #redis.call('LPOP', inbox) end
  redis.call('HSET', state, 'bytes', used)
end
redis.call('PEXPIRE', inbox, lease)
redis.call('PEXPIRE', state, lease)
local position = id .. ' ' .. number
if is_missed then return { position, 'missed' } end
return { position, 'texts', unpack(redis.call('LRANGE', inbox, 0, -1)) }
