# SPDX-License-Identifier: MIT
#
# net/build.mk - the rules for kernel/net/ and for lwIP, the TCP/IP stack that it uses.
#
# lwIP is not in this repository.  tools/net/lwip.sh fetches the archive of Debian's source package; it is unpacked
# when the kernel is built.  lwIP is compiled with the kernel's flags, but without warnings (-w), and with the
# settings in kernel/net/port.

LWIP        := build/lwip/lwip-2.1.3/src
LWIP_FILES  := $(addprefix core/,def inet_chksum init ip mem netif pbuf raw stats tcp tcp_in tcp_out udp) \
               $(addprefix core/ipv4/,etharp icmp ip4 ip4_addr ip4_frag) netif/ethernet
LWIP_FLAGS  := -Ikernel/net/port -isystem $(LWIP)/include
LWIP_SRCS   := $(addprefix $(LWIP)/,$(addsuffix .c,$(LWIP_FILES)))
LWIP_OBJS   := $(addprefix $(B)/obj/lwip/,$(addsuffix .o,$(LWIP_FILES)))
KOBJS_EXTRA += $(LWIP_OBJS)

build/lwip/unpacked: build/lwip/lwip.tar.xz
	@echo '  UNPACK  $<'
	$(Q)tar -C $(@D) -xJf $< --no-same-owner
	@touch $@
build/lwip/lwip.tar.xz: | deps ;
$(LWIP_SRCS): build/lwip/unpacked ;

$(B)/obj/kernel/net/%.o: KCC += $(LWIP_FLAGS)
$(patsubst %.c,$(B)/obj/%.o,$(wildcard kernel/net/*.c)): | build/lwip/unpacked
$(LWIP_OBJS): $(B)/obj/lwip/%.o: $(LWIP)/%.c $(B)/flags $(wildcard kernel/net/port/*.h kernel/net/port/arch/*.h)
	@mkdir -p $(@D)
	@echo '  CC      $<'
	$(Q)$(KCC) $(LWIP_FLAGS) -w -MMD -MP -c -o $@ $<
