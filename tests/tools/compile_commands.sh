#!/bin/sh
# Writes compile_commands.json to stdout from the commands that `make -nB` prints on stdin.
directory=$(pwd)
sed -n -E 's/^[^;]*echo "  (cc|test) +[^"]*"; //p' | grep -E ' -o [^ ]+ ' | awk -v directory="$directory" '
  function quoted(text) { gsub(/\\/, "\\\\", text); gsub(/"/, "\\\"", text); return "\"" text "\"" }
  {
    file = ""
    for (i = 1; i <= NF; i++) if (file == "" && $i ~ /\.c$/ && $(i - 1) != "-include") file = $i
    if (file == "") next
    printf "%s{\"directory\": %s,\n \"command\": %s,\n \"file\": %s}", (n++ ? ",\n" : "[\n"), quoted(directory), quoted($0), quoted(file)
  }
  END { print (n ? "\n]" : "[]") }'
