// SPDX-License-Identifier: MIT
/*
 * syncwrite.c - makes a file of 8 blocks, with writes that are on the disk when they return, or not.
 *
 *     syncwrite FILE [sync|dsync]
 *
 * SEE ALSO    tests/test_ext.py
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int how = argc < 3 ? 0 : strcmp(argv[2], "sync") == 0 ? O_SYNC : O_DSYNC;
    int fd = argc < 2 ? -1 : open(argv[1], O_CREAT | O_WRONLY | how, 0644);
    char block[4096];

    for (int i = 0; i < 8; i++) {
        memset(block, 'a' + i, sizeof block);
        if (write(fd, block, sizeof block) != sizeof block) {
            perror("syncwrite");
            return 1;
        }
    }
    return 0;
}
