/* Faults at file operations: a library for LD_PRELOAD that stands between a program and libc.
 *
 * fault_arm(root, number, fault, log) starts counting. Every operation on a path below `root` gets the next number and
 * a line in `log`: number, class, name, bytes, path. At operation `number` the fault happens:
 *
 *   kill     SIGKILL before the operation
 *   torn     SIGKILL after half of the bytes of a write
 *   full     a write leaves half of its bytes; everything later that takes space on the disk fails with ENOSPC
 *   denied   this operation fails with EACCES
 *
 * Classes: r reads (opens a file or folder), p changes names or rights, a does so and takes space (creates), d writes
 * bytes, s asks for what was written to be kept (fsync; nothing is waited for). All fails or passes before the file is
 * touched. Python, Rust and C++ reach the system through these functions; test_shim.py checks that for each library.
 * One call goes past libc: the renameat of Rust's tempfile, with which safetensors ends a file. It is trapped (seccomp).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

enum fault { NONE, KILL, TORN, FULL, DENIED };

static char root[PATH_MAX];
static size_t root_length; /* 0: not armed */
static int log_file = -1, fault;
static long chosen;
static atomic_long count;

static int below_root(const char *path) {
    return strncmp(path, root, root_length) == 0 && (path[root_length] == '/' || path[root_length] == 0);
}

/* The path of an open file. */
static int watched_file(int file, char *path) {
    if (!root_length || file < 0 || file == log_file) return 0;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return below_root(path);
}

/* The path that a name means beside an open folder. */
static int watched_name(int folder, const char *name, char *path) {
    if (!root_length || !name) return 0;
    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
        return below_root(path);
    }
    char place[PATH_MAX];
    if (folder == AT_FDCWD ? !getcwd(place, sizeof place) : !watched_file(folder, place)) return 0;
    if (snprintf(path, PATH_MAX, "%s/%s", place, name) >= PATH_MAX) return 0;
    return below_root(path);
}

/* Counts an operation. 0: do it; -1: it fails, errno says with what; 1: do half of it. */
static int meet(char class, const char *name, const char *path, size_t bytes) {
    long number = atomic_fetch_add(&count, 1) + 1;
    char line[PATH_MAX + 100];
    int length = snprintf(line, sizeof line, "%ld %c %s %zu %s\n", number, class, name, bytes, path);
    syscall(SYS_write, log_file, line, (size_t)length);
    int takes_space = class == 'a' || class == 'd' || class == 's';
    if (fault == FULL && number >= chosen && takes_space) {
        if (number == chosen && class == 'd' && bytes > 1) return 1;
        errno = ENOSPC;
        return -1;
    }
    if (number != chosen) return 0;
    if (fault == KILL) raise(SIGKILL);
    if (fault == TORN) return 1;
    if (fault == DENIED) {
        errno = EACCES;
        return -1;
    }
    return 0;
}

static void end_if_torn(void) {
    if (fault == TORN) raise(SIGKILL);
}

