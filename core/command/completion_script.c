/* Completion scripts of the shells (completion.h), with PROGRAM for the program's name. They pass the words up to the
 * cursor as typed; none is evaluated. */
#include <stdio.h>
#include <string.h>

#include "core/command/completion.h"

/* bash also splits words at '=' and ':' and replaces only the part after them. */
static const char bash[] =
  "# bash completion of PROGRAM; made by `PROGRAM --completion bash`\n"
  "_PROGRAM() {\n"
  "  local line=${COMP_LINE:0:COMP_POINT} word begun reply value ending\n"
  "  local -a words values=()\n"
  "  read -ra words <<<\"$line\"\n"
  "  [[ $line != *[[:blank:]] ]] || words+=('')\n"
  "  word=${words[${#words[@]}-1]} begun=${words[${#words[@]}-1]}\n"
  "  while [[ $begun == *[=:]* && ${COMP_WORDBREAKS-=} == *=* ]]; do begun=${begun#*[=:]}; done\n"
  "  reply=$(command PROGRAM --complete \"${words[@]:1}\" 2>/dev/null)\n"
  "  COMPREPLY=()\n"
  "  while IFS=$'\\t' read -r value _; do\n"
  "    case $value in\n"
  "      '') ;;\n"
  "      :folders) compopt -o filenames 2>/dev/null; mapfile -t values < <(compgen -d -- \"$begun\") ;;\n"
  "      :files*)\n"
  "        ending=${value#:files}; ending=${ending# }\n"
  "        compopt -o filenames 2>/dev/null\n"
  "        mapfile -t values < <(compgen -d -- \"$begun\"; compgen -f -X \"${ending:+!*.$ending}\" -- \"$begun\") ;;\n"
  "      *) values=(\"${value:${#word}-${#begun}}\") ;;\n"
  "    esac\n"
  "    COMPREPLY+=(\"${values[@]}\")\n"
  "    values=()\n"
  "  done <<<\"$reply\"\n"
  "  case ${COMPREPLY-} in *[=/,]) compopt -o nospace 2>/dev/null ;; esac\n"
  "}\n"
  "complete -F _PROGRAM PROGRAM\n";

static const char zsh[] =
  "#compdef PROGRAM\n"
  "# zsh completion of PROGRAM; made by `PROGRAM --completion zsh`\n"
  "_PROGRAM() {\n"
  "  local line value ending\n"
  "  local -a described begun\n"
  "  for line in \"${(@f)$(command PROGRAM --complete \"${(@Q)words[2,CURRENT]}\" 2>/dev/null)}\"; do\n"
  "    value=${line%%$'\\t'*}\n"
  "    case $value in\n"
  "      '') ;;\n"
  "      :folders) compset -P '*='; _files -/ ;;\n"
  "      :files*) ending=${${value#:files}# }; compset -P '*='; _files ${ending:+-g \"*.$ending\"} ;;\n"
  "      *[=/,]) begun+=(\"${value//:/\\\\:}${${line#$value}/#$'\\t'/:}\") ;;\n"
  "      *) described+=(\"${value//:/\\\\:}${${line#$value}/#$'\\t'/:}\") ;;\n"
  "    esac\n"
  "  done\n"
  "  (( ! $#begun )) || _describe PROGRAM begun -S ''\n"
  "  (( ! $#described )) || _describe PROGRAM described\n"
  "}\n"
  "if [ \"$funcstack[1]\" = _PROGRAM ]; then _PROGRAM \"$PROGRAM\"; else compdef _PROGRAM PROGRAM; fi\n";

static const char fish[] =
  "# fish completion of PROGRAM; made by `PROGRAM --completion fish`\n"
  "function __PROGRAM_complete\n"
  "  set -l words (commandline -opc) (commandline -ct)\n"
  "  set -l word (commandline -ct)\n"
  "  set -l stays (string match -r -- '^--[^=]*=' $word)\n"
  "  set -l rest (string replace -r -- '^--[^=]*=' '' $word)\n"
  "  for line in (command PROGRAM --complete $words[2..] 2>/dev/null)\n"
  "    switch $line\n"
  "      case ':folders'\n"
  "        for path in (__fish_complete_directories \"$rest\" ''); echo \"$stays$path\"; end\n"
  "      case ':files*'\n"
  "        set -l ending (string replace -r '^:files ?' '' -- $line)\n"
  "        for path in (__fish_complete_path \"$rest\" '')\n"
  "          set -l name (string split \\t -- $path)[1]\n"
  "          if test -z \"$ending\"; or string match -q -- '*/' $name; or string match -q -- \"*.$ending\" $name\n"
  "            echo \"$stays$name\"\n"
  "          end\n"
  "        end\n"
  "      case '*'\n"
  "        echo $line\n"
  "    end\n"
  "  end\n"
  "end\n"
  "complete -c PROGRAM -f -a '(__PROGRAM_complete)'\n";

int core_completion_script(const CoreProgram *program, const char *shell) {
  static const struct { const char *name, *script; } scripts[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
  static const char mark[] = "PROGRAM";
  const char *script = NULL;
  for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
    if (strcmp(scripts[i].name, shell) == 0) script = scripts[i].script;
  if (!script) return core_error(CORE_USAGE, "--completion %.40s: expected bash, zsh or fish", shell);
  for (const char *match; (match = strstr(script, mark)); script = match + strlen(mark))
    printf("%.*s%s", (int)(match - script), script, program->name);
  fputs(script, stdout);
  return CORE_OK;
}
