/* Debug information of LuaJIT's objects, compiled from types/luajit.c. */
	.section .rodata
	.globl	heap_types_luajit, heap_types_luajit_end, heap_types_raptor, heap_types_raptor_end
heap_types_luajit:
	.incbin	"analysis/heap/luajit.types"
heap_types_luajit_end:
	.byte	0
	.balign	16
heap_types_raptor:
	.incbin	"analysis/heap/raptor.types"
heap_types_raptor_end:
	.byte	0
	.section .note.GNU-stack, "", @progbits
