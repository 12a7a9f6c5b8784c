/* The image of syscallbuf/, for both sides: it is copied to FIXED_BLOB of every process. */
	.section .rodata
	.globl	tracee_blob, tracee_blob_end
	.balign	16
tracee_blob:
	.incbin	"syscallbuf.blob"
tracee_blob_end:
	.section .note.GNU-stack, "", @progbits
