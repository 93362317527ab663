-- ARGV: owner, maximum number, id of the task before the first one or '', and the lowest number if there is no such task.
-- Returns the lowest number, the numbers of the page's tasks, and these tasks; or nothing if the id is invalid.
local key, max, after = owner_key(ARGV[1]), tonumber(ARGV[2]), ARGV[4]
if ARGV[3] ~= '' then
  -- A cursor is the id of the caller's own task that ends the page, so it reveals nothing about other callers.
  local number = redis.call('ZSCORE', key, ARGV[3])
  if not number or not find(ARGV[3]) then return false end
  after = '(' .. number
end
local numbers, tasks = {}, {}
local from = after
while #tasks < max do
  local found = redis.call('ZRANGEBYSCORE', key, from, '+inf', 'WITHSCORES', 'LIMIT', 0, max)
  for index = 1, #found, 2 do
    if #tasks < max and find(found[index]) then
      table.insert(tasks, redis.call('HGETALL', task_key(found[index])))
      table.insert(numbers, found[index + 1])
    end
  end
  if #found < 2 * max then break end
  from = '(' .. found[#found]
end
return { after, numbers, tasks }
