-- ARGV: lease, token. Returns 'wait' and perhaps a time, or the fields of the task.
local claimed = prefix .. 'claimed:' .. ARGV[2]
local known = redis.call('GET', claimed)
-- The claim is repeated because the first reply was lost.
if known and is_repeated(known, ARGV[2]) then return redis.call('HGETALL', task_key(known)) end
sweep()
for _ = 1, MAX_SWEPT do
  local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
  if not first[1] then return { 'wait' } end
  if not find(first[1]) then
    redis.call('ZREM', due, first[1])
  elseif tonumber(first[2]) > now then
    return { 'wait', tonumber(first[2]) - now }
  else
    redis.call('SET', claimed, first[1], 'PX', REPEATED_WITHIN)
    return begin_attempt(first[1], tonumber(ARGV[1]), ARGV[2])
  end
end
return { 'wait', 0 }
