-- Follows the common beginning in the scripts for shared definitions. They do not expire.
local MAX_DEFINITIONS = 1000
local function definitions_key(set) return prefix .. 'definitions:' .. set end
local function definitions_state_key(set) return prefix .. 'definitions-state:' .. set end

-- Returns the version of a set: an id, which changes if the set is lost, and the number of changes.
local function version_of(set, new_id)
  redis.call('HSETNX', definitions_state_key(set), 'id', new_id)
  local f = redis.call('HMGET', definitions_state_key(set), 'id', 'changes')
  return f[1] .. ' ' .. (f[2] or 0)
end

local function changed(set, new_id)
  version_of(set, new_id)
  redis.call('HINCRBY', definitions_state_key(set), 'changes', 1)
  redis.call('PUBLISH', prefix .. 'changes', 'definitions:' .. set)
end
