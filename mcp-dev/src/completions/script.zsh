#compdef PROGRAM
# Completes the arguments of PROGRAM in zsh.
FUNCTION() {
    local reply line value about
    local -a whole open
    reply=$(mcp-dev __complete zsh "${(Q)words[1]/#\~/$HOME}" -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null </dev/null) || {
        compset -P '*[=@]'
        _files
        return
    }
    for line in "${(@f)reply}"; do
        [[ -n $line ]] || continue
        value=${line%%$'\t'*} about=${line#*$'\t'}
        # Values that can go on are not followed by a space.
        if [[ $value == *[=/:] ]]; then
            open+=("${value//:/\\:}:$about")
        else
            whole+=("${value//:/\\:}:$about")
        fi
    done
    (( ! $#open )) || _describe -t values PROGRAM open -S ''
    (( ! $#whole )) || _describe -t values PROGRAM whole
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
if [[ $funcstack[1] == _PROGRAM ]]; then
    FUNCTION "$@"
else
    compdef FUNCTION PROGRAM
fi
