package help

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/spf13/cobra"
)

// completeTime is for how long a shell that completes a name waits for what is here.
const completeTime = time.Second

// A Finder lists what an argument can be, behind those that are there already. It starts
// and makes nothing.
type Finder func(ctx context.Context, args []string) []string

// Found are the names that find finds within a second, that begin as was begun and that
// every shell takes for one word. A find that goes on longer is left to end by itself.
func Found(ctx context.Context, find Finder, args []string, begun string) []string {
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	defer cancel()
	names := make(chan []string, 1)
	go func() { names <- find(ctx, args) }()
	select {
	case all := <-names:
		return slices.DeleteFunc(all, func(name string) bool {
			return !oneWord().MatchString(name) || !strings.HasPrefix(name, begun)
		})
	case <-ctx.Done():
		return nil
	}
}

// oneWord is a name that no shell takes for anything else. The script for bash ends at a
// colon.
var oneWord = text.Pattern(`^[A-Za-z0-9_./@+][A-Za-z0-9_./@+-]*$`)

// BashCompletion writes cobra's script, which counts on the package bash-completion, and the one
// function of that which it calls, for where the package is missing.
func BashCompletion(root *cobra.Command, w io.Writer) error {
	if _, err := io.WriteString(w, bashWords); err != nil {
		return err
	}
	return root.GenBashCompletionV2(w, false)
}

const bashWords = `# The words up to the cursor, in which = and : end none, as the package bash-completion
# finds them: for where it is missing.
if ! declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref()
    {
        local i w
        words=("${COMP_WORDS[0]}") cword=0
        for ((i = 1; i <= COMP_CWORD; i++)); do
            w=${COMP_WORDS[i]}
            if ((cword > 0)) && [[ $w == [=:]* || -n $w && ${words[cword]} == *[=:] ]]; then
                words[cword]+=$w
            else
                words[++cword]=$w
            fi
        done
        cur=${words[cword]} prev=${words[cword > 0 ? cword - 1 : 0]}
    }
fi

`
