-- ARGV: id, current version, new status, new size, limits on bytes, '1' to forget the steps, token; then fields and values.
local task, status, size = find(ARGV[1]), ARGV[3], tonumber(ARGV[4])
if task and is_repeated(task.id, ARGV[8]) then return { 'changed' } end
if not task or task.version ~= ARGV[2] or is_final(task.status) then return { 'unchanged' } end
local forgets = ARGV[7] == '1'
local steps = forgets and 0 or task.steps
local more = size + steps - task.size - task.steps
if not has_room(task.owner, more, ARGV[5], ARGV[6]) then return { 'full' } end
add_bytes(task.owner, more)
if status ~= 'working' then
  unset_due(task.id, task.owner)
elseif not redis.call('ZSCORE', due, task.id) then
  set_due(task.id, task.owner, now)
end
if forgets then redis.call('DEL', steps_key(task.id)) end
redis.call('HDEL', task_key(task.id), 'message', 'kind', 'outcome')
redis.call('HSET', task_key(task.id), 'status', status, 'size', size, 'steps', steps, unpack(ARGV, 9))
mark(task.id, ARGV[8])
publish(task.id)
return { 'changed' }
