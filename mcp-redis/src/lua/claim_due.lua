-- ARGV: lease. Returns 'wait' and perhaps a time, or the fields of the task.
sweep()
for _ = 1, MAX_SWEPT do
  local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
  if not first[1] then return { 'wait' } end
  if not find(first[1]) then
    redis.call('ZREM', due, first[1])
  elseif tonumber(first[2]) > now then
    return { 'wait', tonumber(first[2]) - now }
  else
    return begin_attempt(first[1], tonumber(ARGV[1]))
  end
end
return { 'wait', 0 }
