-- Follows the common beginning in the scripts for work that is done only once, except for the steps of tasks. A call's
-- entries are in one hash by their names. `order` has all entries by the time at which they expire.
local order, usage = prefix .. 'once', prefix .. 'once-usage'
local function once_key(call) return prefix .. 'once:' .. call end
local function member(call, name) return call .. ' ' .. name end

local function count(entry, entries, size)
  for _, scope in ipairs({ entry.kind, entry.kind .. ' of ' .. entry.owner }) do
    redis.call('HINCRBY', usage, 'bytes ' .. scope, size)
    if redis.call('HINCRBY', usage, 'entries ' .. scope, entries) <= 0 then
      redis.call('HDEL', usage, 'bytes ' .. scope, 'entries ' .. scope)
    end
  end
end

local function load(call, name)
  local packed = redis.call('HGET', once_key(call), name)
  if not packed then return nil end
  local claim, kind, owner, note, size, expires, is_done, result = cmsgpack.unpack(packed)
  return { claim = claim, kind = kind, owner = owner, note = note, size = size, expires = expires, is_done = is_done == 1, result = result }
end

local function save(call, name, e, kept)
  e.expires = now + kept
  local packed = cmsgpack.pack(e.claim, e.kind, e.owner, e.note, e.size, e.expires, e.is_done and 1 or 0, e.result)
  redis.call('HSET', once_key(call), name, packed)
  redis.call('ZADD', order, e.expires, member(call, name))
  for _, key in ipairs({ once_key(call), order, usage }) do keep(key, kept + DAY) end
end

local function remove_entry(call, name, entry)
  redis.call('HDEL', once_key(call), name)
  redis.call('ZREM', order, member(call, name))
  count(entry, 0 - 1, 0 - entry.size)
end

-- Returns an entry, which is removed if it has expired.
local function find_entry(call, name)
  local entry = load(call, name)
  if entry and entry.expires <= now then
    remove_entry(call, name, entry)
    return nil
  end
  return entry
end

-- Recounts everything after entries have disappeared without being removed by a script.
local function recount_entries()
  redis.call('DEL', usage)
  for _, id in ipairs(redis.call('ZRANGE', order, 0, -1)) do
    local entry = load(id:match('^(%S+) (.*)$'))
    if entry then count(entry, 1, entry.size) end
  end
  redis.call('PEXPIRE', usage, 2 * DAY)
end

-- Removes some of the expired entries.
local function sweep_entries()
  local lost = false
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', order, '-inf', now, 'LIMIT', 0, MAX_SWEPT)) do
    local call, name = id:match('^(%S+) (.*)$')
    local entry = load(call, name)
    if entry then
      remove_entry(call, name, entry)
    else
      redis.call('ZREM', order, id)
      lost = true
    end
  end
  if lost then recount_entries() end
end

-- Returns true if there is no room for an entry. The limits are on entries and bytes.
local function is_full(scope, size, max_entries, max_bytes)
  local used = redis.call('HMGET', usage, 'entries ' .. scope, 'bytes ' .. scope)
  return tonumber(used[1] or 0) >= tonumber(max_entries) or tonumber(used[2] or 0) + size > tonumber(max_bytes)
end
