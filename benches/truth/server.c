/* An HTTP server of which everything is known: one process, one thread, first come, first served.
 *
 *     server PORT [NAME=VALUE...]
 *
 * It answers each request with `right`. Its clock is the kernel's monotonic one. A request is in
 * service from the moment at which the one before it was done, or at which it was found where
 * nothing was waiting, to the end of the write of its answer. The names:
 *   work        rounds of arithmetic for each request
 *   slow        how much longer than by itself each request takes, as a share: it stays busy for
 *               that share of the time that the one before it took by itself
 *   drift       by how much `slow` grows in a second, from `from` on (seconds of the clock; 0: its
 *               own start)
 *   mean        seconds that a request takes in all, drawn from an exponential law; it then polls
 *               for requests, so that none waits for the process to wake up
 *   fixed       seconds that each takes in all, likewise
 *   seed        of what is drawn
 *   wrong       of so many answers one, the last, is `wrong`
 *   freeze      seconds for which it is stopped (SIGSTOP), `after` seconds after the hundredth
 *               request since it was last asked for nothing for a while: once for each load
 *   told        a file to which it adds a line when it is ended: what it did, by its own clock
 * Absent: anything of HTTP beyond the end of a request's head.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 65536, EVENTS = 1024, BINS = 100000, BIN_NS = 1000, TRIGGER = 100 };
/* A request that takes as long was interrupted by a freeze; a pause of as long ends a load. */
enum { STOPPED_NS = 100000000, PAUSE_NS = 200000000 };

static const char RIGHT[] =
    "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nright";
static const char WRONG[] =
    "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nwrong";

static struct {
    double work, slow, drift, from, mean, fixed, seed, wrong, freeze, after;
    const char *told;
} asked;
static struct {
    uint64_t requests, wrong;
    uint64_t usual;
    int64_t own_ns, added_ns, idle_ns, usual_ns;
    uint64_t bins[BINS];
} seen;
static uint8_t matched[CONNECTIONS]; /* Of the four bytes that end a head, by connection. */
static int64_t debt_ns, born_ns;
static int64_t free_ns; /* Since when it could be at the request that is next. */
static uint64_t state;
static volatile uint64_t sink;
static volatile sig_atomic_t ended;
static int trigger = -1;
static uint64_t asked_for; /* Requests of this load. */
static volatile uint64_t *freezes, freezes_known; /* How many there were. */

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void end(int number) {
    (void)number;
    ended = 1;
}

/* Uniform in (0, 1]: SplitMix64 (Steele, Lea and Flood 2014). */
static double drawn(void) {
    uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return ((double)((z ^ (z >> 31)) >> 11) + 1) * 0x1p-53;
}

static void work(void) {
    uint64_t x = sink;
    for (int64_t i = 0; i < (int64_t)asked.work; i++) {
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    }
    sink = x;
}

/* Stays busy for as long as is owed; what that overshoots is owed less the next time. */
static int64_t pay(void) {
    int64_t begun = now(), spent = 0;
    while (spent < debt_ns) {
        spent = now() - begun;
    }
    debt_ns -= spent;
    return spent;
}

static void answer(int connection) {
    int64_t begun = free_ns;
    work();
    int64_t added = debt_ns > 0 ? pay() : 0;
    if (asked.mean > 0 || asked.fixed > 0) {
        double takes = asked.mean > 0 ? -log(drawn()) * asked.mean : asked.fixed;
        while (now() - begun < (int64_t)(takes * 1e9)) {
        }
    }
    seen.requests++;
    int is_wrong = asked.wrong > 0 && seen.requests % (uint64_t)asked.wrong == 0;
    seen.wrong += is_wrong;
    if (write(connection, is_wrong ? WRONG : RIGHT, sizeof RIGHT - 1) < 0 && errno == EAGAIN) {
        fail("an answer did not fit");
    }
    if (++asked_for == TRIGGER && trigger >= 0 && write(trigger, "", 1) < 0) {
        fail("trigger");
    }
    int64_t done = now(), own = done - begun - added;
    double since = (double)(done - (asked.from > 0 ? (int64_t)(asked.from * 1e9) : born_ns)) / 1e9;
    double share = asked.slow + (asked.drift > 0 && since > 0 ? asked.drift * since : 0);
    debt_ns += (int64_t)llround(share * (double)own);
    seen.own_ns += own;
    if (own < STOPPED_NS) {
        seen.usual++;
        seen.usual_ns += own;
    }
    seen.added_ns += added;
    int64_t bin = (done - begun) / BIN_NS;
    seen.bins[bin < BINS ? bin : BINS - 1]++;
    free_ns = done;
}

static void take(int connection) {
    static char bytes[65536];
    static const char END[] = "\r\n\r\n";
    ssize_t length = read(connection, bytes, sizeof bytes);
    if (length <= 0) {
        if (length == 0 || (errno != EAGAIN && errno != EINTR)) {
            close(connection);
        }
        return;
    }
    for (ssize_t i = 0; i < length; i++) {
        uint8_t *at = &matched[connection];
        *at = bytes[i] == END[*at] ? *at + 1 : bytes[i] == '\r';
        if (*at == 4) {
            *at = 0;
            answer(connection);
        }
    }
}

