-- ARGV: a name for the log if it is new, position or ''. Returns the position after the last entry, 'texts' or
-- 'missed', and the entries. A position is the name of the log and the number of entries that have been in it.
local name, number = begin_log(ARGV[1])
keep_log()
local position = name .. ' ' .. number
if ARGV[2] == '' then return { position, 'texts' } end
local of_log, seen = ARGV[2]:match('^(%S+) (%d+)$')
local length = redis.call('LLEN', log)
local from = of_log == name and tonumber(seen) - (number - length) or -1
if from < 0 or from > length then return { position, 'missed' } end
return { position, 'texts', unpack(redis.call('LRANGE', log, from, -1)) }
