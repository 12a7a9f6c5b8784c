/* What gdb runs at its start: commands.py, as text. */
	.section .rodata
	.globl	gdb_commands
gdb_commands:
	.incbin	"cmd/commands.py"
	.byte	0
	.section .note.GNU-stack, "", @progbits
