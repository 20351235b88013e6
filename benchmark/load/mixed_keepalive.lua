-- wrk -s mixed_keepalive.lua URL: every fifth request says Connection: close.
local EVERY = 5
local count = 0
local keeping, closing

init = function(arguments)
  keeping = wrk.format()
  wrk.headers["Connection"] = "close"
  closing = wrk.format()
end

request = function()
  count = count + 1
  return count % EVERY == 0 and closing or keeping
end
