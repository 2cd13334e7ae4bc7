/**
 * Lua scripts for sliding windows and concurrency slots of several subjects in one atomic step, by Redis's own clock. The
 * rule is that of the windows in memory (the current second and the 60 before it count), all or nothing for all subjects.
 *
 * A subject has a hash (`r<second>`, `t<second>`: requests and tokens of a second; `R`, `T`: their sums; `s`: the second
 * for which the sums hold) and a sorted set of its running requests with the times at which their leases expire.
 */

const clock = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) + tonumber(ARGV[1])
local second = math.floor(now / 1000)

local function advance(key)
  local known = redis.call('HMGET', key, 's', 'R', 'T')
  local last, requests, tokens = tonumber(known[1]), tonumber(known[2]) or 0, tonumber(known[3]) or 0
  if not last then return { requests = 0, tokens = 0 } end
  if last > second then second = last end
  if second - last > 60 then
    redis.call('DEL', key)
    return { requests = 0, tokens = 0 }
  end
  for gone = last - 60, second - 61 do
    local left = redis.call('HMGET', key, 'r' .. gone, 't' .. gone)
    if left[1] or left[2] then
      requests = requests - (tonumber(left[1]) or 0)
      tokens = tokens - (tonumber(left[2]) or 0)
      redis.call('HDEL', key, 'r' .. gone, 't' .. gone)
    end
  end
  redis.call('HSET', key, 's', second, 'R', requests, 'T', tokens)
  return { requests = requests, tokens = tokens }
end

local function add(key, at, requests, tokens)
  if second - at > 60 then return end
  if requests ~= 0 then
    redis.call('HINCRBY', key, 'r' .. at, requests)
    redis.call('HINCRBY', key, 'R', requests)
  end
  if tokens ~= 0 then
    redis.call('HINCRBY', key, 't' .. at, tokens)
    redis.call('HINCRBY', key, 'T', tokens)
  end
  redis.call('HSET', key, 's', second)
  redis.call('EXPIRE', key, 130)
end
`

/**
 * KEYS: hash and set of each subject. ARGV: ms added to Redis's clock, the request's id, tokens, the lease in ms, whether
 * to count even if it does not fit, and for each subject its limits of requests, tokens and slots (-1: none).
 * Returns: 1 or 0 for admitted, the time in ms, and for each subject: requests, tokens and slots in use afterwards, the
 * seconds until a request and the tokens fit (-1: never), and until all requests and all tokens are free again.
 */
export const reserveScript: string = `${clock}
local id, amount, lease, force = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == '1'
local count = #KEYS / 2
local used, answer, admitted = {}, {}, 1

local function wait(key, letter, inUse, more, limit)
  if limit < 0 or inUse + more <= limit then return 0 end
  if more > limit then return -1 end
  for seconds = 1, 61 do
    inUse = inUse - (tonumber(redis.call('HGET', key, letter .. (second - 61 + seconds))) or 0)
    if inUse + more <= limit then return seconds end
  end
  return 61
end

local function free(key, letter)
  for seconds = 61, 1, -1 do
    local at = redis.call('HGET', key, letter .. (second - 61 + seconds))
    if at and tonumber(at) > 0 then return seconds end
  end
  return 0
end

for index = 1, count do
  local window, running = KEYS[index * 2 - 1], KEYS[index * 2]
  local rpm, tpm, slots = tonumber(ARGV[index * 3 + 3]), tonumber(ARGV[index * 3 + 4]), tonumber(ARGV[index * 3 + 5])
  local inUse = advance(window)
  redis.call('ZREMRANGEBYSCORE', running, '-inf', now)
  inUse.running = redis.call('ZCARD', running)
  if redis.call('ZSCORE', running, id) then inUse.running = inUse.running - 1 end
  inUse.requestsWait = wait(window, 'r', inUse.requests, 1, rpm)
  inUse.tokensWait = wait(window, 't', inUse.tokens, amount, tpm)
  if (slots >= 0 and inUse.running >= slots) or inUse.requestsWait ~= 0 or inUse.tokensWait ~= 0 then admitted = 0 end
  used[index] = inUse
end
for index = 1, count do
  local window, running, inUse = KEYS[index * 2 - 1], KEYS[index * 2], used[index]
  if admitted == 1 or force then
    add(window, second, 1, amount)
    redis.call('ZADD', running, now + lease, id)
    redis.call('PEXPIRE', running, lease * 2)
    inUse.requests = inUse.requests + 1
    inUse.tokens = inUse.tokens + amount
  end
  local limited = tonumber(ARGV[index * 3 + 3]) >= 0 or tonumber(ARGV[index * 3 + 4]) >= 0
  answer[#answer + 1] = inUse.requests
  answer[#answer + 1] = inUse.tokens
  answer[#answer + 1] = inUse.running
  answer[#answer + 1] = inUse.requestsWait
  answer[#answer + 1] = inUse.tokensWait
  answer[#answer + 1] = limited and free(window, 'r') or 0
  answer[#answer + 1] = limited and free(window, 't') or 0
end
table.insert(answer, 1, now)
table.insert(answer, 1, admitted)
return answer
`

/**
 * Ends a reservation. ARGV: ms added to Redis's clock, the request's id, the second of the reservation, requests and
 * tokens to add to that second (negative: to return), tokens to add to the current second.
 */
export const endScript: string = `${clock}
local at, requests, tokens, surplus = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
for index = 1, #KEYS / 2 do
  local window = KEYS[index * 2 - 1]
  if requests ~= 0 or tokens ~= 0 or surplus ~= 0 then
    advance(window)
    add(window, at, requests, tokens)
    add(window, second, 0, surplus)
  end
  redis.call('ZREM', KEYS[index * 2], ARGV[2])
end
return 1
`

/** Adds tokens to a reservation. KEYS: the hashes. ARGV: ms added to Redis's clock, the second of the reservation, tokens. */
export const raiseScript: string = `${clock}
for index = 1, #KEYS do
  advance(KEYS[index])
  add(KEYS[index], tonumber(ARGV[2]), 0, tonumber(ARGV[3]))
end
return 1
`

/**
 * Renews the slots of running requests, even if they had expired or were lost. KEYS: their sets. ARGV: ms added to
 * Redis's clock, the lease in ms, the ids.
 */
export const renewScript: string = `${clock}
local lease = tonumber(ARGV[2])
for index = 1, #KEYS do
  redis.call('ZADD', KEYS[index], now + lease, ARGV[index + 2])
  redis.call('PEXPIRE', KEYS[index], lease * 2)
end
return 1
`
