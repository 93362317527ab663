# Completes the arguments of PROGRAM in bash.
FUNCTION() {
    local reply line file=${2##*[=@]}
    COMPREPLY=()
    if reply=$(mcp-dev __complete bash "${1/#\~/$HOME}" -- "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null </dev/null); then
        while IFS= read -r line; do
            [[ -z $line ]] || COMPREPLY+=("$line")
        done <<<"$reply"
    else
        # Files, perhaps behind `name=` or `@`.
        while IFS= read -r line; do
            if [[ -d $line ]]; then reply=/; else reply=' '; fi
            COMPREPLY+=("${2%"$file"}$(printf %q "$line")$reply")
        done < <(compgen -f -- "$file")
    fi
    # The candidates end with a space where one should follow.
    compopt -o nospace 2>/dev/null
}
complete -F FUNCTION PROGRAM
