/* The page of `hindsight leaks --html`: page.html with places for the other two, for data, and for a flame graph. */
	.section .rodata
	.globl	leaks_page_html, leaks_page_css, leaks_page_js
leaks_page_html:
	.incbin	"cmd/pages/leaks/page.html"
	.byte	0
leaks_page_css:
	.incbin	"cmd/pages/leaks/page.css"
	.byte	0
leaks_page_js:
	.incbin	"cmd/pages/leaks/page.js"
	.byte	0
	.section .note.GNU-stack, "", @progbits
