# SPDX-License-Identifier: MIT
"""docnames.py - check the names of files, functions and variables in comments and in pages of docs/.

THEORY      A comment that names a function becomes wrong when the function is renamed.  So each name must exist in the tree.
            There are four kinds of names:
            file      `kernel/vm/as.c`; `vm/as.c`, the end of a path; `as.c`, in the folder of the comment or the only
                      file of this name; `tests/test_*.py`; `kernel/vm/`
            function  `as_query()`: an identifier of the code
            word      `page_alloc_colored`: a name with an underscore; an identifier, or a word of a string of the code
            tunable   the words of a paragraph TUNABLES in a comment; `set x=1`, `x/W 1`, "tunable x"
            Comments are those of C, Python (with docstrings), make and the shell.  In a page, text between backquotes is
            checked; in its blocks of code only tunables are.
            FOREIGN lists names that belong to other systems, standards and programs.
SEE ALSO    test_docs.py
"""

import fnmatch
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath

FOLDERS = "boot|docs|drivers|include|kernel|labs|qemu|tests|tools|user"
FILE = re.compile(r"(?<![\w/.<$~{}*%-])((?:[\w+*?.-]+/)*[\w+*?][\w.+*?-]*\.(?:c|h|S|py|md|toml|mk|sh|ld|cfg))\b(?![\w(])")
FOLDER = re.compile(rf"(?<![\w/.<$~-])((?:{FOLDERS})(?:/[\w+.*-]*[\w+*-])+/?)(?![\w{{<])")
FUNCTION = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)\(\)")
WORD = re.compile(r"(?<![\w./<$%'-])([A-Za-z]\w*_\w*[A-Za-z0-9])\b(?!\(\)|[*./]\w|\*)")
TUNABLE = re.compile(
    r"\bset (?:[a-z]\w*:)?([a-z]\w+) ?[=&|]"
    r"|(?<![\w/.:])(?:[a-z]\w*:)?([a-z]\w+)/[WDUX](?!\w)"
    r"|\btunables? `?(?:[a-z]\w*:)?([a-z]\w*_\w+)"
)
TUNABLES = re.compile(r"^\W*TUNABLES\b(.*?)(?=^\W*[A-Z][A-Z ]{3,}\b|\Z)", re.M | re.S)
REGISTERED = re.compile(r'^TUNABLE(?:_BOOT|_IF|_BOOT_IF|_HOOK|_RO)?\(\s*(\w+),|^TUNABLE(?:_RO)?_M\(\s*"(\w+)",\s*(\w+),', re.M)
C_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.S)
SHELL_COMMENT = re.compile(r"(?:^|(?<=\s))#(?!!)[^\n]*")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
PLACEHOLDER = re.compile(r"(?<![A-Z])(?:NAME|KIND)(?![A-Z])")  # stands for any name
EXAMPLES = {"x", "y", "name", "nonsense"}  # variables in examples
OUR_OWN = {"tests/docnames.py", "tests/test_docs.py"}  # files whose strings contain names that do not exist

