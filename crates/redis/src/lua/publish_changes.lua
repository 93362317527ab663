-- ARGV: a name for the log if it is new, then entries.
begin_log(ARGV[1])
for i = 2, #ARGV do redis.call('RPUSH', log, ARGV[i]) end
redis.call('HINCRBY', log_state, 'number', #ARGV - 1)
redis.call('LTRIM', log, -MAX_LOGGED, -1)
keep_log()
redis.call('PUBLISH', prefix .. 'changes', 'notifications')
return 1
