/* The page of `hindsight heap --html`: page.html with places for the other two, and for data. */
	.section .rodata
	.globl	heap_page_html, heap_page_css, heap_page_js
heap_page_html:
	.incbin	"cmd/pages/heap/page.html"
	.byte	0
heap_page_css:
	.incbin	"cmd/pages/heap/page.css"
	.byte	0
heap_page_js:
	.incbin	"cmd/pages/heap/model.js"
	.incbin	"cmd/pages/heap/columns.js"
	.incbin	"cmd/pages/heap/graph.js"
	.incbin	"cmd/pages/heap/traces.js"
	.incbin	"cmd/pages/heap/main.js"
	.byte	0
	.section .note.GNU-stack, "", @progbits
