-- ARGV: id, attempt, time until it is due, token if the attempt no longer counts, otherwise ''. Returns 1, or 0 for an
-- older attempt.
local task = latest(ARGV[1], ARGV[2])
if not task or not redis.call('ZSCORE', due, task.id) then return 0 end
set_due(task.id, task.owner, now + tonumber(ARGV[3]))
if ARGV[4] ~= '' and not is_repeated(task.id, ARGV[4]) then
  mark(task.id, ARGV[4])
  if tonumber(redis.call('HGET', task_key(task.id), 'tries')) > 0 then redis.call('HINCRBY', task_key(task.id), 'tries', -1) end
  -- Another instance can start the task immediately.
  publish(DUE)
end
return 1
