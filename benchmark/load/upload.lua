-- wrk -s upload.lua URL -- FILE: posts the octets of FILE.
local upload

init = function(arguments)
  if not arguments[1] then error("upload.lua: name a file behind --") end
  local file = assert(io.open(arguments[1], "rb"))
  wrk.method = "POST"
  wrk.body = file:read("*a")
  wrk.headers["Content-Type"] = "application/octet-stream"
  file:close()
  upload = wrk.format()
end

request = function() return upload end
