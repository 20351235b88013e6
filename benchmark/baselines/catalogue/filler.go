package catalogue

import (
	"bytes"
	"io"
)

var filler = bytes.Repeat([]byte("x"), 64*1024)

// Filler reads as that many times x.
type Filler struct {
	Remaining int
}

// Read fills the buffer.
func (source *Filler) Read(buffer []byte) (int, error) {
	if source.Remaining == 0 {
		return 0, io.EOF
	}
	read := copy(buffer, filler[:min(source.Remaining, len(filler))])
	source.Remaining -= read
	return read, nil
}

// WriteTo writes what remains without copying it.
func (source *Filler) WriteTo(target io.Writer) (int64, error) {
	var total int64
	for source.Remaining > 0 {
		written, err := target.Write(filler[:min(source.Remaining, len(filler))])
		source.Remaining -= written
		total += int64(written)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}
