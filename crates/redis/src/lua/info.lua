-- Returns Redis's report on its memory, or nothing if the user is not allowed to ask.
local info = redis.pcall('INFO', 'memory')
return type(info) == 'string' and info or ''