# Names that do not belong to this tree, by their origin: functions, files and words.
FOREIGN = {
    "Solaris": """
        P_MIGRATE RANDOM_PROC RANDOM_PSET TRANS_BEGIN_ASYNC anon_map checkpage disp_t kcondvar_t kmem_flags krwlock_t
        lwp_park poke_cpu proc_t get_color_start kstat_io kstat_waitq_enter pageout_scanner
        pages_pp_maximum schedpaging tcp_time_wait_interval tune_t_minarmem ufs_iodone ufs_rdwr vm_pageout.c
    """,
    "Perfetto": "EXTRACT_ARG",
    "QEMU": "cpu_clear_ignne",
    "Linux": """
        AT_NO_AUTOMOUNT CAP_SETUID Committed_AS IPC_INFO N_TTY SCM_MAX_FD SHM_INFO SHM_NORESERVE SHM_STAT SOCK_MIN_RCVBUF
        F_NOTIFY SYSCALL_DEFINE TCP_KEEPIDLE UNIX_INFLIGHT_SANE_USER
        address_space admin_reserve_kbytes anon_vma balance_dirty_pages bfq_queue buffer_head
        copy_from_user files_struct fs_struct handle_t io_uring mm_struct numa_preferred_nid pglist_data rt_mutex
        rw_semaphore scripts/decode_stacktrace.sh sighand_struct signal_struct sk_buff smp_call_function spinlock_t
        start_kernel task_struct tcp_input transaction_t cputime_adjust errseq_t guest_nice ioctl_tty
        kernel_sigaction kvm_kick_cpu kvm_wait local_node new_utsname no_timer_check nohz_full other_node
        payload_length payload_offset protected_hardlinks setup_sects sigev_notify_thread_id sockaddr_ll
        tcpi_total_retrans transparent_hugepage vm_area_struct vm_swap_full
    """,
    "the C library and POSIX": """
        BUS_ADRERR GOMP_SPINCOUNT INT16_MAX IPPROTO_RAW IP_TOS IP_TTL LD_LIBRARY_PATH OMP_WAIT_POLICY e_machine
        f_type sa_restorer sockaddr_storage st_dev
    """,
    "ext3": "dx_hash i_blocks",
    "ACPI, Xen, the processor": """
        PARAM_SIMULTANEOUS_PREFETCHES Package RESET_VALUE Rstall_storeQ SLP_TYP TSC_AUX hvm_start_info
        include/public/arch-x86/hvm/start_info.h include/public/elfnote.h
    """,
    "lwIP": "ethernet_input memp.c netif_find src/include/lwip/opt.h tcp_ext_arg",
    "QEMU, GCC": """
        cpu_reset
        config/sparc/ultra3.md docs/specs/fw_cfg include/qemu/qemu-plugin.h insn_data helper_le_ldq_mmu phys_addr
        process_queued_cpu_work qemu_process_cpu_events_common register_vcpu_mem_cb tcg_kick_vcpu_thread
    """,
    "AIX": "max_coalesce",
    "what students write": "report.md labs/experiment/answer/report.md",
    "examples": "SYS_locate other.c prog.c sys_locate test_boards trace_stop",
}
NOT_OURS = set(" ".join(FOREIGN.values()).split())

Source = tuple[list[tuple[int, str]], str, str]  # (line number, comment) of each comment; the code; the strings


def split_c(text: str) -> Source:
    comments, strings = [], []

    def take(match: re.Match) -> str:
        if match[0][0] == "/":
            comments.append((text.count("\n", 0, match.start()) + 1, match[0]))
        else:
            strings.append(match[0])
        return " "

    return comments, C_TOKEN.sub(take, text), " ".join(strings)


def split_python(text: str) -> Source:
    comments, code, strings, before = [], [], [], tokenize.NEWLINE
    for kind, word, (line, _), _, _ in tokenize.generate_tokens(io.StringIO(text).readline):
        starts = before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        if kind == tokenize.COMMENT or (kind == tokenize.STRING and starts):
            comments.append((line, word))
        else:
            (strings if kind == tokenize.STRING else code).append(word)
        if kind not in (tokenize.COMMENT, tokenize.NL):
            before = kind
    return comments, " ".join(code), " ".join(strings)


def split_shell(text: str) -> Source:
    comments = [(text.count("\n", 0, match.start()) + 1, match[0]) for match in SHELL_COMMENT.finditer(text)]
    return comments, SHELL_COMMENT.sub("", text), ""


def splitter(name: str, text: str) -> Callable[[str], Source] | None:
    """The function that splits a file into comments, code and strings; None for a file without comments."""
    ending = PurePath(name).suffix
    if ending in (".c", ".h", ".S", ".ld"):
        return split_c
    if ending == ".py" or text.startswith(("#!/usr/bin/env python3", "#!/usr/bin/python3")):
        return split_python
    return split_shell if ending in (".sh", ".mk", ".toml", ".cfg") or text.startswith("#!") or name == "Makefile" else None


