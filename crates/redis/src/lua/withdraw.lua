-- ARGV: id. Removes a task whose creator does not know of it. If the creation is still on its way, it is refused.
local f = redis.call('HMGET', task_key(ARGV[1]), 'owner', 'size', 'steps')
if f[1] then
  remove(ARGV[1], f[1], f[2] + f[3])
  publish(ARGV[1])
end
redis.call('SET', withdrawn_key(ARGV[1]), '', 'PX', REPEATED_WITHIN)
return 1
