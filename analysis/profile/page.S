/* The page of `hindsight profile --html`: page.html with places for the other two, and for data. */
	.section .rodata
	.globl	profile_page_html, profile_page_css, profile_page_js
profile_page_html:
	.incbin	"analysis/profile/page/page.html"
	.byte	0
profile_page_css:
	.incbin	"analysis/profile/page/page.css"
	.byte	0
profile_page_js:
	.incbin	"analysis/profile/page/page.js"
	.byte	0
	.section .note.GNU-stack, "", @progbits
