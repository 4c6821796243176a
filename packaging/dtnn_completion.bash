# Completion of dtnn for bash: the names of its programs, then what each of them says of its options.

_dtnn() {
  local bin=/usr/lib/dtnn/bin program=${COMP_WORDS[1]-} at
  # launch ... -- PROGRAM
  for ((at = 2; at < COMP_CWORD; ++at)); do
    [[ $program == launch && ${COMP_WORDS[at]} == -- ]] || continue
    COMP_WORDS=(dtnn "${COMP_WORDS[@]:at+1}")
    COMP_CWORD=$((COMP_CWORD - at))
    program=${COMP_WORDS[1]-}
  done
  if [[ $COMP_CWORD == 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(cd "$bin" && echo *) --help --version" -- "$program")
    return
  fi
  COMPREPLY=()
  if ! declare -F "_dtnn_$program" >/dev/null; then
    [[ $program =~ ^[a-z_]+$ && -x $bin/$program ]] || return
    source <("$bin/$program" --help=bash)
  fi
  COMP_WORDS=("${COMP_WORDS[@]:1}")
  COMP_CWORD=$((COMP_CWORD - 1))
  "_dtnn_$program"
}
complete -F _dtnn dtnn
