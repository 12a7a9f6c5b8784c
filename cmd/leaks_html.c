/*
 * leaks_html.c - `hindsight leaks --html`: the answer as one page that needs nothing else.
 *
 * The data are the JSON of --json, in a script element; a little script of ours draws them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "analysis/output/output.h"
#include "cmd/cmd.h"
#include "cmd/leaks.h"
#include "cmd/outfile.h"

static const char head[] =
	"<!doctype html><meta charset=utf-8><title>hindsight leaks</title>\n"
	"<style>body{font:14px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em;color:#222;background:#fff}"
	"h1{font-size:1.3em}details{border:1px solid #ccc;border-radius:4px;margin:.5em 0;padding:.4em .8em}"
	"summary{cursor:pointer}b.lost{color:#a00}b.cycle{color:#850}b.held{color:#06a}pre{margin:.2em 0 .6em 1em;overflow:auto}"
	"h3{font-size:1em;margin:.6em 0 0}svg{max-width:100%}text{font:12px monospace}.node{cursor:pointer}"
	"@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}details{border-color:#444}text{fill:#ddd}}</style>\n"
	"<h1>Memory that was lost or held</h1><p id=sum></p><div id=graph></div><div id=list></div>\n"
	"<script type=application/json id=data>\n";

static const char tail[] =
	"\n</script><script>{\n"	/* a block: window.top is taken */
	"const d=JSON.parse(document.getElementById('data').textContent),$=(t,x,p)=>{const e=document.createElement(t);"
	"if(x!==undefined)e.textContent=x;if(p)p.append(e);return e};\n"
	"const fmt=n=>n.toLocaleString('en'),fr=f=>(f.function||'?')+(f.file?' at '+f.file.split('/').pop()+':'+f.line:f.module?"
	"' in '+f.module.split('/').pop():'');\n"
	"const st=(p,title,s)=>{$('h3',title,p);$('pre',s.map(fr).join('\\n')||'(no stack)',p)};\n"
	"const s=d.summary;document.getElementById('sum').textContent=d.trace+', event '+d.at.event+': '+fmt(s.live_blocks)+"
	"' blocks live ('+fmt(s.live_bytes)+' bytes), '+fmt(s.leaked_blocks)+' cannot be reached ('+fmt(s.leaked_bytes)+' bytes).';\n"
	"const list=document.getElementById('list');\n"
	"d.leaks.forEach((l,i)=>{const e=$('details',undefined,list);e.id='l'+i;const h=$('summary',undefined,e);const b=$('b',l.kind,h);"
	"b.className=l.kind;h.append(' '+fmt(l.bytes)+' bytes in '+fmt(l.blocks)+' block(s)'+(l.type?' of '+l.type:'')+"
	"(l.owned_bytes?', owning '+fmt(l.owned_bytes)+' bytes':'')+(l.alloc.stack[0]?' \\u2014 '+fr(l.alloc.stack.find(f=>f.file)||l.alloc.stack[0]):''));\n"
	"st(e,'allocated (event '+l.alloc.event+')',l.alloc.stack);\n"
	"if(l.lost_at){st(e,'lost: '+l.lost_at.how+' (event '+l.lost_at.event+')',l.lost_at.stack);$('pre','replay -e '+l.lost_at.event+' '+d.trace,e)}\n"
	"const hs=(t,a)=>{if(!a||!a.length)return;$('h3',t,e);a.forEach(x=>{$('pre',x.name+' ('+x.where+' '+x.address+') \\u2192 '+x.value+"
	"(x.stored_by?'\\n  stored by '+x.stored_by.stack.map(fr).join('\\n            '):''),e)})};\n"
	"hs('held by',l.holders);hs('closed by',l.cycle)});\n"
	"const max=Math.max(1,...d.leaks.map(l=>l.bytes+l.owned_bytes)),N='http://www.w3.org/2000/svg',g=(t,a,p)=>{const e=document.createElementNS(N,t);"
	"for(const k in a)e.setAttribute(k,a[k]);if(p)p.append(e);return e};\n"
	"const top=d.leaks.slice(0,30),svg=g('svg',{width:1000,height:top.length*26+10,viewBox:'0 0 1000 '+(top.length*26+10)},document.getElementById('graph'));\n"
	"top.forEach((l,i)=>{const y=i*26+6,w=Math.max(3,330*l.bytes/max),o=330*l.owned_bytes/max,c={lost:'#c33',cycle:'#b80',held:'#28b'}[l.kind];"
	"const n=g('g',{'class':'node'},svg);const f=l.alloc.stack.find(f=>f.file)||l.alloc.stack[0];\n"
	"g('rect',{x:0,y:y,width:w,height:18,fill:c},n);g('rect',{x:w,y:y,width:o,height:18,fill:c,opacity:.4},n);"
	"g('text',{x:w+o+8,y:y+13,fill:'currentColor'},n).textContent=l.kind+' '+fmt(l.bytes+l.owned_bytes)+' bytes: '+(f?fr(f):'')+"
	"(l.lost_at&&l.lost_at.stack[0]?' \\u2192 '+l.lost_at.how+' '+fr(l.lost_at.stack[0]):'')+(l.holders[0]?' \\u2190 '+l.holders[0].name:'');\n"
	"n.onclick=()=>{const e=document.getElementById('l'+i);e.open=true;e.scrollIntoView()}})}\n"
	"</script>\n";

/* A page in the page: as the value of an attribute. */
static struct err *flame(const struct leaks *r, const char *dir, FILE *f)
{
	struct profile *p = leaks_profile(r);
	char *page = NULL;
	size_t n = 0;
	FILE *mem = open_memstream(&page, &n);
	struct err *err = mem ? profile_write_html(p, 1, dir, mem) : &err_nomem;

	profile_destroy(p);
	if (mem)
		fclose(mem);
	if (!err) {
		fputs("<h1>Where it was allocated</h1><iframe style='width:100%;height:40em;border:0' srcdoc=\"",
		      f);
		for (const char *s = page; s && *s; s++) {
			if (*s == '"')
				fputs("&quot;", f);
			else if (*s == '&')
				fputs("&amp;", f);
			else
				fputc(*s, f);
		}
		fputs("\"></iframe>\n", f);
	}
	free(page);
	return err;
}

struct err *leaks_html(const struct leaks *r, const char *dir, const char *path)
{
	json_t *o = leaks_json(r, dir);
	char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	struct outfile out;
	struct err *err = text ? outfile_open(&out, path, 0) : &err_nomem;

	if (!err) {
		FILE *f = out.f;

		fputs(head, f);
		/* "</script>" in a name must not end the element */
		for (const char *p = text; *p; p++) {
			if (*p == '<')
				fputs("\\u003c", f);
			else
				fputc(*p, f);
		}
		fputs(tail, f);
		err = outfile_close(&out, r->n ? flame(r, dir, f) : NULL);
	}
	free(text);
	json_decref(o);
	return err;
}
