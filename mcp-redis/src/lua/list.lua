-- ARGV: owner, maximum number, id of the task before the first one, or ''.
local key, max, after = owner_key(ARGV[1]), tonumber(ARGV[2]), '-inf'
if ARGV[3] ~= '' then
  -- A cursor is the id of the caller's own task that ends the page, so it reveals nothing about other callers.
  local number = redis.call('ZSCORE', key, ARGV[3])
  if not number or not find(ARGV[3]) then return { { 'invalid' } } end
  after = '(' .. number
end
local page = { { 'page' } }
while true do
  local ids = redis.call('ZRANGEBYSCORE', key, after, '+inf', 'LIMIT', 0, max)
  for _, id in ipairs(ids) do
    if find(id) then table.insert(page, redis.call('HGETALL', task_key(id))) end
    if #page > max then return page end
  end
  if #ids < max then return page end
  after = '(' .. redis.call('ZSCORE', key, ids[#ids])
end
