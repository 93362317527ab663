-- ARGV: lease, token, number of tasks that are excepted, these tasks, and the tools that are excepted.
-- Returns 'wait' and perhaps a time, or the fields of the task.
local claimed = prefix .. 'claimed:' .. ARGV[2]
local known = redis.call('GET', claimed)
-- The claim is repeated because the first reply was lost.
if known and is_repeated(known, ARGV[2]) then return redis.call('HGETALL', task_key(known)) end
sweep()
-- Maximum number of tasks that one script looks at, and time until the next one goes on.
local MAX_LOOKED, PAUSE = 2000, 50
local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
if not first[1] then return { 'wait' } end
if tonumber(first[2]) > now then return { 'wait', tonumber(first[2]) - now } end
local last_task = 3 + tonumber(ARGV[3])
local tasks, tools = {}, {}
for index = 4, #ARGV do (index <= last_task and tasks or tools)[ARGV[index]] = true end

local looked = 0
-- Returns a task of this caller that can be claimed.
local function next_of(owner)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', due_key(owner), '-inf', now, 'LIMIT', 0, MAX_LOOKED - looked)) do
    looked = looked + 1
    local at, task = redis.call('ZSCORE', due, id), find(id)
    if not at or not task then
      unset_due(id, owner)
    elseif tonumber(at) > now then
      redis.call('ZADD', due_key(owner), at, id)
    elseif not tasks[id] and not tools[redis.call('HGET', task_key(id), 'tool')] then
      return task
    end
  end
end

local owners = redis.call('ZRANGE', turns, 0, MAX_LOOKED)
for _, owner in ipairs(owners) do
  looked = looked + 1
  local task = next_of(owner)
  if task then
    end_turn(owner)
    redis.call('SET', claimed, task.id, 'PX', REPEATED_WITHIN)
    return begin_attempt(task.id, owner, tonumber(ARGV[1]), ARGV[2])
  end
  if looked >= MAX_LOOKED then
    -- The others come first the next time.
    end_turn(owner)
    return { 'wait', PAUSE }
  end
end
-- An earlier build does not list the tasks of each caller.
for _, id in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, MAX_SWEPT)) do
  local task = find(id)
  if not task then
    redis.call('ZREM', due, id)
  elseif not redis.call('ZSCORE', due_key(task.owner), id) then
    set_due(id, task.owner, redis.call('ZSCORE', due, id))
    return { 'wait', 0 }
  end
end
local later = redis.call('ZRANGEBYSCORE', due, '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
if not later[1] then return { 'wait' } end
return { 'wait', tonumber(later[2]) - now }
