#include "html.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD"
#define MAX_COORDINATE 1e6

/* The bytes of the character at p and its code point; 0 when it is no UTF-8. */
static size_t decode(const unsigned char *p, uint32_t *ret)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = *p < 0x80 ? 1 : *p >= 0xF0 && *p < 0xF8 ? 4 : *p >= 0xE0 ? 3 : *p >= 0xC0 ? 2 : 0;
    if (n == 0 || *p >= 0xF8)
        return 0;
    *ret = n == 1 ? *p : *p & (0xFFu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
        *ret = *ret << 6 | (p[i] & 0x3Fu);
    }
    return *ret >= least[n] ? n : 0;
}

/* XML 1.0, production 2, less the C1 controls and what steers the direction of writing. */
static bool is_fit(uint32_t c)
{
    if (c < 0x20)
        return c == '\n' || c == '\t';
    if (c >= 0x7F && c <= 0x9F)
        return false;
    if (c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
        (c >= 0x2066 && c <= 0x2069))
        return false;
    return c <= 0xD7FF || (c >= 0xE000 && c <= 0xFFFD) || (c >= 0x10000 && c <= 0x10FFFF);
}

static const char *reference_for(uint32_t c)
{
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void html_text_cut(FILE *out, const char *text, size_t max)
{
    const unsigned char *p = (const unsigned char *)(text ? text : "");
    for (size_t i = 0; *p; i++) {
        if (i == max) {
            fputs("…", out);
            return;
        }
        uint32_t c = 0;
        size_t n = decode(p, &c);
        const char *reference = n ? reference_for(c) : NULL;
        if (n == 0 || !is_fit(c))
            fputs(REPLACEMENT, out);
        else if (reference)
            fputs(reference, out);
        else
            fwrite(p, 1, n, out);
        p += n ? n : 1;
    }
}

void html_text(FILE *out, const char *text)
{
    html_text_cut(out, text, SIZE_MAX);
}

void html_element(FILE *out, const char *name, const char *of, const char *text)
{
    fprintf(out, of ? "<%s class=\"%s\">" : "<%s>", name, of);
    html_text(out, text);
    fprintf(out, "</%s>", name);
}

void html_coordinate(FILE *out, double value)
{
    if (isnan(value))
        value = 0;
    value = fmax(fmin(value, MAX_COORDINATE), -MAX_COORDINATE);
    char text[32];
    snprintf(text, sizeof text, "%.2f", value);
    char *end = text + strlen(text);
    while (end[-1] == '0')
        *--end = 0;
    if (end[-1] == '.')
        *--end = 0;
    fputs(strcmp(text, "-0") ? text : "0", out);
}
