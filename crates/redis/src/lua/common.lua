-- Begins every script. Numbers are negated with `0 - x`, because Lua writes `-0`, which Redis cannot read.
local prefix = KEYS[1] -- Begins each of the keys; its hash tag puts all of them in one cluster slot.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- Time for which keys outlive their contents, so that the remains of a server that never returns also disappear.
local HOUR = 3600000
local DAY = 24 * HOUR
-- Sent on the channel in place of a task's id when an instance has given a task back.
local DUE = 'due'
-- Time within which an operation whose reply was lost is repeated, or taken back.
local REPEATED_WITHIN = 60000
-- Maximum number of entries that one script removes, so that it does not keep others waiting.
local MAX_SWEPT = 100

local due, expiry = prefix .. 'due', prefix .. 'expiry'
-- The callers with tasks in `due`, in the order of their turns.
local turns = prefix .. 'turns'
local bytes = prefix .. 'bytes'
local function task_key(id) return prefix .. 'task:' .. id end
local function steps_key(id) return prefix .. 'steps:' .. id end
local function owner_key(owner) return prefix .. 'owner:' .. owner end
local function withdrawn_key(id) return prefix .. 'withdrawn:' .. id end
local function due_key(owner) return prefix .. 'due:' .. owner end
local function rate_key(bucket) return prefix .. 'rate:' .. bucket end

-- Keeps a key for at least this time.
local function keep(key, time)
  if redis.call('PTTL', key) < time then redis.call('PEXPIRE', key, time) end
end

-- All partitions use the channel of the first one, whose prefix contains no number.
local function publish(id) redis.call('PUBLISH', (prefix:gsub('/%d+}:$', '}:')) .. 'changes', id) end

local function is_final(status) return status == 'completed' or status == 'failed' or status == 'cancelled' end

-- Returns a task unless its time to live has ended.
local function find(id)
  local f = redis.call('HMGET', task_key(id), 'expires', 'owner', 'status', 'version', 'attempt', 'size', 'steps')
  if not f[1] or tonumber(f[1]) <= now then return nil end
  return { id = id, owner = f[2], status = f[3], version = f[4], attempt = f[5], size = tonumber(f[6]), steps = tonumber(f[7]) }
end

-- Returns an attempt's task if the attempt may still write to it.
local function latest(id, attempt)
  local task = find(id)
  if task and task.attempt == attempt and task.status == 'working' then return task end
end

local function add_bytes(owner, more)
  redis.call('HINCRBY', bytes, 'all', more)
  if redis.call('HINCRBY', bytes, 'of ' .. owner, more) <= 0 then redis.call('HDEL', bytes, 'of ' .. owner) end
end

local function used(scope) return tonumber(redis.call('HGET', bytes, scope) or 0) end

-- Returns true if there is room for these bytes. The limits are for all tasks and for one caller.
local function has_room(owner, more, max, max_of_caller)
  return more <= 0 or used('all') + more <= tonumber(max) and used('of ' .. owner) + more <= tonumber(max_of_caller)
end

-- Makes a caller the last one in the order of turns.
local function end_turn(owner)
  local last = redis.call('ZRANGE', turns, -1, -1, 'WITHSCORES')
  redis.call('ZADD', turns, (last[2] or 0) + 1, owner)
end

-- Sets the time from which a working task can be claimed. The tasks of each caller are also listed apart, for the turns.
local function set_due(id, owner, at)
  redis.call('ZADD', due, at, id)
  redis.call('ZADD', due_key(owner), at, id)
  if not redis.call('ZSCORE', turns, owner) then end_turn(owner) end
  local left = redis.call('PTTL', expiry)
  for _, key in ipairs({ due, due_key(owner), turns }) do keep(key, left) end
end

-- Removes a task that is no longer working.
local function unset_due(id, owner)
  redis.call('ZREM', due, id)
  redis.call('ZREM', due_key(owner), id)
  if redis.call('EXISTS', due_key(owner)) == 0 then redis.call('ZREM', turns, owner) end
end

local function remove(id, owner, size)
  redis.call('DEL', task_key(id), steps_key(id))
  unset_due(id, owner)
  redis.call('ZREM', expiry, id)
  redis.call('ZREM', owner_key(owner), id)
  add_bytes(owner, 0 - size)
end

-- Recounts all bytes after tasks have disappeared without being removed by a script.
local function recount()
  redis.call('DEL', bytes)
  for _, id in ipairs(redis.call('ZRANGE', expiry, 0, -1)) do
    local f = redis.call('HMGET', task_key(id), 'owner', 'size', 'steps')
    if f[1] then add_bytes(f[1], f[2] + f[3]) end
  end
  redis.call('PEXPIRE', bytes, DAY)
end

-- Removes some of the expired tasks.
local function sweep()
  local lost = false
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', expiry, '-inf', now, 'LIMIT', 0, MAX_SWEPT)) do
    local f = redis.call('HMGET', task_key(id), 'owner', 'size', 'steps')
    if f[1] then
      remove(id, f[1], f[2] + f[3])
    else
      redis.call('ZREM', expiry, id)
      redis.call('ZREM', due, id)
      lost = true
    end
  end
  if lost then recount() end
end

-- Operations on tasks have a token each, so that an operation that is repeated because its reply was lost finds that it
-- has already been carried out.
local function is_repeated(id, token) return redis.call('HGET', task_key(id), 'by') == token end
local function mark(id, token) redis.call('HSET', task_key(id), 'by', token) end

-- Begins the next attempt of a task. Returns its fields.
local function begin_attempt(id, owner, lease, token)
  mark(id, token)
  redis.call('HINCRBY', task_key(id), 'attempt', 1)
  redis.call('HINCRBY', task_key(id), 'tries', 1)
  redis.call('HINCRBY', task_key(id), 'version', 1)
  set_due(id, owner, now + lease)
  publish(id)
  return redis.call('HGETALL', task_key(id))
end
