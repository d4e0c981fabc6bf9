#define _GNU_SOURCE
#include "http.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../sandbox/base/fail.h"
#include "../../sandbox/base/io.h"
#include "../log.h"
#include "connection.h"
#include "request.h"

/* Bytes for the headers of one connection, and for what is read of a body at a time. */
#define CONNECTION_MEMORY (32u << 10)

/* The library's own idle time only has to catch what our deadlines miss. */
#define IDLE_MARGIN_S 5

/* For the library to notice that its connections have been cut. */
#define CUT_NS (2 * IO_NS_PER_S)

struct http {
    struct MHD_Daemon *daemon;
    struct connections *connections;
    struct request_context context;
    int quiesced_fd; /* what was listened on; -1 before http_quiesce */
};

static struct connection *connection_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void on_connection(void *cls, struct MHD_Connection *mhd, void **socket_context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http *http = cls;
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        *socket_context = fd ? connection_open(http->connections, mhd, fd->connect_fd) : NULL;
    else
        connection_close(*socket_context);
}

static void *on_request_line(void *cls, const char *uri, struct MHD_Connection *mhd)
{
    struct http *http = cls;
    struct connection *connection = connection_of(mhd);
    if (!connection)
        return NULL;
    connection_begin(connection);
    return request_new(&http->context, connection, mhd, uri);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *mhd, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **request)
{
    (void)cls;
    (void)mhd;
    struct request *r = *request;
    if (!r)
        return MHD_NO;
    if (!r->has_headers)
        return request_headers(r, url, method, version);
    if (*size) {
        size_t n = *size;
        *size = 0;
        return request_body(r, data, n);
    }
    return request_whole(r);
}

static void on_completed(void *cls, struct MHD_Connection *mhd, void **request,
                         enum MHD_RequestTerminationCode how)
{
    (void)cls;
    (void)mhd;
    if (*request)
        request_end(*request, how);
    *request = NULL;
}

static void on_library_message(void *cls, const char *format, va_list ap)
{
    (void)cls;
    char message[512], field[1024];
    vsnprintf(message, sizeof message, format, ap);
    message[strcspn(message, "\n")] = 0;
    log_line(LOG_LEVEL_DEBUG, "libmicrohttpd message=%s", log_field(field, sizeof field, message));
}

static struct MHD_Daemon *start_daemon(struct http *http, int listen_fd,
                                       const struct server_options *o)
{
    const unsigned flags =
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_ERROR_LOG;
#if MHD_VERSION >= 0x00097701
    const struct MHD_OptionItem strict = {MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1, NULL};
#else
    const struct MHD_OptionItem strict = {MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL};
#endif
    const struct MHD_OptionItem more[] = {strict, {MHD_OPTION_END, 0, NULL}};
    return MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, http, MHD_OPTION_EXTERNAL_LOGGER, on_library_message,
        NULL, MHD_OPTION_LISTEN_SOCKET, listen_fd, MHD_OPTION_URI_LOG_CALLBACK, on_request_line,
        http, MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, http, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
        MHD_OPTION_CONNECTION_LIMIT, o->max_connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        o->max_per_address, MHD_OPTION_CONNECTION_TIMEOUT, o->request_timeout + IDLE_MARGIN_S,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_ARRAY, more, MHD_OPTION_END);
}

int http_start(int listen_fd, const struct http_parts *parts, struct http **ret, kgrade_error *err)
{
    struct http *http = calloc(1, sizeof *http);
    if (!http)
        fail(err, "out_of_memory", NULL, "There is no memory for the server.");
    if (!http ||
        connections_new(parts->options->request_timeout * IO_NS_PER_S, &http->connections, err)) {
        free(http);
        close(listen_fd);
        return -1;
    }
    http->context = (struct request_context){
        .engine = parts->engine,
        .store = parts->store,
        .jobs = parts->jobs,
        .access = parts->access,
        .metrics = parts->metrics,
        .devices = parts->devices,
        .connections = http->connections,
        .options = parts->options,
    };
    http->quiesced_fd = -1;
    http->daemon = start_daemon(http, listen_fd, parts->options);
    if (!http->daemon) {
        close(listen_fd);
        connections_free(http->connections);
        free(http);
        return fail(err, "http_failed", "--log-level debug tells what libmicrohttpd says about it.",
                    "libmicrohttpd does not start.");
    }
    *ret = http;
    return 0;
}

void http_quiesce(struct http *http, bool keep)
{
    atomic_store(&http->context.draining, true);
    http->quiesced_fd = MHD_quiesce_daemon(http->daemon);
    /* Connecting is refused from now on, but the descriptor stays: the library's thread may be just about to use it, and
     * must not find another file under its number. */
    if (http->quiesced_fd >= 0 && !keep)
        shutdown(http->quiesced_fd, SHUT_RDWR);
    connections_wake(http->connections);
}

bool http_flush(struct http *http, uint64_t deadline)
{
    connections_end_waits(http->connections);
    return connections_flush(http->connections, deadline);
}

bool http_stop(struct http *http)
{
    /* Stopping the library with a suspended connection would abort the process. */
    if (connections_count(http->connections).waiting)
        return false;
    kgrade_error stop;
    fail(&stop, "shutting_down", "Send the request again when the server is back.",
         "The server shut down before the request was whole.");
    connections_refuse_partial(http->connections, &stop);
    /* The library must not be stopped while it reads requests: one that it refuses itself would then crash it, for its
     * answer is not queued any more and it goes on to send it (seen in 0.9.75). */
    connections_cut(http->connections, io_now() + CUT_NS);
    MHD_stop_daemon(http->daemon);
    if (http->quiesced_fd >= 0)
        close(http->quiesced_fd);
    connections_free(http->connections);
    free(http);
    return true;
}
