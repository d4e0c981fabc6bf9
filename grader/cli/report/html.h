/* Writing a page that a parser of XML reads as well as a browser.  Whatever others wrote goes through here. */
#ifndef KGRADE_CLI_REPORT_HTML_H
#define KGRADE_CLI_REPORT_HTML_H

#include <stddef.h>
#include <stdio.h>

/* Text or the value of an attribute: markup becomes references; what XML does not allow, bytes that are no UTF-8, and
 * characters that turn the direction of writing around become U+FFFD.  NULL writes nothing. */
void html_text(FILE *out, const char *text);

/* At most max characters, then an ellipsis. */
void html_text_cut(FILE *out, const char *text, size_t max);

/* <name class="of">text</name>; class NULL: none.  name and class are our own words. */
void html_element(FILE *out, const char *name, const char *of, const char *text);

/* A coordinate: at most two decimals, never anything but a number. */
void html_coordinate(FILE *out, double value);

#endif
