/*
 * flame.c - flame graphs: an SVG that stands alone, and a page in which one can go into a part,
 * search, and change the column.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "analysis/output/internal.h"
#include "base/bug.h"

enum { WIDTH = 1200, ROW = 17, TOP = 40, CHAR = 7 };

struct flame {
	const struct profile *p;
	struct tree t;
	unsigned type;
	double scale;		/* pixels for one */
	double *x;		/* of each node */
	FILE *out;
};

/*
 * Children beside each other, where their parent begins.  A node is younger than its parent, so
 * this order will do.
 */
static void place(struct flame *f)
{
	double *next = alloc_zeroed(f->t.n + 1, sizeof(*next), "a profile");

	f->x = alloc_zeroed(f->t.n + 1, sizeof(*f->x), "a profile");
	for (uint32_t i = 1; i < f->t.n; i++) {
		uint32_t up = f->t.node[i].parent;
		int64_t v = *tree_total(&f->t, i, f->type);

		f->x[i] = f->x[up] + next[up];
		next[up] += v > 0 ? (double)v * f->scale : 0;
	}
	free(next);
}

static void box(const struct flame *f, uint32_t i, double height)
{
	const struct tree_node *n = &f->t.node[i];
	const char *name = profile_text(f->p, n->name);
	int64_t v = *tree_total(&f->t, i, f->type), all = *tree_total(&f->t, 0, f->type);
	double w = (double)v * f->scale, y = height - (n->depth + 1) * ROW;
	char colour[24], value[64];
	size_t chars = (size_t)(w / CHAR);

	if (w < 0.3)
		return;
	fprintf(f->out, "<g><title>");
	xml_text(f->out, name);
	fprintf(f->out,
		" (%s, %.2f%%)</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>",
		tree_value_text(value, v, profile_type_unit(f->p, f->type)),
		all ? 100.0 * (double)v / (double)all : 0, f->x[i], y, w, ROW - 1,
		tree_colour(colour, f->p, n));
	if (chars > 3) {
		char text[256];

		snprintf(text, sizeof(text), "%.*s",
			 (int)(chars < sizeof(text) ? chars - 1 : sizeof(text) - 1), name);
		fprintf(f->out, "<text x=\"%.1f\" y=\"%.1f\">", f->x[i] + 3, y + ROW - 5);
		xml_text(f->out, text);
		fputs("</text>", f->out);
	}
	fputs("</g>\n", f->out);
}

struct err *profile_write_svg(const struct profile *p, unsigned type, const char *title, FILE *out)
{
	struct flame f = { .p = p, .type = type, .out = out };
	double height;
	int64_t all;

	tree_build((struct profile *)p, &f.t);
	all = *tree_total(&f.t, 0, type);
	f.scale = all > 0 ? WIDTH / (double)all : 0;
	height = TOP + (f.t.depth + 1.0) * ROW;
	place(&f);
	fprintf(out,
		"<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
		"viewBox=\"0 0 %d %.0f\" font-family=\"monospace\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>"
		"<text x=\"%d\" y=\"22\" font-size=\"15\" text-anchor=\"middle\">",
		WIDTH, height, WIDTH, height, WIDTH / 2);
	xml_text(out, title);
	fputs(": ", out);
	xml_text(out, profile_type_name(p, type));
	fputs("</text>\n", out);
	for (uint32_t i = 0; i < f.t.n; i++)
		box(&f, i, height);
	fputs("</svg>\n", out);
	free(f.x);
	tree_deinit(&f.t);
	return NULL;
}

/* ---- the page -------------------------------------------------------------------------------- */

static const char head[] =
	"<!doctype html><meta charset=utf-8><title>flame graph</title>\n"
	"<style>body{font:14px/1.4 system-ui,sans-serif;margin:1em;color:#222;background:#fff}#bar{margin:.5em 0}#g{position:relative;font:12px/16px monospace}"
	"#g div{position:absolute;height:16px;overflow:hidden;white-space:nowrap;box-sizing:border-box;padding:0 3px;border-right:1px solid #fff;color:#111;"
	"cursor:pointer}#g div.hit{outline:2px solid #63c;z-index:1}#g div.up{opacity:.5}"
	"@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}#g div{border-color:#181818}}</style>\n"
	"<h1 style='font-size:1.2em' id=t></h1><div id=bar><select id=c></select> <input id=s placeholder='search (regular expression)' size=30> "
	"<button id=r>all</button> <span id=i></span></div><div id=g></div>\n"
	"<script type=application/json id=data>";

