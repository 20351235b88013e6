-- wrk -s paths.lua URL -- PATH...: the paths in turn.
local requests = {}
local next_request = 0

init = function(arguments)
  for _, path in ipairs(arguments) do
    requests[#requests + 1] = wrk.format("GET", path)
  end
end

request = function()
  next_request = next_request % #requests + 1
  return requests[next_request]
end
