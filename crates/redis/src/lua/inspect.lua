-- ARGV: id. Returns the task's fields, the time until it is due (or nothing), and step names, each with '1' if done.
if not find(ARGV[1]) then return {} end
local from, steps = redis.call('ZSCORE', due, ARGV[1]), {}
for index, text in ipairs(redis.call('HGETALL', steps_key(ARGV[1]))) do
  table.insert(steps, index % 2 == 1 and text or text:sub(1, 1))
end
return { redis.call('HGETALL', task_key(ARGV[1])), from and { tostring(math.max(tonumber(from) - now, 0)) } or {}, steps }
