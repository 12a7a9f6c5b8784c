/* The page of `hindsight memprof --html`; cmd/memprof_html.c puts the data where it says DATA. */
	.section .rodata
	.globl memprof_page
memprof_page:
	.incbin "cmd/pages/memprof.html"
	.byte 0
	.section .note.GNU-stack, "", @progbits
