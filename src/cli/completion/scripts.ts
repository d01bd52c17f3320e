/** Completion scripts. Each asks `bowline --complete <words>`, which prints a candidate and its description in each line. */
export const SHELLS: Readonly<Record<string, string>> = {
  bash: `_bowline() {
  local candidate quoted
  local word="\${COMP_WORDS[COMP_CWORD]}"
  # Bash divides words at colons and equal signs, which names of servers contain.
  local line="\${COMP_LINE:0:COMP_POINT}" words
  IFS=$' \\t' read -r -a words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  local full="\${words[\${#words[@]}-1]}"
  local cut="\${full%"$word"}"
  COMPREPLY=()
  # Names come from servers. Bash must not expand them, neither now nor when the line runs, so compgen -W is no way.
  while IFS=$'\\t' read -r candidate _; do
    [[ -n "$candidate" && "$candidate" == "$full"* ]] || continue
    printf -v quoted %q "\${candidate#"$cut"}"
    COMPREPLY+=("$quoted")
  done < <(bowline --complete "\${words[@]:1}" 2>/dev/null)
  [[ \${#COMPREPLY[@]} -gt 0 ]] || compopt -o default
}
complete -F _bowline bowline
`,
  zsh: `#compdef bowline
_bowline() {
  local -a candidates
  local line
  for line in "\${(@f)$(bowline --complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n "$line" ]] && candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#candidates} )); then _describe 'bowline' candidates; else _files; fi
}
compdef _bowline bowline
`,
  fish: `function __bowline_complete
    set -l words (commandline -opc) (commandline -ct)
    bowline --complete $words[2..-1] 2>/dev/null
end
complete -c bowline -f -a '(__bowline_complete)'
complete -c bowline -F -n 'test -z "(__bowline_complete)"'
`,
};
