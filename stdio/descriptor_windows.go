package stdio

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// openDescriptor opens our stdin or stdout. There are no others here.
func openDescriptor(number int) (f *os.File, waits, set bool, err error) {
	if number != 0 && number != 1 {
		return nil, false, false, fmt.Errorf("descriptor %d: on Windows there are only 0 and 1", number)
	}
	handle := []syscall.Handle{syscall.Stdin, syscall.Stdout}[number]
	return os.NewFile(uintptr(handle), "descriptor "+strconv.Itoa(number)), false, false, nil
}

func giveBack(int, bool) {}

func carries(number int) bool { return number == 0 || number == 1 }
