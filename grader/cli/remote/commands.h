/* The commands that talk to a server. */
#ifndef KGRADE_CLI_REMOTE_COMMANDS_H
#define KGRADE_CLI_REMOTE_COMMANDS_H

#include "remote.h"

/* Grades on the server.  *ret_json gets the result, or stays NULL after a message. */
enum cli_exit remote_grade(const struct cli *cli, const kgrade_request *request, char **ret_json);

enum cli_exit command_status(const struct cli *cli);
enum cli_exit command_watch(const struct cli *cli);
enum cli_exit command_cancel(const struct cli *cli);
enum cli_exit command_leaderboard(const struct cli *cli);

#endif
