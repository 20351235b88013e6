-- wrk -s upload.lua URL -- FILE: posts the octets of FILE.
local upload

init = function(arguments)
  if not arguments[1] then error("upload.lua: name a file behind --") end
  local file = assert(io.open(arguments[1], "rb"))
  local content = file:read("*a")
  file:close()
  upload = wrk.format("POST", nil, {
    ["Content-Type"] = "application/octet-stream",
  }, content)
end

request = function() return upload end
