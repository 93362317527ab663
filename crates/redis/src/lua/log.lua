-- Follows the common beginning in the scripts for the change notification log.
-- Maximum number of entries in the log. An instance that has missed more tells its clients that everything has changed.
local MAX_LOGGED = 1000
local log, log_state = prefix .. 'notifications', prefix .. 'notifications-state'

-- Returns the name of the log, which changes if the log is lost, and the number of entries that have been in it.
local function begin_log(new_name)
  redis.call('HSETNX', log_state, 'name', new_name)
  local f = redis.call('HMGET', log_state, 'name', 'number')
  return f[1], tonumber(f[2] or 0)
end

local function keep_log()
  for _, key in ipairs({ log, log_state }) do
    if redis.call('PTTL', key) < DAY then redis.call('PEXPIRE', key, 2 * DAY) end
  end
end
