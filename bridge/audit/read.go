package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// maxLine is the longest line that is read; nothing we write is near it.
const maxLine = 64 << 20

// A Line is one line of a log's files.
type Line struct {
	File   string
	Number int    // in File, from 1
	Text   []byte // without the newline; the reader's own, good until the next line
	Torn   bool   // it is the last and has no newline: half of a line
}

// A lineReader cuts a file into lines.
type lineReader struct {
	file  string
	in    *bufio.Reader
	count int
	long  []byte
}

func newLineReader(file string, r io.Reader) *lineReader {
	return &lineReader{file: file, in: bufio.NewReaderSize(r, 32<<10)}
}

// next returns io.EOF behind the last line.
func (r *lineReader) next() (Line, error) {
	r.long = r.long[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		if err == nil && len(r.long) == 0 {
			r.count++
			return Line{r.file, r.count, part[:len(part)-1], false}, nil
		}
		r.long = append(r.long, part...)
		switch {
		case err == nil:
			r.count++
			return Line{r.file, r.count, r.long[:len(r.long)-1], false}, nil
		case errors.Is(err, io.EOF) && len(r.long) == 0:
			return Line{}, io.EOF
		case errors.Is(err, io.EOF):
			r.count++
			return Line{r.file, r.count, r.long, true}, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return Line{}, err
		case len(r.long) > maxLine:
			return Line{}, fmt.Errorf("%s:%d: a line longer than %d bytes", r.file, r.count+1, maxLine)
		}
	}
}

// linesOf yields the lines of files, one file after the other, as they are. It
// ends with the first error.
func linesOf(files ...string) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		for _, file := range files {
			f, err := openFile(file)
			if err != nil {
				yield(Line{}, err)
				return
			}
			if !linesFrom(file, f, yield) {
				return
			}
		}
	}
}

// openFile refuses what is no regular file: a pipe would hold whoever reads the log.
func openFile(name string) (io.ReadCloser, error) { return private.OpenRegular(name) }

// linesFrom closes f.
func linesFrom(file string, f io.ReadCloser, yield func(Line, error) bool) bool {
	defer f.Close()
	r := newLineReader(file, f)
	for {
		line, err := r.next()
		if err == io.EOF {
			return true
		}
		if !yield(line, err) || err != nil {
			return false
		}
	}
}