#define REAL(type, name) \
    static type (*real)(); \
    if (!real) real = (type(*)())dlsym(RTLD_NEXT, #name)

/* ------------------------------------------------------------------------------------------------------- opening */

static int meet_open(int folder, const char *name, int flags) {
    char path[PATH_MAX];
    struct stat about;
    if (!watched_name(folder, name, path)) return 0;
    if ((flags & O_ACCMODE) == O_RDONLY && !(flags & O_CREAT)) return meet('r', "open", path, 0);
    int there = syscall(SYS_newfstatat, folder, name, &about, 0) == 0;
    return meet((flags & O_CREAT) && !there ? 'a' : 'p', there ? "open-to-write" : "create", path, 0);
}

#define MODE(flags) \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }
#define OPEN(function) \
    int function(const char *name, int flags, ...) { \
        MODE(flags) \
        REAL(int, function); \
        return meet_open(AT_FDCWD, name, flags) ? -1 : real(name, flags, mode); \
    }
#define OPENAT(function) \
    int function(int folder, const char *name, int flags, ...) { \
        MODE(flags) \
        REAL(int, function); \
        return meet_open(folder, name, flags) ? -1 : real(folder, name, flags, mode); \
    }
#define FOPEN(function) \
    FILE *function(const char *name, const char *mode) { \
        REAL(FILE *, function); \
        int flags = strchr(mode, '+') ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY; \
        return meet_open(AT_FDCWD, name, mode[0] == 'r' ? flags : flags | O_CREAT) ? NULL : real(name, mode); \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
FOPEN(fopen)
FOPEN(fopen64)

int creat(const char *name, mode_t mode) { return open(name, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *name, mode_t mode) { return open(name, O_CREAT | O_WRONLY | O_TRUNC, mode); }

DIR *opendir(const char *name) {
    char path[PATH_MAX];
    REAL(DIR *, opendir);
    return watched_name(AT_FDCWD, name, path) && meet('r', "opendir", path, 0) ? NULL : real(name);
}

/* ------------------------------------------------------------------------------------------------- writing bytes */

/* `half` is the call with half of `bytes`, `whole` the call as it was made. */
#define WRITES(file, bytes, label, half, whole) \
    char path[PATH_MAX]; \
    int met = watched_file(file, path) ? meet('d', label, path, bytes) : 0; \
    if (met < 0) return -1; \
    if (met == 0) return whole; \
    ssize_t written = half; \
    end_if_torn(); \
    return written

static size_t total(const struct iovec *parts, int number) {
    size_t bytes = 0;
    for (int part = 0; part < number; part++) bytes += parts[part].iov_len;
    return bytes;
}

ssize_t write(int file, const void *data, size_t bytes) {
    REAL(ssize_t, write);
    WRITES(file, bytes, "write", real(file, data, bytes / 2), real(file, data, bytes));
}
#define PWRITE(function) \
    ssize_t function(int file, const void *data, size_t bytes, off_t offset) { \
        REAL(ssize_t, function); \
        WRITES(file, bytes, "write", real(file, data, bytes / 2, offset), real(file, data, bytes, offset)); \
    }
PWRITE(pwrite)
PWRITE(pwrite64)
ssize_t writev(int file, const struct iovec *parts, int number) {
    REAL(ssize_t, writev);
    WRITES(file, total(parts, number), "write", syscall(SYS_write, file, parts[0].iov_base, parts[0].iov_len / 2),
           real(file, parts, number));
}
#define SENDFILE(function) \
    ssize_t function(int to, int from, off_t *offset, size_t bytes) { \
        REAL(ssize_t, function); \
        WRITES(to, bytes, "copy", 0, real(to, from, offset, bytes)); \
    }
SENDFILE(sendfile)
SENDFILE(sendfile64)
ssize_t copy_file_range(int from, off64_t *start, int to, off64_t *offset, size_t bytes, unsigned flags) {
    REAL(ssize_t, copy_file_range);
    WRITES(to, bytes, "copy", 0, real(from, start, to, offset, bytes, flags));
}

#define ON_FILE(function, class, types, result) \
    int function types { \
        char path[PATH_MAX]; \
        REAL(int, function); \
        return watched_file(file, path) && meet(class, #function, path, 0) < 0 ? -1 : result; \
    }
#define LENGTH(function) ON_FILE(function, 'a', (int file, off_t length), real(file, length))
LENGTH(ftruncate)
LENGTH(ftruncate64)
ON_FILE(fchmod, 'p', (int file, mode_t mode), real(file, mode))
ON_FILE(fallocate, 'a', (int file, int mode, off_t from, off_t length), real(file, mode, from, length))
#define SYNC(function) \
    int function(int file) { \
        char path[PATH_MAX]; \
        REAL(int, function); \
        if (!watched_file(file, path)) return real(file); \
        return meet('s', #function, path, 0) < 0 ? -1 : 0; \
    }
SYNC(fsync)
SYNC(fdatasync)
static int allocate(int file, off_t from, off_t length) { /* answers with the error itself */
    static int (*real)(int, off_t, off_t);
    char path[PATH_MAX];
    if (!real) real = (int (*)(int, off_t, off_t))dlsym(RTLD_NEXT, "posix_fallocate");
    return watched_file(file, path) && meet('a', "fallocate", path, 0) < 0 ? errno : real(file, from, length);
}
int posix_fallocate(int file, off_t from, off_t length) { return allocate(file, from, length); }
int posix_fallocate64(int file, off64_t from, off64_t length) { return allocate(file, from, length); }

/* --------------------------------------------------------------------------------------------------------- names */

#define ON_NAME(function, class, folder, name, types, call) \
    int function types { \
        char path[PATH_MAX]; \
        REAL(int, function); \
        return watched_name(folder, name, path) && meet(class, #function, path, 0) ? -1 : real call; \
    }
ON_NAME(mkdir, 'a', AT_FDCWD, name, (const char *name, mode_t mode), (name, mode))
ON_NAME(mkdirat, 'a', at, name, (int at, const char *name, mode_t mode), (at, name, mode))
ON_NAME(rmdir, 'p', AT_FDCWD, name, (const char *name), (name))
ON_NAME(unlink, 'p', AT_FDCWD, name, (const char *name), (name))
ON_NAME(remove, 'p', AT_FDCWD, name, (const char *name), (name))
ON_NAME(unlinkat, 'p', at, name, (int at, const char *name, int flags), (at, name, flags))

static int meet_rename(int at, const char *from, int there, const char *to, unsigned flags) {
    char path[PATH_MAX];
    if (watched_name(there, to, path) && meet('p', "rename", path, 0)) return -1;
    return syscall(SYS_renameat2, at, from, there, to, flags);
}
int rename(const char *from, const char *to) { return meet_rename(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int at, const char *from, int there, const char *to) { return meet_rename(at, from, there, to, 0); }
int renameat2(int at, const char *from, int there, const char *to, unsigned flags) {
    return meet_rename(at, from, there, to, flags);
}
ON_NAME(link, 'a', AT_FDCWD, to, (const char *from, const char *to), (from, to))
ON_NAME(linkat, 'a', there, to, (int at, const char *from, int there, const char *to, int flags),
        (at, from, there, to, flags))
ON_NAME(symlink, 'a', AT_FDCWD, to, (const char *from, const char *to), (from, to))
ON_NAME(symlinkat, 'a', there, to, (const char *from, int there, const char *to), (from, there, to))
ON_NAME(truncate, 'p', AT_FDCWD, name, (const char *name, off_t length), (name, length))
ON_NAME(truncate64, 'p', AT_FDCWD, name, (const char *name, off64_t length), (name, length))
ON_NAME(chmod, 'p', AT_FDCWD, name, (const char *name, mode_t mode), (name, mode))
ON_NAME(fchmodat, 'p', at, name, (int at, const char *name, mode_t mode, int flags), (at, name, mode, flags))

/* -------------------------------------------------------------------------------------------------------- arming */

#if defined __x86_64__
#define REGISTER(number) ((long[]){REG_RDI, REG_RSI, REG_RDX, REG_R10})[number]
#define ARGUMENT(state, number) (state)->uc_mcontext.gregs[REGISTER(number)]
#define ANSWER(state) (state)->uc_mcontext.gregs[REG_RAX]
#elif defined __aarch64__
#define ARGUMENT(state, number) (state)->uc_mcontext.regs[number]
#define ANSWER(state) (state)->uc_mcontext.regs[0]
#endif

static void trapped(int number, siginfo_t *about, void *context) {
    ucontext_t *state = context;
    (void)number, (void)about;
    int kept = errno;
    int result = meet_rename(ARGUMENT(state, 0), (const char *)ARGUMENT(state, 1), ARGUMENT(state, 2),
                             (const char *)ARGUMENT(state, 3), 0);
    ANSWER(state) = result ? -errno : 0;
    errno = kept;
}

static int trap_renameat(void) {
    struct sigaction action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO};
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    return sigaction(SIGSYS, &action, NULL) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

/* 0 when it is armed. */
int fault_arm(const char *below, long number, int kind, const char *log) {
    chosen = number, fault = kind, count = 0;
    log_file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    strncpy(root, below, sizeof root - 1);
    if (log_file < 0 || trap_renameat()) return -1;
    root_length = strlen(root);
    return 0;
}
