/* The page of `--flame`: flame.html with places for the other two, and for data. */
	.section .rodata
	.globl	flame_page_html, flame_page_css, flame_page_js
flame_page_html:
	.incbin	"analysis/output/page/flame.html"
	.byte	0
flame_page_css:
	.incbin	"analysis/output/page/flame.css"
	.byte	0
flame_page_js:
	.incbin	"analysis/output/page/flame.js"
	.byte	0
	.section .note.GNU-stack, "", @progbits
