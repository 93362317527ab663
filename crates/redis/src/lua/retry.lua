-- ARGV: id, the task's current version, the step that was not done or '', the new size, token; then fields and values.
local task = find(ARGV[1])
if task and is_repeated(task.id, ARGV[5]) then return { 'changed' } end
if not task or task.version ~= ARGV[2] or not is_final(task.status) then return { 'unchanged' } end
local steps = task.steps
local known = ARGV[3] ~= '' and redis.call('HGET', steps_key(task.id), ARGV[3])
if known and known:sub(1, 1) == '0' then
  redis.call('HDEL', steps_key(task.id), ARGV[3])
  steps = steps - #ARGV[3]
end
add_bytes(task.owner, tonumber(ARGV[4]) + steps - task.size - task.steps)
set_due(task.id, task.owner, now)
redis.call('HDEL', task_key(task.id), 'message', 'kind', 'outcome')
redis.call('HSET', task_key(task.id), 'size', ARGV[4], 'steps', steps, unpack(ARGV, 6))
mark(task.id, ARGV[5])
publish(task.id)
return { 'changed' }
