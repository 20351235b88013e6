-- wrk -s pipelined.lua URL: sends requests 16 at a time.
local DEPTH = 16
local batch

init = function(arguments)
  local requests = {}
  for i = 1, DEPTH do requests[i] = wrk.format() end
  batch = table.concat(requests)
end

request = function() return batch end
