#compdef dtnn
# Completion of dtnn for zsh: its programs and what each does, then what each says of its options.

local bin=/usr/lib/dtnn/bin list=/usr/lib/dtnn/programs program=${words[2]-}
local curcontext=$curcontext
local -i dashes=${words[(i)--]}
if [[ $program == launch ]] && ((dashes < CURRENT)); then  # launch ... -- PROGRAM
  words=(dtnn "${(@)words[dashes+1,-1]}")
  ((CURRENT -= dashes - 1))
  program=${words[2]-}
fi
if ((CURRENT == 2)); then
  local -a programs=(${(f)"$(<$list)"})
  programs=("${(@)programs/$'\t'/:}" '--help:list the programs' '--version:name the version')
  _describe program programs
  return
fi
[[ $program =~ '^[a-z_]+$' && -x $bin/$program ]] || return 1
(($+functions[_dtnn_$program])) || eval "$("$bin/$program" --help=zsh)"
shift words
((CURRENT--))
curcontext=${curcontext%:*}-$program:
_dtnn_$program
