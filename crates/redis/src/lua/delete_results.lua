-- ARGV: owner. Returns the number of deleted results.
local deleted = 0
sweep_results()
for _, entry in ipairs(redis.call('ZRANGEBYSCORE', results, '(' .. now, '+inf')) do
  if entry:match('^%S+ %d+ (.*)$') == ARGV[1] then
    remove_result(entry)
    deleted = deleted + 1
  end
end
return deleted
