-- ARGV: maximum number; then '', or the expiry time of the task before the first one, and its id.
local max, from = tonumber(ARGV[1]), 0
if ARGV[2] ~= '' then
  local rank = redis.call('ZRANK', expiry, ARGV[3])
  -- If that task is gone, tasks that expire at the same time can appear on two pages.
  from = rank and rank + 1 or redis.call('ZCOUNT', expiry, '-inf', '(' .. ARGV[2])
end
local page = {}
while true do
  local ids = redis.call('ZRANGE', expiry, from, from + max)
  for _, id in ipairs(ids) do
    if find(id) then table.insert(page, redis.call('HGETALL', task_key(id))) end
    if #page > max then return page end
  end
  if #ids <= max then return page end
  from = from + #ids
end
