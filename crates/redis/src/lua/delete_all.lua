-- ARGV: owner. Returns the number of tasks that were deleted.
local deleted = 0
for _, id in ipairs(redis.call('ZRANGE', owner_key(ARGV[1]), 0, -1)) do
  local f = redis.call('HMGET', task_key(id), 'owner', 'size', 'steps')
  if f[1] then
    remove(id, f[1], f[2] + f[3])
    publish(id)
    deleted = deleted + 1
  end
end
redis.call('DEL', owner_key(ARGV[1]))
return deleted
