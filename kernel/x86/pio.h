// SPDX-License-Identifier: MIT
/*
 * pio.h - port input and output.
 */
#ifndef X86_PIO_H
#define X86_PIO_H

#include "lib/types.h"

static inline uint8_t inb(uint16_t port)
{
    uint8_t v;

    __asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port) : "memory");
    return v;
}

static inline uint16_t inw(uint16_t port)
{
    uint16_t v;

    __asm__ volatile("inw %1, %0" : "=a"(v) : "Nd"(port) : "memory");
    return v;
}

static inline uint32_t inl(uint16_t port)
{
    uint32_t v;

    __asm__ volatile("inl %1, %0" : "=a"(v) : "Nd"(port) : "memory");
    return v;
}

static inline void outb(uint16_t port, uint8_t v)
{
    __asm__ volatile("outb %0, %1" ::"a"(v), "Nd"(port) : "memory");
}

static inline void outw(uint16_t port, uint16_t v)
{
    __asm__ volatile("outw %0, %1" ::"a"(v), "Nd"(port) : "memory");
}

static inline void outl(uint16_t port, uint32_t v)
{
    __asm__ volatile("outl %0, %1" ::"a"(v), "Nd"(port) : "memory");
}

/* insw, outsw - read or write `n` words of 16 bits from or to a port. */
static inline void insw(uint16_t port, void *to, size_t n)
{
    __asm__ volatile("rep insw" : "+D"(to), "+c"(n) : "d"(port) : "memory");
}

static inline void outsw(uint16_t port, const void *from, size_t n)
{
    __asm__ volatile("rep outsw" : "+S"(from), "+c"(n) : "d"(port) : "memory");
}

#endif
