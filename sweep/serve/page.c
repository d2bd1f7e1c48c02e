/* Assembles the page. */
#include "sweep/serve/routes.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "analysis/plot/page.h"
#include "core/embed.h"

CORE_EMBED(serve_page_html, "sweep/serve/page.html");
CORE_EMBED(serve_page_css, "sweep/serve/page.css");
CORE_EMBED(serve_page_tools, "sweep/serve/tools.js");
CORE_EMBED(serve_page_curves, "sweep/serve/curves.js");
CORE_EMBED(serve_page_parallel, "sweep/serve/parallel.js");
CORE_EMBED(serve_page_search, "sweep/serve/search.js");
CORE_EMBED(serve_page_runs, "sweep/serve/runs.js");
CORE_EMBED(serve_page_address, "sweep/serve/address.js");
CORE_EMBED(serve_page_main, "sweep/serve/main.js");

/* They form one script, in this order, after the shared part. */
static const char *const scripts[] = {serve_page_tools,  serve_page_curves, serve_page_parallel, serve_page_search,
                                      serve_page_runs, serve_page_address, serve_page_main};

enum { SOURCE = 64 };

/* Writes 'sha256-...', the name of a style or script in a policy. */
static void write_source(const CoreText *text, char source[SOURCE]) {
  unsigned char hash[crypto_hash_sha256_BYTES];
  char base64[sodium_base64_ENCODED_LEN(sizeof hash, sodium_base64_VARIANT_ORIGINAL)];
  crypto_hash_sha256(hash, (const unsigned char *)core_text_string(text), text->length);
  sodium_bin2base64(base64, sizeof base64, hash, sizeof hash, sodium_base64_VARIANT_ORIGINAL);
  snprintf(source, SOURCE, "sha256-%s", base64);
}

void serve_page_build(CoreText *page, char policy[SERVE_POLICY]) {
  CoreText style = {0}, script = {0};
  char style_source[SOURCE], script_source[SOURCE];
  analysis_page_append_style(&style);
  core_text_append(&style, serve_page_css);
  analysis_page_append_script(&script);
  for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) core_text_append(&script, scripts[i]);
  const char *tail = analysis_page_fill(serve_page_html, "@STYLE@", &style, page);
  core_text_append(page, analysis_page_fill(tail, "@SCRIPT@", &script, page));
  write_source(&style, style_source);
  write_source(&script, script_source);
  snprintf(policy, SERVE_POLICY,
           "default-src 'none'; connect-src 'self'; img-src blob: data:; style-src '%s'; script-src '%s'; "
           "base-uri 'none'; form-action 'none'; frame-ancestors 'none'", style_source, script_source);
  core_text_free(&style);
  core_text_free(&script);
}
