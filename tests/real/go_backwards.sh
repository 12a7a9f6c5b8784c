#!/bin/bash
# test: timeout=200
# Backwards through a Go program: a variable that all goroutines write to, after a breakpoint that is there no more (whose counts were taken for the watchpoint's).
. "$LIB"
need go gdb
cat > "$TMP/t.go" <<'GO'
package main

import (
	"fmt"
	"sort"
	"strings"
	"sync"
)

type Item struct {
	Name  string
	Score int
}

var total int
var mu sync.Mutex
var table = map[string]*Item{}

func update(name string, d int) {
	mu.Lock()
	defer mu.Unlock()
	it := table[name]
	if it == nil {
		it = &Item{Name: name}
		table[name] = it
	}
	it.Score += d
	total += d
}

func work(id int, wg *sync.WaitGroup) {
	defer wg.Done()
	for i := 0; i < 500; i++ {
		update(strings.Repeat("x", 1+(id*i)%7), i%5)
	}
}

func main() {
	var wg sync.WaitGroup
	for i := 0; i < 8; i++ {
		wg.Add(1)
		go work(i, &wg)
	}
	wg.Wait()
	var names []string
	for n := range table {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Println(n, table[n].Score)
	}
	fmt.Println(total)
}
GO
(cd "$TMP" && HOME=$TMP GO111MODULE=off go build -o t t.go) || skip 'go build failed'
"$REC" -o "$TMP/trace" "$TMP/t" >/dev/null || fail 'rec'
cat > "$TMP/script" <<'GDB'
break main.update
continue
delete
continue
watch main.total
reverse-continue
print main.total
reverse-continue
print main.total
reverse-finish
frame
continue
continue
print main.total
delete
awatch main.total
reverse-continue
print main.total
delete
tbreak main.main
reverse-continue
print main.total
GDB
timeout 100 "$REPLAY" --batch -x "$TMP/script" "$TMP/trace" > "$TMP/out" 2>&1 </dev/null || fail "exit $?: $(tail -3 "$TMP/out" | tr '\n' '|')"
grep '^\$' "$TMP/out" | cut -d ' ' -f 3 | tr '\n' ' ' >"$TMP/got"
read -r last before there again first <"$TMP/got"
[ "$there" = 8000 ] && [ "$first" = 0 ] && [ "$again" = "$last" ] && [ "$last" -lt 8000 ] && [ "$before" -lt "$last" ] && [ "$before" -ge 7990 ] &&
	grep -q '^#0  .* main.work' "$TMP/out" || fail "$(cat "$TMP/got")"