class Tree:
    """The files of the tree, and the names in their code.  `texts`: the text of each file by its name."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.files = list(texts)
        self.folders = {str(folder) for name in texts for folder in PurePath(name).parents}
        self.comments: dict[str, list[tuple[int, str]]] = {}
        self.functions = set(NOT_OURS)  # all identifiers
        self.words = {PurePath(name).stem for name in texts}  # all identifiers, and the words of strings
        self.tunables: dict[str, str] = {}  # tunable: the file that registers it
        self._ends: dict[str, list[str]] = defaultdict(list)  # files by each end of their path
        for name, text in texts.items():
            parts = PurePath(name).parts
            # A student's file and its solution have one name, which is the student's.
            for start in range(1 if "solution" in parts else len(parts)):
                self._ends["/".join(parts[start:])].append(name)
            if split := splitter(name, text):
                self.comments[name], code, strings = split(text)
                if name not in OUR_OWN:
                    self.functions.update(IDENTIFIER.findall(code))
                    self.words.update(IDENTIFIER.findall(strings))
            if name.startswith(("kernel/", "drivers/")):
                self.tunables.update({var or f"{module}:{member}": name for var, module, member in REGISTERED.findall(text)})
        self.words |= self.functions
        self.variables = {name.split(":")[-1] for name in self.tunables} | EXAMPLES

    def fault_of_file(self, name: str, beside: str) -> str:
        """The fault of a file name that appears in the file `beside`; empty if it names exactly one file."""
        pattern = re.sub(PLACEHOLDER, "*", name)
        if "*" in pattern or "?" in pattern:
            found = [file for file in self.files if fnmatch.fnmatch(file, pattern) or fnmatch.fnmatch(file, f"*/{pattern}")]
            return "" if found else f"{name} fits no file"
        found = self._ends.get(name, [])
        if len(found) > 1 and "/" not in name:
            near = [file for file in found if PurePath(file).parent == PurePath(beside).parent]
            in_kernel = [file for file in found if file.startswith(("kernel/", "drivers/"))]
            if len(near or in_kernel or found) > 1:
                return f"{name} is {' or '.join(found)}: name the folder"
        return "" if found or name in NOT_OURS else f"there is no file {name}"

    def fault_of_folder(self, name: str) -> str:
        bare = re.sub(PLACEHOLDER, "*", name.rstrip("/"))
        there = bare in self.folders or bare in self._ends or bare in NOT_OURS
        fits = "*" in bare and fnmatch.filter([*self.files, *self.folders], bare)
        return "" if there or fits else f"there is no file or folder {name}"

    def faults_of(self, where: str, text: str, code: str = "") -> Iterator[str]:
        """The faults of the names in a comment, or in the inline code of a page, and of the tunables in its blocks of code.

        `where`: the file of the comment or page; `text`: the comment or inline code; `code`: blocks of code.
        """
        for name in FILE.findall(text):
            if fault := self.fault_of_file(name, where):
                yield fault
        for name in FOLDER.findall(text):
            if PurePath(name).suffix == "" and (fault := self.fault_of_folder(name)):
                yield fault
        for name in FUNCTION.findall(text):
            if name not in self.functions:
                yield f"there is no function {name}()"
        for name in WORD.findall(text):
            if name not in self.words and not PLACEHOLDER.search(name):
                yield f"the code has no name {name}"
        named = [name for found in TUNABLE.findall(f"{text}\n{code}") for name in found if name]
        named += [name for part in TUNABLES.findall(text) for name in WORD.findall(part) if name.islower()]
        for name in named:
            if name not in self.variables:
                yield f"there is no tunable {name}"

    def faults_of_comments(self) -> Iterator[str]:
        for name, comments in self.comments.items():
            for line, text in comments:
                yield from (f"{name}:{line}: {fault}" for fault in self.faults_of(name, text))

    def faults_of_page(self, name: str, text: str) -> Iterator[str]:
        words, blocks = in_code(text)
        yield from self.faults_of(name, "\n".join(words), "\n".join(blocks))


def in_code(text: str) -> tuple[list[str], list[str]]:
    """The texts between backquotes in a page, and its blocks of code."""
    blocks = re.findall(r"```.*?```", text, re.S)
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.S)), blocks


def read_tree(top: Path, names: list[str]) -> Tree:
    return Tree({name: (top / name).read_text(errors="replace") for name in names})
