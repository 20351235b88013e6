module bench-encoding-json

go 1.26
