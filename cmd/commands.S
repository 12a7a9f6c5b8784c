/* What gdb runs at its start: commands.py and commands_jit.py, as text. */
	.section .rodata
	.globl	gdb_commands
gdb_commands:
	.incbin	"cmd/commands.py"
	.incbin	"cmd/commands_jit.py"
	.byte	0
	.section .note.GNU-stack, "", @progbits