static void welcome(int listener, int poll) {
    int connection, one = 1;
    while ((connection = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        /* Edges are told in the order of arrival, so that who comes first is served first. */
        struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = connection};
        if (connection >= CONNECTIONS || epoll_ctl(poll, EPOLL_CTL_ADD, connection, &event) < 0) {
            fail("connection");
        }
        setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        matched[connection] = 0;
    }
}

/* A child that stops its parent for a while, and tells when. */
static void arm(void) {
    int ends[2];
    pid_t parent = getpid();
    freezes = mmap(NULL, sizeof *freezes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (freezes == MAP_FAILED || pipe2(ends, O_CLOEXEC) < 0) {
        fail("arm");
    }
    if (fork() != 0) {
        trigger = ends[1];
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[1]);
    struct timespec after = {(time_t)asked.after, (long)(fmod(asked.after, 1) * 1e9)};
    struct timespec length = {(time_t)asked.freeze, (long)(fmod(asked.freeze, 1) * 1e9)};
    for (char byte; read(ends[0], &byte, 1) == 1;) {
        nanosleep(&after, NULL);
        int64_t begun = now();
        kill(parent, SIGSTOP);
        nanosleep(&length, NULL);
        int64_t done = now();
        ++*freezes;
        kill(parent, SIGCONT);
        FILE *file = fopen(asked.told, "a");
        if (file != NULL) {
            fprintf(file, "{\"frozen_s\": %.6f}\n", (double)(done - begun) / 1e9);
            fclose(file);
        }
    }
    _exit(0);
}

static void tell(void) {
    FILE *file = fopen(asked.told, "a");
    if (file == NULL) {
        fail(asked.told);
    }
    fprintf(file, "{\"requests\": %lu, \"wrong\": %lu, \"own_s\": %.9f, \"added_s\": %.9f, ",
            seen.requests, seen.wrong, (double)seen.own_ns / 1e9, (double)seen.added_ns / 1e9);
    double usual_s = seen.usual > 0 ? (double)seen.usual_ns / 1e9 / (double)seen.usual : 0;
    fprintf(file, "\"idle_s\": %.9f, \"usual_s\": %.9f, \"bins_us\": {",
            (double)seen.idle_ns / 1e9, usual_s);
    const char *comma = "";
    for (int bin = 0; (asked.mean > 0 || asked.fixed > 0) && bin < BINS; bin++) {
        if (seen.bins[bin] > 0) {
            fprintf(file, "%s\"%d\": %lu", comma, bin, seen.bins[bin]);
            comma = ", ";
        }
    }
    fprintf(file, "}}\n");
    fclose(file);
}

static void read_names(int count, char **texts) {
    struct {
        const char *name;
        double *value;
    } known[] = {{"work", &asked.work},   {"slow", &asked.slow},     {"drift", &asked.drift},
                 {"from", &asked.from},   {"mean", &asked.mean},     {"fixed", &asked.fixed},
                 {"seed", &asked.seed},   {"wrong", &asked.wrong},   {"freeze", &asked.freeze},
                 {"after", &asked.after}};
    for (int i = 0; i < count; i++) {
        char *value = strchr(texts[i], '=');
        size_t each = 0, all = sizeof known / sizeof *known;
        if (value == NULL) {
            fail(texts[i]);
        }
        *value++ = 0;
        if (strcmp(texts[i], "told") == 0) {
            asked.told = value;
            continue;
        }
        while (each < all && strcmp(texts[i], known[each].name) != 0) {
            each++;
        }
        if (each == all) {
            errno = EINVAL;
            fail(texts[i]);
        }
        *known[each].value = atof(value);
    }
}

static int listen_on(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, 4096) < 0) {
        fail("listen");
    }
    return listener;
}

/* A new load begins after a pause that no freeze made. */
static void rest(int64_t pause_ns) {
    uint64_t were = freezes == NULL ? 0 : *freezes;
    if (pause_ns > PAUSE_NS && were == freezes_known) {
        asked_for = 0;
    }
    freezes_known = were;
}

static void serve(int listener) {
    static struct epoll_event events[EVENTS];
    int poll = epoll_create1(EPOLL_CLOEXEC), polls = asked.mean > 0 || asked.fixed > 0;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
    while (!ended) {
        int found = epoll_wait(poll, events, EVENTS, 0);
        if (found <= 0) {
            if (!polls) {
                found = epoll_wait(poll, events, EVENTS, 1000);
            }
            int64_t time = now();
            rest(time - free_ns);
            seen.idle_ns += time - free_ns;
            free_ns = time;
        }
        for (int i = 0; i < found; i++) {
            if (events[i].data.fd == listener) {
                welcome(listener, poll);
            } else {
                take(events[i].data.fd);
            }
        }
    }
}

int main(int count, char **texts) {
    struct sigaction action = {.sa_handler = end};
    if (count < 2) {
        fprintf(stderr, "server PORT [NAME=VALUE...]\n");
        return 2;
    }
    read_names(count - 2, texts + 2);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    born_ns = now();
    state = (uint64_t)asked.seed;
    int listener = listen_on(atoi(texts[1]));
    if (asked.freeze > 0) {
        arm();
    }
    free_ns = now();
    serve(listener);
    if (asked.told != NULL) {
        tell();
    }
    return 0;
}