static const char tail[] =
	"</script><script>\n"
	"const d=JSON.parse(document.getElementById('data').textContent),$=i=>document.getElementById(i),N=d.nodes.length;\n"
	"$('t').textContent=d.title;d.types.forEach((t,i)=>{const o=document.createElement('option');o.textContent=t[0];o.value=i;$('c').append(o)});\n"
	"$('c').value=d.type;let root=0;const kids=d.nodes.map(()=>[]);d.nodes.forEach((n,i)=>{if(i)kids[n[1]].push(i)});\n"
	"const fmt=(v,t)=>v.toLocaleString('en')+(t[1]&&t[1]!='count'?' '+t[1]:''),col=(s,j)=>{let h=5381;for(const c of s)h=(h*33+c.codePointAt(0))>>>0;"
	"return j?`rgb(${120+h%40},${190+(h/40|0)%45},${90+(h/7|0)%40})`:`rgb(${215+h%40},${110+(h/40|0)%100},${40+(h/7|0)%40})`};\n"
	"function draw(){const k=+$('c').value,g=$('g'),W=g.clientWidth,all=d.nodes[0][3][k]||1;let re=null,hits=0,deep=0;g.textContent='';\n"
	"try{re=$('s').value?new RegExp($('s').value):null}catch(e){}\n"
	"const chain=[];for(let i=root;i;i=d.nodes[i][1])chain.push(d.nodes[i][1]);\n"
	"const box=(i,x,w,y,up)=>{const n=d.nodes[i],s=d.names[n[0]],e=document.createElement('div');e.textContent=s;e.title=s+' ('+fmt(n[3][k],d.types[k])+"
	"', '+(100*n[3][k]/all).toFixed(2)+'%)';e.style.cssText=`left:${x}px;width:${w}px;top:${y*17}px;background:${col(s,n[2])}`;"
	"if(up)e.className='up';if(re&&re.test(s)){e.className+=' hit'}e.onclick=()=>{root=i;draw()};g.append(e);if(y>deep)deep=y};\n"
	"let y=0;chain.reverse().forEach(i=>box(i,0,W,y++,true));\n"
	"const todo=[[root,0,W,y,false]];while(todo.length){const[i,x,w,at,in_hit]=todo.pop();box(i,x,w,at,false);let hit=in_hit;"
	"if(re&&!hit&&re.test(d.names[d.nodes[i][0]])){hit=true;hits+=d.nodes[i][3][k]}"
	"let cx=x;for(const c of kids[i]){const cw=w*d.nodes[c][3][k]/(d.nodes[i][3][k]||1);if(cw>=.5)todo.push([c,cx,cw,at+1,hit]);cx+=cw}}\n"
	"g.style.height=(deep+1)*17+'px';$('i').textContent=re?'matched: '+fmt(hits,d.types[k])+', '+(100*hits/all).toFixed(2)+'%':fmt(d.nodes[root][3][k],d.types[k])}\n"
	"$('c').onchange=$('s').oninput=draw;$('r').onclick=()=>{root=0;draw()};window.onresize=draw;draw();\n"
	"</script>\n";

/*
 * A JSON string inside a script element: "<" would begin a tag; bytes that are no UTF-8 are taken
 * for Latin-1.
 */
void profile_json_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (const unsigned char *c = (const unsigned char *)s; *c;) {
		unsigned n = *c < 0x80		       ? 1
			     : *c >= 0xc2 && *c < 0xe0 ? 2
			     : *c >= 0xe0 && *c < 0xf0 ? 3
			     : *c >= 0xf0 && *c < 0xf5 ? 4
						       : 0;

		for (unsigned i = 1; i < n; i++)
			if ((c[i] & 0xc0) != 0x80)
				n = 0;
		if (n > 1)
			fwrite(c, 1, n, out);
		else if (!n || *c < 32 || *c == '"' || *c == '\\' || *c == '<' || *c == 127)
			fprintf(out, "\\u%04x", *c);
		else
			fputc(*c, out);
		c += n ? n : 1;
	}
	fputc('"', out);
}

/* nodes: [name, parent, is JIT code, [totals]]; names are numbered anew. */
static void page_nodes(const struct profile *p, const struct tree *t, FILE *out)
{
	uint32_t *seen = calloc(p->strings.n + 1, sizeof(*seen)), names = 0;

	alloc_must(seen, "a profile");
	fputs(",\"names\":[", out);
	for (size_t i = 0; i < t->n; i++) {
		if (seen[t->node[i].name])
			continue;
		if (names)
			fputc(',', out);
		profile_json_string(out, profile_text(p, t->node[i].name));
		seen[t->node[i].name] = ++names;
	}
	fputs("],\"nodes\":[", out);
	for (size_t i = 0; i < t->n; i++) {
		fprintf(out, "%s[%u,%u,%d,[", i ? "," : "", seen[t->node[i].name] - 1,
			t->node[i].parent, t->node[i].jit);
		for (unsigned k = 0; k < t->types; k++)
			fprintf(out, "%s%" PRId64, k ? "," : "", *tree_total(t, (uint32_t)i, k));
		fputs("]]", out);
	}
	fputc(']', out);
	free(seen);
}

struct err *profile_write_html(const struct profile *p, unsigned type, const char *title, FILE *out)
{
	struct tree t;

	tree_build((struct profile *)p, &t);
	fputs(head, out);
	fputs("{\"title\":", out);
	profile_json_string(out, title);
	fprintf(out, ",\"type\":%u,\"types\":[", type);
	for (unsigned i = 0; i < p->types; i++) {
		fputs(i ? ",[" : "[", out);
		profile_json_string(out, profile_type_name(p, i));
		fputc(',', out);
		profile_json_string(out, profile_type_unit(p, i));
		fputc(']', out);
	}
	fputc(']', out);
	page_nodes(p, &t, out);
	fputc('}', out);
	fputs(tail, out);
	tree_deinit(&t);
	return NULL;
}
