/* Debug information of languages' objects, compiled from types/. */
	.section .rodata
	.globl	heap_types_luajit, heap_types_luajit_end
	.balign	16
heap_types_luajit:
	.incbin	"analysis/heap/luajit.types"
heap_types_luajit_end:
	.byte	0
	.globl	heap_types_raptor, heap_types_raptor_end
	.balign	16
heap_types_raptor:
	.incbin	"analysis/heap/raptor.types"
heap_types_raptor_end:
	.byte	0
	.globl	heap_types_lua54, heap_types_lua54_end
	.balign	16
heap_types_lua54:
	.incbin	"analysis/heap/lua54.types"
heap_types_lua54_end:
	.byte	0
	.globl	heap_types_python311, heap_types_python311_end
	.balign	16
heap_types_python311:
	.incbin	"analysis/heap/python311.types"
heap_types_python311_end:
	.byte	0
	.section .note.GNU-stack, "", @progbits
