-- Fails unless Redis accepts writes.
redis.call('SET', prefix .. 'probe', '', 'PX', 60000)
return 1
