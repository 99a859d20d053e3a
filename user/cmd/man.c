// SPDX-License-Identifier: MIT
/*
 * man.c - shows the manual pages of commands.
 *
 * THEORY      A page is a text file, /usr/share/man/NAME, that is made with the image (user/include/help.h).  Its
 *             second line has the name and the purpose of the command; -k searches and prints this line.
 * SEE ALSO    docs/commands.md, tests/test_manual.py
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "help.h"
#include "homeroom.h"

enum { EXIT_NOTHING = 16 }; /* man-db's status if a page or a word is not found */

static const char help[] HR_MANUAL =
    "NAME\n"
    "    man - show the manual page of a command\n"
    "\n"
    "SYNOPSIS\n"
    "    man name ...\n"
    "    man -k word ...\n"
    "\n"
    "DESCRIPTION\n"
    "    Each command of Homeroom has a page.  It is the text that the command\n"
    "    prints with --help.  The applets of busybox have none: they print their\n"
    "    options with --help themselves.  A page that is longer than the screen:\n"
    "    man psrset | less.\n"
    "\n"
    "OPTIONS\n"
    "    -k            list the commands whose name or purpose has one of the\n"
    "                  words; a dot finds all\n"
    "\n"
    "EXAMPLES\n"
    "    man lgrpinfo\n"
    "    man -k processor\n"
    "\n"
    "EXIT STATUS\n"
    "    0 done, 2 wrong command line, 16 a page or a word was not found\n"
    "\n"
    "SEE ALSO\n"
    "    docs/commands.md\n";

static void usage(void)
{
    hr_usage(help);
    exit(2);
}

/*
 * Opens the page of a command; NULL if there is none.  A name with a slash is refused, because it could lead to another
 * folder.
 */
static FILE *open_page(const char *name)
{
    return name[0] == '.' || strchr(name, '/') != NULL
               ? NULL
               : fopen(hr_path("/usr/share/man/%s", name), "re");
}

static int show_page(const char *name)
{
    FILE *page = open_page(name);
    int c;

    if (page == NULL) {
        fprintf(stderr, "No manual entry for %s\n", name);
        return EXIT_NOTHING;
    }
    while ((c = getc(page)) != EOF)
        putchar(c);
    fclose(page);
    return 0;
}

/* Reads "name - purpose" of a page, with the newline, into buf.  Returns whether there is such a line. */
static bool read_purpose(const char *name, char *buf, int size)
{
    FILE *page = open_page(name);
    bool found = page != NULL && fgets(buf, size, page) != NULL && fgets(buf, size, page) != NULL;

    if (page != NULL)
        fclose(page);
    return found;
}

static bool has_word(const char *text, char **words)
{
    for (; *words != NULL; words++)
        if (strcasestr(text, *words) != NULL || strcmp(*words, ".") == 0)
            return true;
    return false;
}

/* -k: prints the purpose of each command that has one of the words. */
static int list_pages(char **words)
{
    struct dirent **entry;
    int n = scandir(hr_path("/usr/share/man"), &entry, NULL, alphasort), found = 0;
    char purpose[128];

    if (n < 0) {
        hr_perror("man", "/usr/share/man");
        return EXIT_NOTHING;
    }
    for (int i = 0; i < n; i++)
        if (read_purpose(entry[i]->d_name, purpose, sizeof purpose) && has_word(purpose, words)) {
            fputs(purpose + strspn(purpose, " "), stdout);
            found++;
        }
    if (found == 0)
        fprintf(stderr, "%s: nothing appropriate.\n", words[0]);
    return found > 0 ? 0 : EXIT_NOTHING;
}

int main(int argc, char **argv)
{
    bool by_word = false;
    int opt, status = 0;

    hr_help(argv, help);
    while ((opt = getopt(argc, argv, "k")) != -1) {
        if (opt != 'k')
            usage();
        by_word = true;
    }
    if (optind == argc)
        usage();
    if (by_word)
        return list_pages(argv + optind);
    for (int i = optind; i < argc; i++)
        status |= show_page(argv[i]);
    return status;
}
