/* What gdb runs at its start: commands.py, commands_jit.py and commands_bt.py, as text. */
	.section .rodata
	.globl	gdb_commands
gdb_commands:
	.incbin	"cmd/commands.py"
	.incbin	"cmd/commands_jit.py"
	.incbin	"cmd/commands_bt.py"
	.byte	0
	.section .note.GNU-stack, "", @progbits
