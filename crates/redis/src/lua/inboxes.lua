-- Follows the common beginning in the scripts for messages between instances.
local MAX_TEXTS, MAX_BYTES = 1000, 64 * 1024 * 1024
-- The names of the instances, with the time until which each is alive.
local instances = prefix .. 'instances'
local function inbox_key(name) return prefix .. 'inbox:' .. name end -- a list of messages
local function inbox_state_key(name) return prefix .. 'inbox-state:' .. name end -- id, messages so far, bytes held
