#!/bin/bash
# test: timeout=30
# reverse-next over a call into the middle of a function (Go's runtime.duffzero+0xfd): gdb waits at the function's beginning, which may
# never have been executed.
. "$LIB"
need gdb gcc
cat >f.c <<'EOF2'
__asm__(".text\n.globl duff\n.type duff,@function\nduff:\n.rept 8\nmovq $0,(%rdi)\nadd $8,%rdi\n.endr\nret\n.size duff,.-duff\n");
long a[8];
void zero(void)
{
	a[3] = 5;
	__asm__ volatile("sub $128,%%rsp\n lea a+32(%%rip),%%rdi\n call duff+44\n add $128,%%rsp" ::: "rdi", "memory");	/* CALL */
	a[4] = 6;
	a[5] = 7;	/* BEHIND */
}
int main(void)
{
	for (int i = 0; i < 3; i++)
		zero();
	return 0;
}
EOF2
gcc -g -O0 -o f f.c || skip 'no compiler'
"$REC" -o "$TMP/t" ./f || fail 'rec'
at() { sed -n "/$1/=" f.c; }
cat >s.gdb <<EOF2
break f.c:$(at BEHIND)
continue
continue
delete
reverse-next
reverse-next
echo before \n
reverse-next
print a[3] + a[5]
next
next
next
reverse-stepi
reverse-stepi
reverse-stepi
info symbol \$pc
break *(duff + 55)
tbreak f.c:$(at BEHIND)
continue
reverse-next
reverse-next
EOF2
timeout 25 "$REPLAY" --batch -x s.gdb "$TMP/t" >"$TMP/out" 2>&1
grep -E '^([0-9]+	|before|\$|duff|Breakpoint 2,|No more)' "$TMP/out" | sed 's/	.*//; s/ in section.*//; s/, .*//' >"$TMP/got"
diff - "$TMP/got" <<EOF2 || { tail -n 30 "$TMP/out"; fail 'a call into the middle'; }
$(at BEHIND)
$(at BEHIND)
7
$(at CALL)
before 
5
\$1 = 12
$(at CALL)
7
$(at BEHIND)
7
duff + 88
$(at BEHIND)
7
Breakpoint 2
EOF2
