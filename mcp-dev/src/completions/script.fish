# Completes the arguments of PROGRAM in fish.
function FUNCTION
    set -l current (commandline -ct | string replace -ra '["\']' '')
    set -l words (commandline -opc)
    set -l program (string replace -r '^~' $HOME -- $words[1])
    set -e words[1]
    set -l found
    if set found (mcp-dev __complete fish $program -- $words "$current" 2>/dev/null </dev/null)
        printf '%s\n' $found
    else
        set -l before (string match -r '^.*[=@]' -- "$current"; or echo)
        for path in (__fish_complete_path (string replace -r '^.*[=@]' '' -- "$current"))
            echo $before$path
        end
    end
end
complete -c PROGRAM -e
complete -c PROGRAM -f -k -a '(FUNCTION)'
