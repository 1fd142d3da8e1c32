-- The load on a subject that speaks HTTP, for wrk: the request stands in a file, complete, with @ID@
-- where the call's number goes, so that making one costs a concatenation. The last line of the
-- output is the report.

local head, tail
local id = 100000000

function init(args)
  local file = assert(io.open(args[1]))
  head, tail = file:read("*a"):match("^(.-)@ID@(.*)$")
  file:close()
end

function request()
  id = id + 1
  return head .. id .. tail
end

function done(summary, latency, requests)
  local failures = 0
  for _, count in pairs(summary.errors) do failures = failures + count end
  print(string.format(
    '{"calls":%d,"perSecond":%f,"p50Us":%f,"bytesPerCall":%f,"generatorBusy":%f,"failures":%d}',
    summary.requests, summary.requests / summary.duration * 1e6, latency:percentile(50),
    summary.bytes / math.max(summary.requests, 1), busy(summary.duration), failures))
end

-- User and system time are the 14th and 15th fields of /proc/self/stat, in hundredths of a second.
function busy(duration)
  local file = assert(io.open("/proc/self/stat"))
  local fields = file:read("*a"):match("%) (.*)")
  file:close()
  local ticks, place = 0, 2
  for field in fields:gmatch("%S+") do
    place = place + 1
    if place == 14 or place == 15 then ticks = ticks + tonumber(field) end
  end
  return ticks * 1e4 / duration
end
