#!/bin/bash
# test: timeout=180
# A pipeline in bash, with loops, here-documents, substitutions and traps.
. "$LIB"
both bash -c '
find /usr/include -name "*.h" -printf "%f\n" | sort | uniq -c | sort -k1,1nr -k2 | head -50
n=0; while read -r a b; do n=$((n + ${#b})); done < <(find /usr/include/linux -maxdepth 1 -type f | sed "s/^/x /"); echo $n
trap "echo on exit" EXIT; x=$(echo sub; (exit 3)); echo "$x $?"
cat <<E | tr a-z A-Z
here document
E
for i in 1 2 3 4 5; do (echo "job $i" > out.$i) & done; wait; cat out.*
exit 7'
same_files
