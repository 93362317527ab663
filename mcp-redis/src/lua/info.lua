-- Returns what Redis says of its memory, or nothing if its user may not ask.
local info = redis.pcall('INFO', 'memory')
return type(info) == 'string' and info or ''
