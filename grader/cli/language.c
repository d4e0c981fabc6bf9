/* What a candidate on the command line is written in, by the name of its file. */
#include <string.h>

#include "cli.h"

/* Of languages that are not their device's first. */
static const struct {
    const char *ending, *language;
} endings[] = {
    {".py", "python"},
    {".hip", "hip"},
};

const char *cli_language(const struct cli *cli, const char *file)
{
    size_t n = strlen(file);
    if (cli->language)
        return cli->language;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t length = strlen(endings[i].ending);
        if (n > length && !strcmp(file + n - length, endings[i].ending))
            return endings[i].language;
    }
    return NULL;
}
