// SPDX-License-Identifier: MIT
/*
 * fpnoise.c - rings doorbells of the interconnect model that no correct program rings.
 *
 * The machine must not stop.  The program ends with status 0, and the model is disarmed.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "fireplane.h"

#define THREADS 4
#define ROUNDS  200

static void ring(unsigned what)
{
    switch (what % 12) {
    case 0:
        FP_DOORBELL(FP_OP_SYNC);
        break;
    case 1:
        FP_DOORBELL(FP_OP_ARM);
        break;
    case 2:
        FP_DOORBELL(FP_OP_DISARM);
        break;
    case 3:
        FP_DOORBELL(FP_OP_SWITCH);
        break;
    case 4:
        FP_DOORBELL(FP_OP_PROBE); /* without a load after it */
        break;
    case 5:
        FP_DOORBELL(0);
        break;
    case 6:
        FP_DOORBELL(6);
        break;
    case 7:
        FP_DOORBELL(255);
        break;
    case 8:
        FP_DOORBELL(0x100); /* another tag, so this is no doorbell */
        break;
    case 9:
        FP_DOORBELL(FP_OP_NEW_FRAMES); /* with what the kernel has left as arguments */
        break;
    case 10:
        FP_DOORBELL(FP_OP_HEAT);
        break;
    default: { /* a load for which the model was not asked */
        static volatile uint64_t word;

        __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long %c1\n\tmovq %0, %%rax"
                         :
                         : "m"(word), "i"(FP_TAG | FP_OP_PROBE)
                         : "rax", "memory");
    }
    }
}

static void *noise(void *seed)
{
    unsigned state = (unsigned)(uintptr_t)seed;
    volatile char *memory = malloc(1 << 16);

    for (int i = 0; i < ROUNDS; i++) {
        ring((unsigned)rand_r(&state));
        for (unsigned k = 0; memory && k < 1000; k++)
            memory[(unsigned)rand_r(&state) % (1 << 16)]++;
    }
    free((void *)memory);
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];

    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, noise, (void *)(i + 1)) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    FP_DOORBELL(FP_OP_DISARM);
    return 0;
}
