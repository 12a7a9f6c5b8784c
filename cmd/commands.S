/* What gdb runs at its start, as text. */
	.section .rodata
	.globl	gdb_commands
gdb_commands:
	.incbin	"cmd/commands.py"
	.incbin	"cmd/commands_lines.py"
	.incbin	"cmd/commands_jit.py"
	.incbin	"cmd/commands_bt.py"
	.incbin	"cmd/commands_map.py"
	.incbin	"cmd/commands_conditions.py"
	.byte	0
	.section .note.GNU-stack, "", @progbits
